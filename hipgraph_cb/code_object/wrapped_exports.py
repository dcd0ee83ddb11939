"""The kernels that an AMD1 or HIP1 wrapper declares, compared with those of its code objects.

The wrapper owns what a caller gives: so many bindings, then so many constants, 8 bytes and 4 bytes each. A code object
may use fewer of them, never more, and what it uses is where the wrapper puts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hipgraph_cb.code_object.kernel_args import POINTER_SIZE, WORD, KernargLayout, Parameter, ParameterKind
from hipgraph_cb.code_object.wrapper import BindingFlag, WrappedExport, Wrapper
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from hipgraph_cb.code_object.verify import VerifiedExecutable, VerifiedExport

_FALLBACK_NAMES = {ParameterKind.POINTER: "binding", ParameterKind.VALUE: "constant"}


def apply_wrapper(
    modules: Sequence[VerifiedExecutable], wrapper: Wrapper, size: int
) -> tuple[dict[str, VerifiedExport], dict[str, HipGraphError]]:
    """The exports that the wrapper lists, in its order and by its counts, and the refused ones (E5).

    Args:
        modules: the code object of each module.
        size: bytes of the wrapper.

    Raises:
        InvalidArgumentError: the wrapper lists one kernel twice, or more constants than it has bytes.
    """
    _check_constants(wrapper, size)
    by_symbol = [{export.symbol: export for export in module.exports.values()} for module in modules]
    kept: dict[str, VerifiedExport] = {}
    refused = {name: error for module in reversed(modules) for name, error in module.refused.items()}
    listed = set()
    for index, entry in enumerate(wrapper.exports):
        if entry.name in listed:
            where = f"exports[{index}]"
            raise InvalidArgumentError("the wrapper lists a kernel twice", where=where, found=repr(entry.name))
        listed.add(entry.name)
        try:
            if entry.name in modules[entry.module].refused:
                refused[entry.name] = modules[entry.module].refused[entry.name]
            else:
                kept[entry.name] = _agreed(by_symbol[entry.module].get(entry.symbol), entry)
                refused.pop(entry.name, None)
        except HipGraphError as error:
            refused[entry.name] = error.located(f"exports[{index}] of the wrapper")
    return kept, refused


def _check_constants(wrapper: Wrapper, size: int) -> None:
    """A count is no more than a number in the file, and each constant becomes a parameter (E1)."""
    total = sum(entry.constant_count for entry in wrapper.exports)
    if total > size:
        raise InvalidArgumentError(
            "the wrapper lists more constants than it has bytes", found=f"{total} constants", allowed=f"at most {size}"
        )


def _agreed(export: VerifiedExport | None, entry: WrappedExport) -> VerifiedExport:
    if export is None:
        raise NotFoundError("the wrapper lists a kernel that the code object does not have", found=repr(entry.symbol))
    _check_counts(export, entry)
    layout = _wrapped_layout(export.stated_layout, entry)
    sized = _with_workgroup_size(export, entry)
    return replace(sized, stated_layout=layout, wrapped=entry, module=entry.module)


def _check_counts(export: VerifiedExport, entry: WrappedExport) -> None:
    rows = export.stated_layout.parameters
    kinds = [row.kind for row in rows]
    bindings = kinds.count(ParameterKind.POINTER)
    constants = sum(row.size for row in rows if row.kind is ParameterKind.VALUE)
    if len(kinds) != bindings + kinds.count(ParameterKind.VALUE) or constants % WORD:
        raise InvalidArgumentError(
            "the kernel cannot be called with bindings and constants",
            found="an argument that is neither a pointer nor made of 32-bit words",
            detail=export.layout.signature(),
        )
    if bindings > entry.binding_count or constants // WORD > entry.constant_count:
        raise InvalidArgumentError(
            "the kernel takes more than its wrapper says",
            found=f"{bindings} bindings and {constants // WORD} constants in the metadata",
            allowed=f"at most {entry.binding_count} bindings and {entry.constant_count} constants",
            detail=export.layout.signature(),
        )


def _wrapped_layout(own: KernargLayout, entry: WrappedExport) -> KernargLayout:
    """The kernarg block as callers of the wrapper fill it."""
    constants_start = POINTER_SIZE * entry.binding_count
    end = constants_start + WORD * entry.constant_count
    for row in own.parameters:
        _check_place(row, constants_start, end, own)
    first_hidden = min((row.offset for row in own.hidden), default=end)
    if first_hidden < end:
        raise InvalidArgumentError(
            "the wrapper's arguments overlap the hidden ones",
            found=f"{end} bytes of bindings and constants",
            allowed=f"at most {first_hidden}, where the hidden arguments of the kernel begin",
            detail=own.signature(),
        )
    debug = entry.debug
    return replace(
        own,
        parameters=tuple(_parameters(own, entry, constants_start)),
        size=max(own.size, end),
        native_offsets=own.offsets,
        origin=None if debug is None or debug.shown is None else str(debug.shown),
    )


def _check_place(row: Parameter, constants_start: int, end: int, own: KernargLayout) -> None:
    if row.kind is ParameterKind.POINTER:
        unit, start, stop = POINTER_SIZE, 0, constants_start
    else:
        unit, start, stop = WORD, constants_start, end
    if row.offset % unit or not start <= row.offset <= stop - row.size or row.size % unit:
        raise InvalidArgumentError(
            "the kernel has an argument elsewhere than its wrapper says",
            found=f"{row.label} at offset {row.offset}",
            allowed=f"bytes {start} to {stop}, at a multiple of {unit}",
            detail=own.signature(),
        )


def _parameters(own: KernargLayout, entry: WrappedExport, constants_start: int) -> Iterator[Parameter]:
    known = {row.offset: row for row in own.parameters if row.kind is ParameterKind.POINTER or row.size == WORD}
    for index, flags in enumerate(entry.binding_flags):
        row = known.get(POINTER_SIZE * index) or _unused(index, POINTER_SIZE * index, ParameterKind.POINTER)
        yield _with_flags(row, index, flags)
    for index in range(entry.constant_count):
        offset = constants_start + WORD * index
        row = known.get(offset) or _unused(index, offset, ParameterKind.VALUE)
        yield replace(row, index=entry.binding_count + index)


def _unused(index: int, offset: int, kind: ParameterKind) -> Parameter:
    """A parameter that the kernel itself does not state as one."""
    is_pointer = kind is ParameterKind.POINTER
    size, value_kind = (POINTER_SIZE, "global_buffer") if is_pointer else (WORD, "by_value")
    return Parameter(index, f"{_FALLBACK_NAMES[kind]}{index}", offset, size, kind, value_kind)


def _with_flags(row: Parameter, index: int, flags: int) -> Parameter:
    reads_only = bool(flags & BindingFlag.READ_ONLY)
    if reads_only and row.access == "write_only":
        raise InvalidArgumentError(
            "the wrapper says that a binding is only read, and the kernel only writes it", found=row.label
        )
    return replace(row, index=index, flags=flags, access="read_only" if reads_only else row.access)


def _with_workgroup_size(export: VerifiedExport, entry: WrappedExport) -> VerifiedExport:
    required = export.required_workgroup_size
    x, y, z = entry.workgroup_size
    if required not in (None, entry.workgroup_size) or x * y * z > export.max_flat_workgroup_size:
        wanted = "any shape" if required is None else "x".join(map(str, required))
        raise InvalidArgumentError(
            "the wrapper's workgroup size is not one the kernel was compiled for",
            found=f"{x}x{y}x{z}",
            allowed=f"{wanted}, at most {export.max_flat_workgroup_size} work-items",
        )
    return replace(export, metadata=replace(export.metadata, required_workgroup_size=entry.workgroup_size))
