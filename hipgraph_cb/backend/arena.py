"""The arena of a recording with addresses in it: all relocations in one pass, for both backends.

Slots that nothing is bound to yet have the address 0; so has a null pointer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hipgraph_cb.cached import cached_property
from hipgraph_cb.errors import OutOfRangeError
from hipgraph_cb.recording.place_table import BUFFER, KIND_BITS, OPEN_SLOT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.recording.bindings import BoundRange
    from hipgraph_cb.recording.command_table import CommandTable
    from hipgraph_cb.recording.place_table import PlaceTable

WORD = 8


class Extents(NamedTuple):
    """Where the places of a table are, by their numbers: addresses, and lengths in bytes."""

    addresses: NDArray[np.uint64]
    lengths: NDArray[np.uint64]


NOWHERE = Extents(np.zeros(1, np.uint64), np.zeros(1, np.uint64))
"""Of an arena to which nothing was applied yet."""


class PlaceExtents:
    """Where the places of a table are, with other memory in the slots from time to time.

    Args:
        buffers: addresses by resource id.

    Raises:
        OutOfRangeError: an offset that leads beyond the last address.
    """

    def __init__(self, places: PlaceTable, buffers: Mapping[int, int]) -> None:
        owners, offsets, lengths = (
            np.frombuffer(column, np.uint64) for column in (places.owners, places.offsets, places.lengths)
        )
        numbers = (owners >> np.uint64(KIND_BITS)).astype(np.intp)
        kinds = owners & np.uint64((1 << KIND_BITS) - 1)
        self._in_slots = np.flatnonzero(kinds != BUFFER)
        self._slots, self._offsets = numbers[self._in_slots], offsets[self._in_slots]
        self._is_open, self._lengths = kinds[self._in_slots] == OPEN_SLOT, lengths[self._in_slots]
        numbers[self._in_slots] = 0
        bases = _by_number(buffers, numbers)[numbers]
        bases[self._in_slots] = bases[0] = 0
        self._fixed = Extents(_sums(bases, offsets), lengths)

    def bound(self, slots: Mapping[int, BoundRange]) -> Extents:
        """With this memory in the slots. Raises OutOfRangeError as for buffers."""
        if not len(self._in_slots):
            return self._fixed
        addresses, lengths = self._fixed.addresses.copy(), self._fixed.lengths
        bases = _by_number({slot: each.buffer.bound_address + each.offset for slot, each in slots.items()}, self._slots)
        addresses[self._in_slots] = _sums(bases[self._slots], self._offsets)
        if self._is_open.any():
            lengths = lengths.copy()
            rests = _by_number({slot: each.length for slot, each in slots.items()}, self._slots)[self._slots]
            rest = np.where(rests > self._offsets, rests - self._offsets, np.uint64(0))
            lengths[self._in_slots] = np.where(self._is_open, rest, self._lengths)
        return Extents(addresses, lengths)


def _sums(bases: NDArray[np.uint64], offsets: NDArray[np.uint64]) -> NDArray[np.uint64]:
    sums = bases + offsets
    if (sums < bases).any():
        raise OutOfRangeError("a range reaches past the last address", allowed="64-bit addresses")
    return sums


def _by_number(values: Mapping[int, int], numbers: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Values by their keys, with zeros for those that are not there, long enough for these numbers."""
    table = np.zeros(1 + max(max(values, default=0), int(numbers.max(initial=0))), np.uint64)
    if values:
        table[list(values)] = np.array(list(values.values()), np.uint64)
    return table


class Arena:
    """A copy of the blocks of commands, with addresses where words of places stood.

    Args:
        commands: which of the table.
        start: where the block of the first one begins in the table's arena.

    Attributes:
        rows: the number of each command's form.
        starts: where each block begins.
        bytes: the blocks.
        words: for each relocation the number of its place.
        firsts: the number of the first relocation of each command.
        extents: what was applied last.
    """

    def __init__(self, table: CommandTable, commands: range | None = None, start: int = 0) -> None:
        self.table = table
        chosen = slice(None) if commands is None else slice(commands.start, commands.stop)
        self.rows = rows_of(table)[chosen]
        sizes = form_sizes(table)[self.rows]
        ends = np.cumsum(sizes)
        self.starts: NDArray[np.intp] = ends - sizes
        size = int(ends[-1]) if len(ends) else 0
        self.bytes: NDArray[np.uint8] = np.frombuffer(table.arena or bytes(WORD), np.uint8, size or WORD, start).copy()
        relocations = Ragged([form.relocations for form in table.forms], self.rows)
        self.firsts, self._counts = relocations.firsts, relocations.counts
        self._at = relocations.plus(self.starts)
        self._is_aligned = not any(offset % WORD for form in table.forms for offset in form.relocations)
        self.words: NDArray[np.intp] = self._read().astype(np.intp)
        self.extents = NOWHERE

    def apply(self, extents: Extents) -> list[int]:
        """Write addresses; returns the commands that name a place which has moved or has another length, ascending."""
        previous, self.extents = self.extents, extents
        if previous is NOWHERE:
            self._write(slice(None), extents.addresses[self.words])
            return []
        moved = previous.addresses != extents.addresses
        if previous.lengths is not extents.lengths:
            moved |= previous.lengths != extents.lengths
        if not moved.any():
            return []
        touched = np.flatnonzero(moved[self.words])
        self._write(touched, extents.addresses[self.words[touched]])
        owners = self._owners[touched]
        is_first = np.ones(len(owners), bool)
        np.not_equal(owners[1:], owners[:-1], out=is_first[1:])
        changed: list[int] = owners[is_first].tolist()
        return changed

    @cached_property
    def _owners(self) -> NDArray[np.intp]:
        """The command that each relocation is in."""
        owners: NDArray[np.intp] = np.repeat(np.arange(len(self.rows)), self._counts)
        return owners

    def words_of(self, commands: NDArray[np.intp], offset: int) -> NDArray[np.uint64]:
        """The 64-bit words at a multiple of 8 in the blocks of some commands."""
        words: NDArray[np.uint64] = self.bytes.view(np.uint64)[(self.starts[commands] + offset) // WORD]
        return words

    def places_of(self, commands: NDArray[np.intp], index: int) -> NDArray[np.intp]:
        """The number of the place that the relocation `index` of each command leads to."""
        return self.words[self.firsts[commands] + index]

    def _read(self) -> NDArray[np.uint64]:
        if self._is_aligned:
            words: NDArray[np.uint64] = self.bytes.view(np.uint64)[self._at // WORD]
            return words
        unaligned: NDArray[np.uint64] = self.bytes[self._at[:, None] + np.arange(WORD)].view(np.uint64)[:, 0]
        return unaligned

    def _write(self, which: slice | NDArray[np.intp], addresses: NDArray[np.uint64]) -> None:
        at = self._at[which]
        if self._is_aligned:
            self.bytes.view(np.uint64)[at // WORD] = addresses
        else:
            self.bytes[at[:, None] + np.arange(WORD)] = addresses[:, None].view(np.uint8)


class Ragged:
    """Lists of numbers, one for each row, where many rows have the same list.

    Args:
        lists: the lists that there are.
        rows: which of them each row has.

    Attributes:
        counts: how long the list of each row is.
        firsts: where the list of each row begins in the numbers of all rows.
    """

    def __init__(self, lists: Sequence[Sequence[int]], rows: NDArray[Any]) -> None:
        lengths = np.array([len(each) for each in lists] or [0], np.intp)
        self._rows = rows
        self._every = np.array([number for each in lists for number in each], np.intp)
        self._starts = np.cumsum(lengths) - lengths
        self.counts: NDArray[np.intp] = lengths[rows]
        self.firsts: NDArray[np.intp] = np.cumsum(self.counts) - self.counts

    def plus(self, bases: NDArray[np.intp]) -> NDArray[np.intp]:
        """The numbers of all rows, each with what belongs to its row added."""
        within = np.repeat(self._starts[self._rows] - self.firsts, self.counts)
        within += np.arange(len(within))
        numbers: NDArray[np.intp] = self._every[within]
        numbers += np.repeat(bases, self.counts)
        return numbers


def rows_of(table: CommandTable) -> NDArray[np.uint32]:
    """The number of each command's form."""
    return np.frombuffer(table.rows, np.uint32) if len(table) else np.zeros(0, np.uint32)


def form_sizes(table: CommandTable) -> NDArray[np.intp]:
    """Bytes of the blocks of each form."""
    return np.array([form.size for form in table.forms] or [0], np.intp)
