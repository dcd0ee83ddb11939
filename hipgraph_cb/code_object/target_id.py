"""Target IDs: which processor, with which features, a code object was built for.

Grammar, feature rules and compatibility follow LLVM AMDGPU usage ("Target ID", "ELF header e_flags").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from hipgraph_cb.code_object.processors import GENERIC_OF_PROCESSOR, PROCESSOR_OF_MACH, WITH_SRAMECC, WITH_XNACK
from hipgraph_cb.errors import InvalidArgumentError

HSA_PREFIX = "amdgcn-amd-amdhsa--"
_EXACT = re.compile(r"gfx(1[0-9]|[0-9])([0-9])([0-9a-fA-F])")
_GENERIC = re.compile(r"gfx([0-9]{1,10})(?:-([0-9]{1,10}))?-generic")
_NUMBER_LIMIT = 1 << 32
# Every generic processor is at its first version; later versions may need what is not known here.
NEWEST_GENERIC_VERSION = 1


class FeatureState(Enum):
    """One feature of a target: `ANY` runs with it on or off."""

    ANY = ""
    UNSUPPORTED = "unsupported"
    OFF = "-"
    ON = "+"


@dataclass(frozen=True)
class TargetId:
    """A processor and its features; `str()` gives the canonical text, such as `gfx942:sramecc+:xnack-`.

    `generic_version` is 0 where it is not stated: the text form has none, only the ELF flags of generic targets.
    """

    processor: str
    sramecc: FeatureState = FeatureState.ANY
    xnack: FeatureState = FeatureState.ANY
    generic_version: int = 0

    @property
    def is_generic(self) -> bool:
        """Whether it names a family of processors, such as `gfx9-generic`."""
        return self.processor.endswith("-generic")

    @property
    def version(self) -> tuple[int, int, int]:
        """Major, minor and stepping; a generic processor has stepping 0."""
        return _version_of(self.processor)

    def __str__(self) -> str:
        text = self.processor
        for name, state in (("sramecc", self.sramecc), ("xnack", self.xnack)):
            if state in (FeatureState.ON, FeatureState.OFF):
                text += f":{name}{state.value}"
        return text

    @staticmethod
    def parse(text: str) -> TargetId:
        """Read `[amdgcn-amd-amdhsa--]processor[:feature+|-]...`.

        Raises:
            InvalidArgumentError: the text does not follow the grammar.
        """
        processor, *features = text.removeprefix(HSA_PREFIX).split(":")
        generic = _GENERIC.fullmatch(processor)
        in_range = generic is not None and all(int(number or 0) < _NUMBER_LIMIT for number in generic.groups())
        if not in_range and not _EXACT.fullmatch(processor):
            raise _bad_text(text, f"processor {processor[:60]!r}")
        states: dict[str, FeatureState] = {}
        for feature in features:
            name, sign = feature[:-1], feature[-1:]
            if name not in ("sramecc", "xnack") or sign not in ("+", "-") or name in states:
                raise _bad_text(text, f"feature {feature!r}")
            states[name] = FeatureState(sign)
        any_state = FeatureState.ANY
        return _with_unsupported(TargetId(processor, states.get("sramecc", any_state), states.get("xnack", any_state)))

    @staticmethod
    def from_elf_flags(flags: int, abi_version: int) -> TargetId:
        """Decode `e_flags` of a code object (`EI_ABIVERSION` 1 = v3 to 4 = v6).

        Raises:
            InvalidArgumentError: unknown machine, unknown code object version, or a wrong generic version.
        """
        processor = PROCESSOR_OF_MACH.get(flags & 0xFF)
        if processor is None:
            raise _bad_flags(f"machine {flags & 0xFF:#04x} in e_flags {flags:#x}", "a known EF_AMDGPU_MACH value")
        if not 1 <= abi_version <= 4:
            raise _bad_flags(f"EI_ABIVERSION {abi_version}", "1 (code object v3) to 4 (code object v6)")
        if abi_version == 1:
            sramecc = _v3_feature(flags & 0x200, processor in WITH_SRAMECC)
            return TargetId(processor, sramecc, _v3_feature(flags & 0x100, processor in WITH_XNACK))
        states = (FeatureState.UNSUPPORTED, FeatureState.ANY, FeatureState.OFF, FeatureState.ON)
        target = TargetId(processor, states[flags >> 10 & 3], states[flags >> 8 & 3])
        return _with_generic_version(target, flags >> 24 & 0xFF, abi_version)


@lru_cache
def _version_of(processor: str) -> tuple[int, int, int]:
    match = _GENERIC.fullmatch(processor)
    if match:
        return int(match[1]), int(match[2] or 0), 0
    match = _EXACT.fullmatch(processor)
    if match is None:
        raise InvalidArgumentError("not a processor name", found=repr(processor)[:60], allowed="gfx942, ...")
    return int(match[1]), int(match[2]), int(match[3], 16)


def incompatibilities(code_object: TargetId, agent: TargetId) -> tuple[str, ...]:
    """Why `code_object` cannot run on `agent`; empty when it can. Every reason is listed."""
    reasons = []
    if code_object.is_generic:
        if not _same_family(code_object, agent):
            reasons.append("generic family")
        if code_object.generic_version > NEWEST_GENERIC_VERSION:
            reasons.append("generic version")
    elif agent.is_generic or code_object.version != agent.version:
        reasons.append("processor")
    for name in ("sramecc", "xnack"):
        wanted = getattr(code_object, name)
        if wanted in (FeatureState.ON, FeatureState.OFF) and getattr(agent, name) is not wanted:
            reasons.append(name)
    return tuple(reasons)


def describe_mismatch(code_object: TargetId, reasons: tuple[str, ...]) -> str:
    """The code object's target and what of it does not fit: `gfx90a:xnack+ (xnack differs)`."""
    words = ", ".join(reasons) + (" differ" if len(reasons) > 1 else " differs")
    if "generic version" in reasons:
        words += f"; it has generic version {code_object.generic_version}, {NEWEST_GENERIC_VERSION} is the newest known"
    return f"{code_object} ({words})"


def code_object_target(agent: TargetId) -> TargetId:
    """The target that code for `agent` may be built for: its generic processor where it has one, else itself."""
    if agent.is_generic:
        raise InvalidArgumentError("a generic target is not a device", found=str(agent), allowed="an exact processor")
    processor = GENERIC_OF_PROCESSOR.get(agent.processor, agent.processor)
    return replace(agent, processor=processor)


def _same_family(code_object: TargetId, agent: TargetId) -> bool:
    if agent.is_generic:
        return code_object.processor == agent.processor
    mapped = GENERIC_OF_PROCESSOR.get(agent.processor)
    if mapped is not None:
        return mapped == code_object.processor
    return code_object.version[:2] == agent.version[:2]


def _with_unsupported(target: TargetId) -> TargetId:
    """A feature that was not spelled out and that a known processor lacks is UNSUPPORTED."""
    if target.processor not in GENERIC_OF_PROCESSOR:
        return target
    sramecc, xnack = target.sramecc, target.xnack
    if sramecc is FeatureState.ANY and target.processor not in WITH_SRAMECC:
        sramecc = FeatureState.UNSUPPORTED
    if xnack is FeatureState.ANY and target.processor not in WITH_XNACK:
        xnack = FeatureState.UNSUPPORTED
    return replace(target, sramecc=sramecc, xnack=xnack)


def _v3_feature(bit: int, supported: bool) -> FeatureState:
    if bit:
        return FeatureState.ON
    return FeatureState.OFF if supported else FeatureState.UNSUPPORTED


def _with_generic_version(target: TargetId, version: int, abi_version: int) -> TargetId:
    if target.is_generic and (abi_version != 4 or version == 0):
        found = f"{target.processor} with generic version {version} in code object v{abi_version + 2}"
        raise _bad_flags(found, "a generic version of at least 1, in code object v6")
    if abi_version == 4 and version and not target.is_generic:
        raise _bad_flags(f"{target.processor} with generic version {version}", "no generic version")
    return replace(target, generic_version=version) if target.is_generic else target


def _bad_text(text: str, found: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"target ID {text[:100]!r} is not valid",
        found=found,
        allowed="[amdgcn-amd-amdhsa--]PROCESSOR[:sramecc+|-][:xnack+|-], such as gfx942:sramecc+:xnack-",
    )


def _bad_flags(found: str, allowed: str) -> InvalidArgumentError:
    return InvalidArgumentError("the ELF header names no target", where="e_flags", found=found, allowed=allowed)
