"""Numbers in slots among what a dispatch is given: taken out before the rules look at the rest, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.abi.c_types import C_TYPES, FLOAT
from hipgraph_cb.code_object.kernel_args import Parameter, ParameterKind
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.commands.places import SlotNumber
from hipgraph_cb.recording.number_types import NUMBER_TYPES
from hipgraph_cb.recording.resources import Slot

if TYPE_CHECKING:
    from hipgraph_cb.code_object.kernel_args import KernargLayout
    from hipgraph_cb.recording.resource_builder import ResourceBuilder

CONSTANT_SIZE = 4
"""Bytes of a constant of the HAL convention."""
INTEGERS = tuple(name for name, row in NUMBER_TYPES.items() if row.kind != FLOAT)
ArgumentNumbers = list[tuple[int, SlotNumber]]
"""Each with its offset in the kernarg block, ascending."""


class OpenShape(NamedTuple):
    """The numbers in slots of a launch shape: of each count, and of the LDS; None for what is known."""

    counts: tuple[SlotNumber | None, SlotNumber | None, SlotNumber | None]
    lds: SlotNumber | None

    @property
    def numbers(self) -> list[SlotNumber]:
        """Those that there are, in order."""
        return [each for each in (*self.counts, self.lds) if each is not None]


def is_number(value: object) -> bool:
    """Whether it is a slot for a number."""
    return isinstance(value, Slot) and value.type is not None


def is_open(count: object, lds: object) -> bool:
    """Whether a launch shape has a slot in it; dispatches come by the thousand, so types are all that is asked."""
    if count.__class__ is Slot or lds.__class__ is Slot:
        return True
    return isinstance(count, (tuple, list)) and Slot in map(type, count)


def take_shape(resources: ResourceBuilder, count: Any, lds: Any) -> tuple[Any, Any, OpenShape]:
    """The count with 1 and the LDS with 0 where they are in slots, and what is in slots."""
    counts = list(count) if isinstance(count, (tuple, list)) else [count]
    found: list[SlotNumber | None] = [None, None, None]
    for axis, value in enumerate(counts):
        if is_number(value) and axis < 3:
            found[axis], counts[axis] = _amount(resources, value, f"workgroup_count in {'xyz'[axis]}"), 1
    taken = _amount(resources, lds, "dynamic_lds") if is_number(lds) else None
    return counts, lds if taken is None else 0, OpenShape((found[0], found[1], found[2]), taken)


def take_arguments(
    resources: ResourceBuilder, layout: KernargLayout, values: Sequence[Any]
) -> tuple[Sequence[Any], ArgumentNumbers]:
    """The arguments with zeros for numbers in slots, and these."""
    if not any(map(is_number, values)) or len(values) != len(layout.parameters):
        return values, []
    plain, numbers = list(values), []
    for index, (value, parameter) in enumerate(zip(values, layout.parameters, strict=True)):
        if is_number(value):
            _check_argument(layout, value, parameter)
            numbers.append((parameter.offset, resources.number(value)))
            plain[index] = bytes(parameter.size)
    return plain, sorted(numbers)


def take_constants(resources: ResourceBuilder, layout: KernargLayout, constants: Any) -> tuple[Any, ArgumentNumbers]:
    """The 32-bit constants with zeros for numbers in slots, and these."""
    if not isinstance(constants, (tuple, list)) or not any(map(is_number, constants)):
        return constants, []
    starts = [
        row.offset + start
        for row in layout.parameters
        if row.kind is ParameterKind.VALUE
        for start in range(0, row.size, CONSTANT_SIZE)
    ]
    plain, numbers = list(constants), []
    for index, value in enumerate(constants):
        if is_number(value):
            if NUMBER_TYPES[value.type].size != CONSTANT_SIZE:
                raise InvalidArgumentError(
                    f"{layout.kernel}: slot {value.index} cannot be constant {index}",
                    found=f"a number of type {value.type}",
                    allowed=_types_of(CONSTANT_SIZE),
                )
            if index < len(starts):
                numbers.append((starts[index], resources.number(value)))
            plain[index] = 0
    return plain, sorted(numbers)


def take_pattern(resources: ResourceBuilder, slot: Slot, pattern_length: object, longest: int) -> SlotNumber:
    """The pattern of a fill that is in a slot."""
    size = NUMBER_TYPES[slot.type].size
    if size > longest:
        sizes = (each for each in NUMBER_TYPES.values() if each.size <= longest)
        raise InvalidArgumentError(
            f"slot {slot.index} cannot be a pattern",
            found=f"a number of type {slot.type}",
            allowed=", ".join(each.name for each in sizes),
        )
    if pattern_length not in (4, size):
        raise InvalidArgumentError(
            "pattern_length contradicts the pattern", found=f"pattern_length {pattern_length}, type {slot.type}"
        )
    return resources.number(slot)


def _amount(resources: ResourceBuilder, slot: Slot, what: str) -> SlotNumber:
    if slot.type not in INTEGERS:
        raise InvalidArgumentError(
            f"slot {slot.index} cannot be {what}",
            found=f"a number of type {slot.type}",
            allowed=", ".join(INTEGERS),
        )
    return resources.number(slot)


def _check_argument(layout: KernargLayout, slot: Slot, parameter: Parameter) -> None:
    row, named = NUMBER_TYPES[slot.type], C_TYPES.get(parameter.type_name or "")
    allowed = _types_of(parameter.size)
    if parameter.kind is not ParameterKind.VALUE:
        allowed = "a buffer, a view, a slot for memory, or None for null"
    elif named is not None and named.size == parameter.size:
        types = (each for each in NUMBER_TYPES.values() if each.size == named.size)
        allowed = ", ".join(each.name for each in types if (each.kind == FLOAT) == (named.kind == FLOAT))
    elif not allowed:
        allowed = f"bytes or a NumPy value of {parameter.size} bytes: a slot holds one number"
    if slot.type not in allowed.split(", "):
        raise InvalidArgumentError(
            f"{layout.kernel}: slot {slot.index} cannot be argument {parameter.index} ({parameter.label})",
            found=f"a number of type {row.name}, {row.size} bytes",
            allowed=allowed,
            detail=layout.signature(),
        )


def _types_of(size: int) -> str:
    return ", ".join(row.name for row in NUMBER_TYPES.values() if row.size == size)
