"""Binding tables: what slots hold, as a replay gives it and as commands find it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.errors import InternalError
from hipgraph_cb.recording.commands import Constant, SlotNumber, SlotRange
from hipgraph_cb.recording.commands.types import with_numbers
from hipgraph_cb.recording.number_types import value_of

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


class BoundRange(NamedTuple):
    """What a table holds in a slot: `length` bytes from byte `offset` on of `buffer`, a whole buffer."""

    buffer: Any
    offset: int
    length: int

    def part(self, place: SlotRange) -> BoundRange:
        """The bytes of the binding that a command refers to."""
        length = self.length - place.offset if place.length is None else place.length
        return BoundRange(self.buffer, self.offset + place.offset, length)


Bound = BoundRange | Constant
"""What a table holds in a slot: memory, or a number of the slot's type."""


Table = Mapping[int, Bound]
Bindings = Sequence[Any] | Mapping[Any, Any]
"""A binding table as a caller gives it: in order, or by the index or name of the slot."""


def memory_in(table: Table) -> dict[int, BoundRange]:
    """The slots of a table that hold memory."""
    return {slot: bound for slot, bound in table.items() if isinstance(bound, BoundRange)}


def bindings_of(table: Table, recording: Recording) -> dict[int, Any]:
    """What a caller would give for the slots that a recording uses."""
    return {
        slot: value_of(*bound) if isinstance(bound, Constant) else bound.buffer.view(bound.offset, bound.length)
        for slot, bound in table.items()
        if slot < len(recording.slots) and recording.slots[slot].commands
    }


def part_of(table: Table, place: SlotRange) -> BoundRange:
    """The memory that a table has for a place."""
    bound = table[place.slot]
    if isinstance(bound, Constant):
        raise InternalError("a number was taken for memory", where=f"slot {place.slot}")
    return bound.part(place)


def with_known_numbers(command: Any, table: Table) -> Any:
    """The command with the numbers that a table holds in its slots."""
    return with_numbers(command, lambda number: table[number.slot] if isinstance(number, SlotNumber) else number)
