"""The MessagePack note: which kernels a code object has, and what their arguments are.

Rules: LLVM AMDGPU usage, "Code Object Metadata" v3 and later. Every error names the path inside the metadata. A fault
of the whole document raises; a fault of one kernel is kept for that kernel, so that the others stay usable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack

from hipgraph_cb.code_object.messagepack import check_claims
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError

_KERNELS = "amdhsa.kernels"
_TARGET = "amdhsa.target"
_VERSION, _PRINTF = "amdhsa.version", "amdhsa.printf"
_LIMIT = 1 << 32

# No number in a file makes a dispatch allocate more than this; real kernels need far less.
MAX_KERNARG_SIZE = 1 << 20

# The required keys of a kernel take 114 bytes, so what lists more kernels is not metadata.
_FEW_KERNELS, _LEAST_KERNEL = 64, 100

# Keys whose type matters, by map. Other keys are skipped.
_KERNEL_TYPES: dict[str, type] = {
    ".name": str,
    ".symbol": str,
    ".kernarg_segment_size": int,
    ".kernarg_segment_align": int,
    ".group_segment_fixed_size": int,
    ".private_segment_fixed_size": int,
    ".max_flat_workgroup_size": int,
    ".wavefront_size": int,
    ".uses_dynamic_stack": bool,
    ".args": list,
    ".reqd_workgroup_size": list,
}
_ARGUMENT_TYPES: dict[str, type] = {
    ".name": str,
    ".offset": int,
    ".size": int,
    ".value_kind": str,
    ".type_name": str,
    ".value_type": str,
    ".address_space": str,
    ".access": str,
    ".actual_access": str,
    ".align": int,
    ".alignment": int,
    ".is_const": bool,
}
_CHECKED_KEYS = {_KERNELS, _TARGET, *_KERNEL_TYPES, *_ARGUMENT_TYPES}
_KERNEL_REQUIRED = (
    ".symbol",
    ".kernarg_segment_size",
    ".kernarg_segment_align",
    ".group_segment_fixed_size",
    ".private_segment_fixed_size",
)
_ARGUMENT_REQUIRED = (".offset", ".size", ".value_kind")
_REGISTER_KEYS = (".vgpr_count", ".agpr_count", ".sgpr_count", ".vgpr_spill_count", ".sgpr_spill_count")
_TYPE_WORDS = {
    str: ("a string", "a string"),
    int: ("an unsigned number", "an unsigned 32-bit number"),
    bool: ("true or false", "true or false"),
    list: ("an array", "an array"),
}


class ArgumentMetadata(NamedTuple):
    """One argument, visible or hidden. `offset` and `size` in bytes of the kernarg block."""

    name: str | None
    offset: int
    size: int
    value_kind: str
    type_name: str | None = None
    address_space: str | None = None
    access: str | None = None
    alignment: int | None = None
    is_const: bool = False
    value_type: str | None = None

    @property
    def is_hidden(self) -> bool:
        return self.value_kind.startswith("hidden_")


class RegisterUse(NamedTuple):
    """Registers of one wave, and how many values of a lane or wave were spilled to memory; None where not stated."""

    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    spilled_vgprs: int | None
    spilled_sgprs: int | None


NOT_STATED = RegisterUse(None, None, None, None, None)


@dataclass(frozen=True)
class KernelMetadata:
    """One kernel. Sizes in bytes; `name` is `.name`, or `.symbol` without its `.kd`."""

    name: str
    symbol: str
    kernarg_segment_size: int
    kernarg_segment_align: int
    group_segment_fixed_size: int
    private_segment_fixed_size: int
    arguments: tuple[ArgumentMetadata, ...]
    required_workgroup_size: tuple[int, int, int] | None = None
    max_flat_workgroup_size: int | None = None
    wavefront_size: int | None = None
    uses_dynamic_stack: bool = False
    registers: RegisterUse = NOT_STATED


@dataclass(frozen=True)
class Metadata:
    """A note, or all notes of a file.

    Attributes:
        targets: every `amdhsa.target` that is stated.
        kernels: the sound ones, in file order.
        refused: the others by name, with the reason.
        symbols: the descriptor symbols of all by kernel name, sound or refused.
        version, printf: `amdhsa.version` and `amdhsa.printf` as a note states them; None for several notes.
    """

    targets: tuple[str, ...]
    kernels: tuple[KernelMetadata, ...]
    refused: Mapping[str, HipGraphError]
    symbols: Mapping[str, str]
    version: object = None
    printf: object = None


def parse_metadata(note: bytes, prefix: str = "") -> Metadata:
    """Read the descriptor bytes of one note. `prefix` goes before the places of its kernels, to distinguish the notes.

    Raises:
        InvalidArgumentError: it is not one MessagePack map with string keys, a key is repeated, or a required key of
            the root is missing or of the wrong type.
    """
    root = _unpack(note)
    if not isinstance(root, dict):
        raise _wrong("the metadata is not a map", "the root", root, "a map")
    if _KERNELS not in root:
        raise _wrong(f"the metadata lacks {_KERNELS}", "the root", sorted(root), f"a map with {_KERNELS}")
    rows, target = root[_KERNELS], root.get(_TARGET)
    if not isinstance(rows, list):
        raise _wrong("the list of kernels is not an array", _KERNELS, rows, "an array of maps")
    most = _FEW_KERNELS + len(note) // _LEAST_KERNEL
    if len(rows) > most:
        where, allowed = _KERNELS, f"at most {most} in a note of {len(note)} bytes"
        raise InvalidArgumentError(
            "the list of kernels is too long", where=where, found=str(len(rows)), allowed=allowed
        )
    if target is not None and not isinstance(target, str):
        raise _wrong("the target is not a string", _TARGET, target, "a string")
    kernels: list[KernelMetadata] = []
    refused: dict[str, HipGraphError] = {}
    symbols: dict[str, str] = {}
    for index, row in enumerate(rows):
        path = f"{prefix}{_KERNELS}[{index}]"
        try:
            kernel = _kernel(row, path)
            kernels.append(kernel)
            symbols[kernel.name] = kernel.symbol
        except HipGraphError as error:
            name = _name_of(row, path)
            refused[name] = error
            if isinstance(row, dict) and isinstance(row.get(".symbol"), str):
                symbols[name] = row[".symbol"]
    return Metadata(
        () if target is None else (target,),
        tuple(kernels),
        refused,
        symbols,
        root.get(_VERSION),
        root.get(_PRINTF),
    )


def _unpack(note: bytes) -> Any:
    check_claims(note)
    # The library raises many things on hostile bytes; all of them mean the same to the caller.
    try:
        return msgpack.unpackb(
            note,
            raw=False,
            strict_map_key=False,
            unicode_errors="surrogateescape",
            object_pairs_hook=_unique_string_keys,
        )
    except HipGraphError:
        raise
    except (ValueError, TypeError, RecursionError, OverflowError, msgpack.UnpackException) as error:
        raise InvalidArgumentError(
            "the metadata note is not valid MessagePack",
            found=f"{type(error).__name__}: {error}",
            allowed="one MessagePack map that fills the note",
            next_step="the file is truncated or was edited; build it again",
        ) from error


def _unique_string_keys(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    try:
        "".join(found)  # the quickest check that all of them are strings
    except TypeError:
        _refuse_other_keys(found)
    if len(found) != len(pairs):
        _refuse_repeated([key for key, _ in pairs])
    return found


def _refuse_other_keys(found: dict[Any, Any]) -> None:
    """Maps that are read have string keys only. Maps of other tools are skipped."""
    if not _CHECKED_KEYS.isdisjoint(found):
        key = next(key for key in found if not isinstance(key, str))
        raise InvalidArgumentError("a metadata map has a key that is not a string", found=repr(key)[:200])


def _refuse_repeated(keys: list[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen and key in _CHECKED_KEYS:
            raise InvalidArgumentError("a metadata key is repeated in one map", found=repr(key), allowed="once")
        seen.add(key)


def _name_of(row: Any, path: str) -> str:
    if isinstance(row, dict):
        for key in (".name", ".symbol"):
            if isinstance(row.get(key), str) and row[key]:
                return str(row[key].removesuffix(".kd"))
    return path


def _kernel(row: Any, path: str) -> KernelMetadata:
    if not isinstance(row, dict):
        raise _wrong("a kernel is not a map", path, row, "a map")
    _check_map(row, path, _KERNEL_TYPES, _KERNEL_REQUIRED)
    symbol, size, alignment = row[".symbol"], row[".kernarg_segment_size"], row[".kernarg_segment_align"]
    if alignment < 1 or alignment & (alignment - 1):
        where = f"{path}.kernarg_segment_align"
        raise _wrong("the kernarg alignment is not a power of two", where, alignment, "a power of two")
    if size > MAX_KERNARG_SIZE:
        where, allowed = f"{path}.kernarg_segment_size", f"at most {MAX_KERNARG_SIZE}"
        raise OutOfRangeError("the kernarg segment is too large", where=where, found=str(size), allowed=allowed)
    return KernelMetadata(
        name=row.get(".name") or symbol.removesuffix(".kd"),
        symbol=symbol,
        kernarg_segment_size=size,
        kernarg_segment_align=alignment,
        group_segment_fixed_size=row[".group_segment_fixed_size"],
        private_segment_fixed_size=row[".private_segment_fixed_size"],
        arguments=_arguments(row.get(".args", ()), size, path),
        required_workgroup_size=_required_workgroup_size(row, path),
        max_flat_workgroup_size=row.get(".max_flat_workgroup_size"),
        wavefront_size=row.get(".wavefront_size"),
        uses_dynamic_stack=row.get(".uses_dynamic_stack", False),
        registers=RegisterUse(*[_count(row.get(key)) for key in _REGISTER_KEYS]),
    )


def _count(value: Any) -> int | None:
    """A number that is only shown: one that makes no sense counts as not stated, and refuses no kernel."""
    return value if type(value) is int and 0 <= value < _LIMIT else None


def _required_workgroup_size(row: dict[str, Any], path: str) -> tuple[int, int, int] | None:
    sizes, where = row.get(".reqd_workgroup_size"), f"{path}.reqd_workgroup_size"
    if sizes is None:
        return None
    if len(sizes) != 3:
        raise _wrong("the required workgroup size is not three numbers", where, sizes, "three numbers >= 1")
    for index, size in enumerate(sizes):
        _check_value(size, int, f"{where}[{index}]")
    x, y, z = sizes
    if not x or not y or not z:
        raise _wrong("the required workgroup size has a zero", where, sizes, "three numbers >= 1")
    return x, y, z


def _arguments(rows: Sequence[Any], kernarg_size: int, path: str) -> tuple[ArgumentMetadata, ...]:
    """Read the arguments in order; they must be sorted, disjoint and inside the kernarg block. Gaps are allowed."""
    arguments: list[ArgumentMetadata] = []
    end = 0
    for index, row in enumerate(rows):
        where = f"{path}.args[{index}]"
        argument = _argument(row, where)
        _, offset, size, *_ = argument
        if offset < end:
            raise _wrong("an argument overlaps the one before it", f"{where}.offset", offset, f">= {end}")
        end = offset + size
        if end > kernarg_size:
            raise _wrong("an argument ends past the kernarg segment", where, f"end {end}", f"<= {kernarg_size}")
        arguments.append(argument)
    return tuple(arguments)


def _argument(row: Any, path: str) -> ArgumentMetadata:
    if not isinstance(row, dict):
        raise _wrong("an argument is not a map", path, row, "a map")
    if len(row) == len(_ARGUMENT_REQUIRED):
        plain = _plain_argument(row)
        if plain is not None:
            return plain
    _check_map(row, path, _ARGUMENT_TYPES, _ARGUMENT_REQUIRED)
    get = row.get
    offset, alignment = row[".offset"], get(".align") or get(".alignment")
    if ".align" in row and ".alignment" in row:
        raise _wrong("an argument states its alignment twice", path, ".align and .alignment", "one of them")
    if alignment and (alignment & (alignment - 1) or offset % alignment):
        raise _wrong("an argument is not at its alignment", path, f"offset {offset}, align {alignment}", "a multiple")
    return ArgumentMetadata(
        get(".name"),
        offset,
        row[".size"],
        row[".value_kind"],
        get(".type_name"),
        get(".address_space"),
        get(".actual_access") or get(".access"),
        alignment,
        get(".is_const", False),
        get(".value_type"),
    )


def _plain_argument(row: dict[str, Any]) -> ArgumentMetadata | None:
    """A sound argument of nothing but the required keys, as hidden ones are: most arguments, so they are read fast."""
    offset, size, kind = row.get(".offset"), row.get(".size"), row.get(".value_kind")
    if type(offset) is type(size) is int and type(kind) is str and kind and 0 <= offset < _LIMIT and 0 <= size < _LIMIT:
        return ArgumentMetadata(None, offset, size, kind)
    return None


def _check_map(row: dict[str, Any], path: str, types: Mapping[str, type], required: tuple[str, ...]) -> None:
    """Every required key is there and not empty, and every known key has the right type."""
    for key, value in row.items():
        wanted, given = types.get(key), type(value)
        if wanted is not None and (given is not wanted or (wanted is int and not 0 <= value < _LIMIT)):
            _check_value(value, wanted, path + key)
    for key in required:
        if key not in row or row[key] == "":
            raise InvalidArgumentError(f"a metadata map lacks {key}", where=path, allowed=f"a map with {key}")


def _check_value(value: Any, wanted: type, where: str) -> None:
    given = type(value)
    if given is not wanted or (wanted is int and value < 0):
        expected, allowed = _TYPE_WORDS[wanted]
        raise _wrong(f"a metadata value is not {expected}", where, value, allowed)
    if wanted is int and value >= _LIMIT:
        raise OutOfRangeError(
            "a metadata number is too large", where=where, found=str(value), allowed=f"at most {_LIMIT - 1}"
        )


def _wrong(what: str, where: str, found: object, allowed: str) -> InvalidArgumentError:
    text = found if isinstance(found, str) else repr(found)
    return InvalidArgumentError(what, where=where, found=text[:200], allowed=allowed)
