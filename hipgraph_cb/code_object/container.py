"""What a file is: a code object, or a wrapper, offload bundle or fat binary that holds some. Lists what is inside."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hipgraph_cb.abi import elf
from hipgraph_cb.code_object.code_object import read_target
from hipgraph_cb.code_object.fat_binary import is_host_elf, read_fat_binary
from hipgraph_cb.code_object.offload_bundle import BundleEntry, is_bundle, read_bundle, stated_target
from hipgraph_cb.code_object.target_id import FeatureState, TargetId, describe_mismatch, incompatibilities
from hipgraph_cb.code_object.wrapper import Wrapper, is_wrapper, read_wrapper
from hipgraph_cb.errors import (
    HipGraphError,
    InvalidArgumentError,
    UnimplementedError,
)

CODE_OBJECT, OFFLOAD_BUNDLE, FAT_BINARY = "code object", "offload bundle", "fat binary"
STATED = (FeatureState.ON, FeatureState.OFF)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing inside a container.

    Attributes:
        path: where in the container, such as `bundle at 4096, entry 1 (hipv4-amdgcn-amd-amdhsa--gfx90a)`.
        data: its bytes; not copied from the file before it is chosen.
        target: from the ELF flags; None for host code and for a code object that is not sound.
        problem: why it is not a code object of its stated kind; None for sound ones and for host code.
    """

    path: str
    data: memoryview
    target: TargetId | None = None
    problem: HipGraphError | None = None

    def why_not(self, agent: TargetId) -> str | None:
        """Why this entry does not run on `agent`, in words; None if it does."""
        if self.target is None:
            return self.state
        reasons = incompatibilities(self.target, agent)
        if not reasons:
            return None
        return f"built for {describe_mismatch(self.target, reasons)}"

    @property
    def state(self) -> str:
        """What it is, or its problem, in words."""
        if self.problem is not None:
            return self.problem.what
        return "host code" if self.target is None else f"code for {self.target}"


@dataclass(frozen=True)
class Container:
    """A file and its parts.

    Attributes:
        entries: of all modules.
        wrapper: what an AMD1 or HIP1 wrapper says; None for everything else.
        modules: what the wrapper holds, each a container of its own.
    """

    kind: str
    entries: tuple[Entry, ...]
    wrapper: Wrapper | None = None
    modules: tuple[Container, ...] = ()

    def code_objects(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.target is not None)


def read_container(data: bytes | memoryview) -> Container:
    """Find out what `data` is and list everything in it.

    A faulty entry of a bundle is listed with its problem; it does not make the others unusable.

    Raises:
        InvalidArgumentError, OutOfRangeError, NotFoundError, IncompatibleError, UnimplementedError: `data` is no
            container this package knows, or the container itself is malformed.
        ResourceExhaustedError: compressed bundles that unpack to more than the budget of the file.
    """
    if is_wrapper(data):
        return _from_wrapper(data)
    if is_bundle(data):
        entries, _ = read_bundle(data)
        return Container(OFFLOAD_BUNDLE, tuple(_bundle_entries("", entries)))
    if is_host_elf(data):
        found: list[Entry] = []
        for offset, entries in read_fat_binary(data):
            found.extend(_bundle_entries(f"bundle at {offset}, ", entries))
        return Container(FAT_BINARY, tuple(found))
    return Container(CODE_OBJECT, (Entry(CODE_OBJECT, memoryview(data), read_target(data)),))


def _from_wrapper(data: bytes | memoryview) -> Container:
    wrapper = read_wrapper(data)
    count = len(wrapper.modules)
    if count != 1 and (wrapper.identifier == "AMD1" or not count):
        raise UnimplementedError(
            f"an {wrapper.identifier} wrapper with {count} modules is not supported",
            found=f"{count} modules",
            allowed="1 module" if wrapper.identifier == "AMD1" else "1 module or more",
        )
    modules = tuple(_module(index, *module, is_alone=count == 1) for index, module in enumerate(wrapper.modules))
    inner = {module.kind for module in modules} - {CODE_OBJECT}
    kind = f"{wrapper.identifier} wrapper" + (f" of an {inner.pop()}" if len(inner) == 1 else "")
    return Container(kind, tuple(entry for module in modules for entry in module.entries), wrapper, modules)


def _module(index: int, offset: int, image: memoryview, is_alone: bool) -> Container:
    where = f"modules[{index}]"
    if is_wrapper(image):
        raise InvalidArgumentError("a wrapper holds another wrapper", where=where, allowed="a code object")
    try:
        found = read_container(image)
    except HipGraphError as error:
        raise error.located(f"{where} at file offset {offset}") from None
    if is_alone:
        return found
    return replace(found, entries=tuple(replace(entry, path=f"{where}: {entry.path}") for entry in found.entries))


def _bundle_entries(prefix: str, entries: tuple[BundleEntry, ...]) -> list[Entry]:
    return [_bundle_entry(f"{prefix}entry {index} ({entry.identifier})", entry) for index, entry in enumerate(entries)]


def _bundle_entry(path: str, entry: BundleEntry) -> Entry:
    if entry.target is None or not len(entry.data):
        return Entry(path, entry.data)
    try:
        target = read_target(bytes(entry.data[:64]))
        check_stated_target(entry.identifier, target)
    except HipGraphError as error:
        return Entry(path, entry.data, problem=error.located(path))
    return Entry(path, entry.data, target)


def check_stated_target(triple: str, target: TargetId) -> None:
    """Compare the target that a triple states with that of the ELF flags, where it can be read (E2).

    A feature that the triple leaves open is not compared.

    Raises:
        InvalidArgumentError: they contradict each other.
    """
    text = stated_target(triple)
    try:
        stated = TargetId.parse(text) if text else None
    except InvalidArgumentError:
        stated = None
    if stated is None:
        return
    features = [(stated.sramecc, target.sramecc), (stated.xnack, target.xnack)]
    contradiction = any(wanted in STATED and wanted is not found for wanted, found in features)
    if stated.processor.lower() != target.processor.lower() or contradiction:
        raise InvalidArgumentError(
            "the stated target is not that of the ELF flags",
            found=f"{triple!r}, but the ELF flags say {target}",
            allowed="the same target in both",
            next_step="the file was edited or put together from parts; build it again",
        )


def is_raw_code_object(data: bytes) -> bool:
    """A quick check for an ELF file for an AMD GPU, which needs no unwrapping."""
    return data[:4] == elf.MAGIC and int.from_bytes(data[18:20], "little") == elf.EM_AMDGPU
