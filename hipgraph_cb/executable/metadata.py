"""The MessagePack note: which kernels a code object has, and what their arguments are.

Rules: LLVM AMDGPU usage, "Code Object Metadata" v3 and later. Every error names the path inside the metadata. A fault
of the whole document raises; a fault of one kernel is kept for that kernel, so that the others stay usable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgpack

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError

_KERNELS = "amdhsa.kernels"
_TARGET = "amdhsa.target"
_LIMIT = 1 << 32


@dataclass(frozen=True)
class ArgumentMetadata:
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

    @property
    def is_hidden(self) -> bool:
        return self.value_kind.startswith("hidden_")


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


@dataclass(frozen=True)
class Metadata:
    """The whole note: sound kernels in file order, and the refused ones by name with the reason."""

    target: str | None
    kernels: tuple[KernelMetadata, ...]
    refused: Mapping[str, HipGraphError]


def parse_metadata(note: bytes) -> Metadata:
    """Read the descriptor bytes of the note.

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
    if target is not None and not isinstance(target, str):
        raise _wrong("the target is not a string", _TARGET, target, "a string")
    kernels: list[KernelMetadata] = []
    refused: dict[str, HipGraphError] = {}
    for index, row in enumerate(rows):
        path = f"{_KERNELS}[{index}]"
        try:
            kernels.append(_kernel(row, path))
        except HipGraphError as error:
            refused[_name_of(row, path)] = error
    return Metadata(target, tuple(kernels), refused)


def _unpack(note: bytes) -> Any:
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
    found: dict[str, Any] = {}
    for key, value in pairs:
        if not isinstance(key, str):
            raise InvalidArgumentError("a metadata map has a key that is no string", found=repr(key))
        if key in found and key not in ("amdhsa.version", "amdhsa.printf"):
            raise InvalidArgumentError("a metadata key is repeated in one map", found=repr(key), allowed="once")
        found[key] = value
    return found


def _name_of(row: Any, path: str) -> str:
    if isinstance(row, dict):
        for key in (".name", ".symbol"):
            if isinstance(row.get(key), str) and row[key]:
                return str(row[key].removesuffix(".kd"))
    return path


def _kernel(row: Any, path: str) -> KernelMetadata:
    if not isinstance(row, dict):
        raise _wrong("a kernel is not a map", path, row, "a map")
    symbol = _required_text(row, ".symbol", path)
    alignment = _required_number(row, ".kernarg_segment_align", path)
    if alignment < 1 or alignment & (alignment - 1):
        where = f"{path}.kernarg_segment_align"
        raise _wrong("the kernarg alignment is not a power of two", where, alignment, "a power of two")
    size = _required_number(row, ".kernarg_segment_size", path)
    dynamic_stack = row.get(".uses_dynamic_stack", False)
    return KernelMetadata(
        name=_text(row, ".name", path) or symbol.removesuffix(".kd"),
        symbol=symbol,
        kernarg_segment_size=size,
        kernarg_segment_align=alignment,
        group_segment_fixed_size=_required_number(row, ".group_segment_fixed_size", path),
        private_segment_fixed_size=_required_number(row, ".private_segment_fixed_size", path),
        arguments=_arguments(row.get(".args", []), size, path),
        required_workgroup_size=_required_workgroup_size(row, path),
        max_flat_workgroup_size=_number(row, ".max_flat_workgroup_size", path),
        wavefront_size=_number(row, ".wavefront_size", path),
        uses_dynamic_stack=bool(dynamic_stack),
    )


def _required_workgroup_size(row: dict[str, Any], path: str) -> tuple[int, int, int] | None:
    if ".reqd_workgroup_size" not in row:
        return None
    sizes, where = row[".reqd_workgroup_size"], f"{path}.reqd_workgroup_size"
    if not isinstance(sizes, list) or len(sizes) != 3:
        raise _wrong("the required workgroup size is not three numbers", where, sizes, "three numbers >= 1")
    x, y, z = (_checked_number(size, f"{where}[{index}]") for index, size in enumerate(sizes))
    if not x or not y or not z:
        raise _wrong("the required workgroup size has a zero", where, sizes, "three numbers >= 1")
    return x, y, z


def _arguments(rows: Any, kernarg_size: int, path: str) -> tuple[ArgumentMetadata, ...]:
    """Read the arguments in order; they must be sorted, disjoint and inside the kernarg block. Gaps are allowed."""
    if not isinstance(rows, list):
        raise _wrong("the arguments are not an array", f"{path}.args", rows, "an array of maps")
    arguments: list[ArgumentMetadata] = []
    end = 0
    for index, row in enumerate(rows):
        where = f"{path}.args[{index}]"
        argument = _argument(row, where)
        if argument.offset < end:
            raise _wrong("an argument overlaps the one before it", f"{where}.offset", argument.offset, f">= {end}")
        end = argument.offset + argument.size
        if end > kernarg_size:
            raise _wrong("an argument ends past the kernarg segment", where, f"end {end}", f"<= {kernarg_size}")
        arguments.append(argument)
    return tuple(arguments)


def _argument(row: Any, path: str) -> ArgumentMetadata:
    if not isinstance(row, dict):
        raise _wrong("an argument is not a map", path, row, "a map")
    if ".align" in row and ".alignment" in row:
        raise _wrong("an argument states its alignment twice", path, ".align and .alignment", "one of them")
    offset = _required_number(row, ".offset", path)
    alignment = _number(row, ".align" if ".align" in row else ".alignment", path)
    if alignment and (alignment & (alignment - 1) or offset % alignment):
        raise _wrong("an argument is not at its alignment", path, f"offset {offset}, align {alignment}", "a multiple")
    return ArgumentMetadata(
        name=_text(row, ".name", path),
        offset=offset,
        size=_required_number(row, ".size", path),
        value_kind=_required_text(row, ".value_kind", path),
        type_name=_text(row, ".type_name", path),
        address_space=_text(row, ".address_space", path),
        access=_text(row, ".actual_access", path) or _text(row, ".access", path),
        alignment=alignment,
        is_const=bool(row.get(".is_const", False)),
    )


def _required_number(row: dict[str, Any], key: str, path: str) -> int:
    if key not in row:
        raise InvalidArgumentError(f"a metadata map lacks {key}", where=path, allowed=f"a map with {key}")
    return _checked_number(row[key], path + key)


def _number(row: dict[str, Any], key: str, path: str) -> int | None:
    return _checked_number(row[key], path + key) if key in row else None


def _checked_number(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong("a metadata value is not an unsigned number", where, value, "an unsigned 32-bit number")
    if value >= _LIMIT:
        raise OutOfRangeError(
            "a metadata number is too large", where=where, found=str(value), allowed=f"at most {_LIMIT - 1}"
        )
    return value


def _required_text(row: dict[str, Any], key: str, path: str) -> str:
    text = _text(row, key, path)
    if not text:
        raise InvalidArgumentError(f"a metadata map lacks {key}", where=path, allowed=f"a map with {key}")
    return text


def _text(row: dict[str, Any], key: str, path: str) -> str | None:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise _wrong("a metadata value is not a string", path + key, value, "a string")
    return value


def _wrong(what: str, where: str, found: object, allowed: str) -> InvalidArgumentError:
    text = found if isinstance(found, str) else repr(found)
    return InvalidArgumentError(what, where=where, found=text[:200], allowed=allowed)
