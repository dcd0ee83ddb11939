"""Places in memory, as commands name them: neither an address nor an object of a backend (R7).

They and the commands are named tuples because making one is two to three times cheaper than a frozen dataclass. Unlike
plain tuples they are equal only to values of their own type.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

_Class = TypeVar("_Class", bound=type)


def same_type_only(cls: _Class) -> _Class:
    """Make `==` of a named tuple hold between values of that very type only."""

    def equal(self: tuple[object, ...], other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)

    def unequal(self: tuple[object, ...], other: object) -> bool:
        return not equal(self, other)

    cls.__eq__ = equal  # type: ignore[method-assign,assignment]
    cls.__ne__ = unequal  # type: ignore[method-assign,assignment]
    cls.__hash__ = tuple.__hash__  # type: ignore[method-assign,assignment]
    return cls


@same_type_only
class Range(NamedTuple):
    """`length` bytes from byte `offset` on of the buffer that the resource table calls `resource`."""

    resource: int
    offset: int
    length: int


@same_type_only
class SlotRange(NamedTuple):
    """Bytes of whatever the binding table holds in `slot` at replay; `length` None: all from `offset` on."""

    slot: int
    offset: int
    length: int | None


@same_type_only
class SlotNumber(NamedTuple):
    """A number of a type (`number_types`) that the binding table holds in `slot` at replay."""

    slot: int
    type: str


@same_type_only
class Constant(NamedTuple):
    """A number of a type that is known, as the bits that mean it."""

    bits: int
    type: str


Location = Range | SlotRange
Number = SlotNumber | Constant
Place = Location | Number
"""What a relocation leads to."""
Numbers = tuple[tuple[int, Number], ...]
Counts = tuple[int | SlotNumber, int | SlotNumber, int | SlotNumber]
Pointers = tuple[tuple[int, Location], ...]


class Access(NamedTuple):
    """What a command does to a place in memory; `known` False: it may do less than this."""

    place: Location
    reads: bool
    writes: bool
    known: bool = True
