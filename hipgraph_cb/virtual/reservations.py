"""Ranges of addresses that are reserved for memory to be mapped into, and what is mapped there.

Mapped ranges that may be accessed and follow one another are one live range: a kernel or a copy may cross from one into
the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hipgraph_cb.virtual.address_space import AddressSpace
from hipgraph_cb.virtual.physical_memory import PhysicalMemory, put_empty_pages

if TYPE_CHECKING:
    from hipgraph_cb.virtual.memory import Memory


@dataclass(eq=False)
class Mapping:
    """`size` bytes of memory, from `offset` on, at `address`."""

    address: int
    size: int
    physical: PhysicalMemory
    offset: int
    is_accessible: bool = False

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass(eq=False)
class Reservation:
    """A reserved range. `live`: the ends of the live ranges in it, by their addresses."""

    address: int
    size: int
    label: str
    mappings: dict[int, Mapping] = field(default_factory=dict)
    live: dict[int, int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.address + self.size

    def holds(self, address: int, size: int) -> bool:
        return self.address <= address and address + size <= self.end

    def find(self, address: int) -> Mapping | None:
        """What is mapped at the byte at `address`."""
        for mapping in tuple(self.mappings.values()):
            if mapping.address <= address < mapping.end:
                return mapping
        return None

    def is_free(self, address: int, size: int) -> bool:
        """Nothing is mapped there."""
        return all(mapping.end <= address or address + size <= mapping.address for mapping in self.mappings.values())

    def chain(self, address: int, size: int) -> list[Mapping] | None:
        """The mappings that fill exactly these bytes one behind the other; None where they don't."""
        found, place = [], address
        while place < address + size:
            mapping = self.mappings.get(place)
            if mapping is None:
                return None
            found.append(mapping)
            place = mapping.end
        return found if place == address + size else None


class Reservations:
    """All reserved ranges of an arena: they are in its part from `first` to `end`."""

    def __init__(self, memory: Memory, first: int, end: int) -> None:
        self._memory = memory
        self._space = AddressSpace(first, end)
        self._reserved: dict[int, Reservation] = {}
        self._count = 0

    def reserve(self, size: int, alignment: int, wanted: int = 0) -> Reservation | None:
        """Whole pages: at `wanted` if that is free, else somewhere; None if there is no room."""
        if wanted and wanted % alignment == 0 and self._space.take_at(wanted, size):
            address: int | None = wanted
        else:
            address = self._space.take(size, alignment)
        if address is None:
            return None
        self._memory.forget_freed(address, size)
        reservation = self._reserved[address] = Reservation(address, size, f"reserved memory #{self._count}")
        self._count += 1
        return reservation

    def release(self, reservation: Reservation) -> None:
        """Give back a range in which nothing is mapped."""
        del self._reserved[reservation.address]
        self._space.release(reservation.address)
        put_empty_pages(reservation.address, reservation.size)
        self._memory.remember_freed(reservation.address, reservation.size, reservation.label)

    def find(self, address: int) -> Reservation | None:
        """The reserved range that holds the byte at `address`."""
        for reservation in tuple(self._reserved.values()):
            if reservation.address <= address < reservation.end:
                return reservation
        return None

    def map(self, reservation: Reservation, address: int, size: int, physical: PhysicalMemory, offset: int) -> Mapping:
        """Map bytes into a part of the range that is free; nobody may access them yet."""
        physical.map_at(address, size, offset)
        mapping = reservation.mappings[address] = Mapping(address, size, physical, offset)
        return mapping

    def unmap(self, reservation: Reservation, mappings: Sequence[Mapping]) -> None:
        """An access faults from now on, and the host reads poison."""
        for mapping in mappings:
            del reservation.mappings[mapping.address]
        self.renew(reservation)
        for mapping in mappings:
            put_empty_pages(mapping.address, mapping.size)
            self._memory.poison(mapping.address, mapping.size)

    def renew(self, reservation: Reservation) -> None:
        """Make live what is one piece, after it was changed what may be accessed."""
        wanted = dict(_pieces(reservation))
        ended = [start for start, end in reservation.live.items() if wanted.get(start) != end]
        begun = [start for start, end in wanted.items() if reservation.live.get(start) != end]
        label = f"mapped part of {reservation.label}"
        self._memory.change_lives(ended, [(start, wanted[start] - start, label) for start in begun])
        reservation.live = wanted

    def describe(self, address: int) -> str | None:
        """What an address is that no live range holds; None where nothing is reserved."""
        reservation = self.find(address)
        if reservation is None:
            return None
        place = f"{address - reservation.address} bytes into `{reservation.label}`, {reservation.size} bytes"
        is_mapped = reservation.find(address) is not None
        return f"{place}, where " + ("access was not given" if is_mapped else "nothing is mapped")


def _pieces(reservation: Reservation) -> Iterator[tuple[int, int]]:
    """Start and end of each longest piece that may be accessed."""
    start = end = 0
    for mapping in sorted(reservation.mappings.values(), key=lambda mapping: mapping.address):
        if not mapping.is_accessible:
            continue
        if mapping.address != end:
            if end:
                yield start, end
            start = mapping.address
        end = mapping.end
    if end:
        yield start, end
