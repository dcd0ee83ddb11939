"""The kernels that an AMD1 or HIP1 wrapper declares, compared with those of the code object.

The wrapper owns the counts of bindings and constants: the code object may use fewer, never more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hipgraph_cb.code_object.kernel_args import ParameterKind
from hipgraph_cb.code_object.wrapper import WrappedExport
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from hipgraph_cb.code_object.verify import VerifiedExport


def apply_wrapper(
    exports: Mapping[str, VerifiedExport], refused: Mapping[str, HipGraphError], wrapped: tuple[WrappedExport, ...]
) -> tuple[dict[str, VerifiedExport], dict[str, HipGraphError]]:
    """The exports that the wrapper lists, in its order and with its workgroup sizes, and the refused ones (E5).

    Raises:
        InvalidArgumentError: the wrapper lists one kernel twice.
    """
    by_symbol = {export.symbol: export for export in exports.values()}
    kept: dict[str, VerifiedExport] = {}
    still_refused = dict(refused)
    for index, entry in enumerate(wrapped):
        if entry.name in kept:
            where = f"exports[{index}]"
            raise InvalidArgumentError("the wrapper lists a kernel twice", where=where, found=repr(entry.name))
        try:
            if entry.name not in refused:
                kept[entry.name] = _agreed(by_symbol.get(entry.symbol), entry)
        except HipGraphError as error:
            still_refused[entry.name] = error.located(f"exports[{index}] of the wrapper")
    return kept, still_refused


def _agreed(export: VerifiedExport | None, entry: WrappedExport) -> VerifiedExport:
    if export is None:
        raise NotFoundError("the wrapper lists a kernel that the code object does not have", found=repr(entry.symbol))
    parameters = export.stated_layout.parameters
    kinds = [parameter.kind for parameter in parameters]
    bindings = kinds.count(ParameterKind.POINTER)
    constants = sum(
        parameter.size for parameter in export.stated_layout.parameters if parameter.kind is ParameterKind.VALUE
    )
    if len(kinds) != bindings + kinds.count(ParameterKind.VALUE) or constants % 4:
        raise InvalidArgumentError(
            "the kernel cannot be called with bindings and constants",
            found="an argument that is neither a pointer nor made of 32-bit words",
            detail=export.layout.signature(),
        )
    if bindings > entry.binding_count or constants // 4 > entry.constant_count:
        raise InvalidArgumentError(
            "the kernel takes more than its wrapper says",
            found=f"{bindings} bindings and {constants // 4} constants in the metadata",
            allowed=f"at most {entry.binding_count} bindings and {entry.constant_count} constants",
            detail=export.layout.signature(),
        )
    return _with_workgroup_size(export, entry)


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
