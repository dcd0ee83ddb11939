"""The places and numbers that the commands of a recording name, in columns: relocations lead here by number.

Number 0 is no place: a null pointer. Nothing here is an object that the garbage collector would look at.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from hipgraph_cb.errors import OutOfRangeError
from hipgraph_cb.recording.commands.places import Constant, Location, Number, Place, Range, SlotNumber, SlotRange
from hipgraph_cb.recording.number_types import TYPE_NAMES, TYPE_NUMBERS

BUFFER, SLOT, OPEN_SLOT, SLOT_NUMBER, CONSTANT = range(5)
"""What an owner is: a buffer, a slot with a stated length, a slot up to its binding's end, a slot that holds a number,
nothing for a number that is known."""
KIND_BITS = 3
_KIND = (1 << KIND_BITS) - 1


class PlaceTable:
    """Owner, offset and length of each place.

    Attributes:
        owners: the number of the buffer or slot, shifted by `KIND_BITS`, and which of them it is.
        offsets: bytes; the bits of a number that is known.
        lengths: bytes, 0 for an open slot; the position of a number's type in `TYPE_NAMES`.
    """

    __slots__ = ("lengths", "offsets", "owners")

    def __init__(self) -> None:
        self.owners, self.offsets, self.lengths = array("Q", (0,)), array("Q", (0,)), array("Q", (0,))

    def __len__(self) -> int:
        return len(self.owners)

    def add(self, place: Place) -> int:
        """Enter a place; returns its number. Offsets and lengths have 64 bits (R6)."""
        if isinstance(place, (SlotNumber, Constant)):
            return self._add_number(place)
        number, offset, length = place
        kind = BUFFER if type(place) is Range else SLOT
        if length is None:
            kind, length = OPEN_SLOT, 0
        try:
            self.lengths.append(length)
            self.offsets.append(offset)
        except (OverflowError, TypeError):
            self.truncate(len(self.owners))
            raise OutOfRangeError(
                "a range does not fit in 64 bits", found=f"offset {offset}, length {length}", allowed="0 to 2^64 - 1"
            ) from None
        self.owners.append(number << KIND_BITS | kind)
        return len(self.owners) - 1

    def add_buffer(self, number: int, size: int) -> int:
        """Enter all bytes of a buffer; returns the number of the place."""
        self.lengths.append(size)
        self.offsets.append(0)
        self.owners.append(number << KIND_BITS | BUFFER)
        return len(self.owners) - 1

    def _add_number(self, number: Number) -> int:
        slot, bits = (number.slot, 0) if isinstance(number, SlotNumber) else (0, number.bits)
        self.lengths.append(TYPE_NUMBERS[number.type])
        self.offsets.append(bits)
        self.owners.append(slot << KIND_BITS | (SLOT_NUMBER if isinstance(number, SlotNumber) else CONSTANT))
        return len(self.owners) - 1

    def __getitem__(self, number: int) -> Place:
        """The place with a number that is not 0."""
        owner = self.owners[number]
        kind = owner & _KIND
        if kind == SLOT_NUMBER:
            return SlotNumber(owner >> KIND_BITS, TYPE_NAMES[self.lengths[number]])
        if kind == CONSTANT:
            return Constant(self.offsets[number], TYPE_NAMES[self.lengths[number]])
        if kind == BUFFER:
            return Range(owner >> KIND_BITS, self.offsets[number], self.lengths[number])
        return SlotRange(owner >> KIND_BITS, self.offsets[number], self.lengths[number] if kind == SLOT else None)

    def location(self, number: int) -> Location:
        """The same for memory."""
        place: Any = self[number]
        location: Location = place
        return location

    def slots(self) -> frozenset[int]:
        """The numbers of the places in slots, numbers in slots included."""
        kinds = (SLOT, OPEN_SLOT, SLOT_NUMBER)
        return frozenset(number for number, owner in enumerate(self.owners) if owner & _KIND in kinds)

    def copy(self) -> PlaceTable:
        """A table of its own with the same places."""
        table = PlaceTable()
        table.owners, table.offsets, table.lengths = self.owners[:], self.offsets[:], self.lengths[:]
        return table

    def truncate(self, count: int) -> None:
        """Forget all places but the first `count`."""
        for column in (self.owners, self.offsets, self.lengths):
            del column[count:]

    def replaced(self, at: Callable[[Place], Place]) -> PlaceTable:
        """As many places, each the one that `at` gives for it."""
        table = PlaceTable()
        for number in range(1, len(self)):
            table.add(at(self[number]))
        return table
