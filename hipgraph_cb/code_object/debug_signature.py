"""The parameters of a kernel by metadata and debug information together: HIP's metadata has no names and no types."""

from __future__ import annotations

from dataclasses import replace

from hipgraph_cb.abi.c_types import numpy_type
from hipgraph_cb.code_object.data_types import DataType, Structure
from hipgraph_cb.code_object.debug_info.debug_info import DebugParameter
from hipgraph_cb.code_object.kernel_args import KernargLayout, Parameter, ParameterKind


def with_debug_info(layout: KernargLayout, described: tuple[DebugParameter, ...] | None) -> KernargLayout:
    """The layout with the names and types of `described`, where both are about the same parameters."""
    if not described or len(described) != len(layout.parameters):
        return layout
    pairs = list(zip(layout.parameters, described, strict=True))
    if not all(_agree(parameter, other.type) for parameter, other in pairs):
        return layout
    return replace(layout, parameters=tuple(_with(parameter, other) for parameter, other in pairs))


def _agree(parameter: Parameter, type_: DataType | None) -> bool:
    """Whether a parameter may be of this type: sizes and pointers are the same."""
    if type_ is None:
        return True
    is_pointer = type_.name.endswith(("*", "&"))
    return type_.size == parameter.size and (is_pointer or parameter.kind is ParameterKind.VALUE)


def _with(parameter: Parameter, described: DebugParameter) -> Parameter:
    """What the metadata states goes first, unless it names a type that only the source knows."""
    type_ = described.type
    is_known = numpy_type(parameter.type_name) is not None
    return replace(
        parameter,
        name=parameter.name or described.name,
        type_name=parameter.type_name if is_known or type_ is None else type_.name,
        structure=type_ if isinstance(type_, Structure) and not is_known else None,
    )
