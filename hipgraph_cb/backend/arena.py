"""The arena of a recording with addresses and numbers in it: all relocations in one pass, for both backends.

Slots that nothing is bound to yet have the address 0; so has a null pointer. What is said of addresses holds for
numbers too: the bits of a number are what its place has for an address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hipgraph_cb.cached import cached_property
from hipgraph_cb.errors import OutOfRangeError
from hipgraph_cb.recording.binding_table import BoundRange
from hipgraph_cb.recording.place_table import BUFFER, CONSTANT, KIND_BITS, OPEN_SLOT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.recording.binding_table import Bound, Table
    from hipgraph_cb.recording.command_table import CommandTable
    from hipgraph_cb.recording.forms import Form
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
        self._in_slots = np.flatnonzero((kinds != BUFFER) & (kinds != CONSTANT))
        self._slots, self._offsets = numbers[self._in_slots], offsets[self._in_slots]
        self._is_open, self._lengths = kinds[self._in_slots] == OPEN_SLOT, lengths[self._in_slots]
        numbers[self._in_slots] = 0
        bases = _by_number(buffers, numbers)[numbers]
        bases[kinds != BUFFER] = bases[0] = 0
        self._fixed = Extents(_sums(bases, offsets), lengths)

    def bound(self, slots: Table) -> Extents:
        """With this memory and these numbers in the slots. Raises OutOfRangeError as for buffers."""
        if not len(self._in_slots):
            return self._fixed
        addresses, lengths = self._fixed.addresses.copy(), self._fixed.lengths
        bases = _by_number({slot: base_of(each) for slot, each in slots.items()}, self._slots)
        addresses[self._in_slots] = _sums(bases[self._slots], self._offsets)
        if self._is_open.any():
            lengths = lengths.copy()
            sizes = {slot: each.length for slot, each in slots.items() if isinstance(each, BoundRange)}
            rests = _by_number(sizes, self._slots)[self._slots]
            rest = np.where(rests > self._offsets, rests - self._offsets, np.uint64(0))
            lengths[self._in_slots] = np.where(self._is_open, rest, self._lengths)
        return Extents(addresses, lengths)


def base_of(bound: Bound) -> int:
    """The address of what a slot holds, or the bits of its number."""
    return bound.buffer.bound_address + bound.offset if isinstance(bound, BoundRange) else bound.bits


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
        at = relocations.plus(self.starts)
        self.words: NDArray[np.intp] = read_words(self.bytes, at).astype(np.intp)
        self._targets = Targets(at)
        if any(table.forms[number].numbers for number in np.flatnonzero(np.bincount(self.rows))):
            targets = [targets_of(form) for form in table.forms]
            places, widths = ([[each[part] for each in row] for row in targets] for part in (0, 1))
            nothing = np.zeros(len(self.rows), np.intp)
            self._targets = Targets(
                Ragged(places, self.rows).plus(self.starts), Ragged(widths, self.rows).plus(nothing)
            )
        self.extents = NOWHERE

    def apply(self, extents: Extents) -> list[int]:
        """Write addresses; returns the commands that name a place which has moved, or has another length or number,
        ascending."""
        previous, self.extents = self.extents, extents
        if previous is NOWHERE:
            self._targets.write(self.bytes, slice(None), extents.addresses[self.words])
            return []
        moved = previous.addresses != extents.addresses
        if previous.lengths is not extents.lengths:
            moved |= previous.lengths != extents.lengths
        if not moved.any():
            return []
        touched = np.flatnonzero(moved[self.words])
        self._targets.write(self.bytes, touched, extents.addresses[self.words[touched]])
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


def targets_of(form: Form) -> list[tuple[int, int]]:
    """Where in a block what each relocation leads to is written, and in how many bytes."""
    addresses = form.relocations[: len(form.relocations) - len(form.numbers)]
    return [*((at, WORD) for at in addresses), *form.numbers]


def _are_multiples(at: NDArray[np.intp], width: int) -> bool:
    """Whether all are multiples of a power of two; found without an array as large."""
    return int(np.bitwise_or.reduce(at, initial=0)) % width == 0


def read_words(memory: NDArray[np.uint8], at: NDArray[np.intp]) -> NDArray[np.uint64]:
    """64-bit words at byte offsets."""
    if _are_multiples(at, WORD):
        words: NDArray[np.uint64] = memory.view(np.uint64)[at // WORD]
        return words
    unaligned: NDArray[np.uint64] = memory[at[:, None] + np.arange(WORD)].view(np.uint64)[:, 0]
    return unaligned


class Targets:
    """Where in memory 64-bit values go, each whole or its lowest bytes.

    Args:
        at: byte offsets.
        widths: bytes of each; None for whole ones.
    """

    def __init__(self, at: NDArray[np.intp], widths: NDArray[np.intp] | None = None) -> None:
        self._at = at
        self._widths = widths
        kinds = [WORD] if widths is None else np.unique(widths).tolist()
        of_width = {width: at if widths is None else at[widths == width] for width in kinds}
        self._is_aligned = {width: _are_multiples(places, width) for width, places in of_width.items()}

    def write(self, memory: NDArray[np.uint8], which: slice | NDArray[np.intp], values: NDArray[np.uint64]) -> None:
        """Write values to some of these."""
        at = self._at[which]
        widths = None if self._widths is None else self._widths[which]
        for width in self._is_aligned:
            if widths is None:
                self._write(memory, at, width, values)
            else:
                chosen = widths == width
                self._write(memory, at[chosen], width, values[chosen])

    def _write(self, memory: NDArray[np.uint8], at: NDArray[np.intp], width: int, values: NDArray[np.uint64]) -> None:
        if self._is_aligned[width]:
            memory.view(f"<u{width}")[at // width] = values
        else:
            lowest = np.ascontiguousarray(values)[:, None].view(np.uint8)[:, :width]
            memory[at[:, None] + np.arange(width)] = lowest


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
