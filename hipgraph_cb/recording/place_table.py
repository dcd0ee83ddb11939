"""The places that the commands of a recording name, in columns: relocations lead here by number.

Number 0 is no place: a null pointer. Nothing here is an object that the garbage collector would look at.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from hipgraph_cb.errors import OutOfRangeError
from hipgraph_cb.recording.commands.places import Location, Range, SlotRange

BUFFER, SLOT, OPEN_SLOT = 0, 1, 2
"""What an owner is: a buffer, a slot with a stated length, a slot up to its binding's end."""
KIND_BITS = 2
_KIND = (1 << KIND_BITS) - 1


class PlaceTable:
    """Owner, offset and length of each place.

    Attributes:
        owners: the number of the buffer or slot, shifted by `KIND_BITS`, and which of the two it is.
        offsets, lengths: bytes; the length of an open slot is 0.
    """

    __slots__ = ("lengths", "offsets", "owners")

    def __init__(self) -> None:
        self.owners, self.offsets, self.lengths = array("Q", (0,)), array("Q", (0,)), array("Q", (0,))

    def __len__(self) -> int:
        return len(self.owners)

    def add(self, place: Location) -> int:
        """Enter a place; returns its number. Offsets and lengths have 64 bits (R6)."""
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

    def __getitem__(self, number: int) -> Location:
        """The place with a number that is not 0."""
        owner = self.owners[number]
        kind = owner & _KIND
        if kind == BUFFER:
            return Range(owner >> KIND_BITS, self.offsets[number], self.lengths[number])
        return SlotRange(owner >> KIND_BITS, self.offsets[number], self.lengths[number] if kind == SLOT else None)

    def slots(self) -> frozenset[int]:
        """The numbers of the places in slots."""
        return frozenset(number for number, owner in enumerate(self.owners) if owner & _KIND)

    def truncate(self, count: int) -> None:
        """Forget all places but the first `count`."""
        for column in (self.owners, self.offsets, self.lengths):
            del column[count:]

    def replaced(self, at: Callable[[Location], Location]) -> PlaceTable:
        """As many places, each the one that `at` gives for it."""
        table = PlaceTable()
        for number in range(1, len(self)):
            table.add(at(self[number]))
        return table
