"""Which addresses of an arena are taken.

Space is given out from a cursor on, which starts again at the beginning when it has come to the end: what was released
is given out again as late as possible.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator

GUARD = 256
"""Bytes between two ranges, at least."""


class AddressSpace:
    """Ranges in the addresses from `first` up to (not including) `end`."""

    def __init__(self, first: int, end: int) -> None:
        self._first = first + GUARD
        self._end = end
        self._cursor = self._first
        self._starts: list[int] = []  # sorted
        self._ends: dict[int, int] = {}  # by start

    def take(self, size: int, alignment: int) -> int | None:
        """The address of `size` bytes (at least one) that nobody has, a multiple of `alignment`; None without any."""
        for first, end in self._gaps():
            address = -(-first // alignment) * alignment
            if address + size + GUARD <= end:
                self._cursor = address + size + GUARD
                self._ends[address] = address + size
                bisect.insort(self._starts, address)
                return address
        return None

    def release(self, address: int) -> None:
        """Give back the range that starts at `address`."""
        del self._ends[address]
        del self._starts[bisect.bisect_left(self._starts, address)]

    def gap(self, address: int) -> tuple[int, int]:
        """Start and end of the free space around `address`, which nobody has."""
        index = bisect.bisect_right(self._starts, address)
        return self._end_before(index), self._start_at(index)

    def _gaps(self) -> Iterator[tuple[int, int]]:
        """All free space, what lies behind the cursor first."""
        index = bisect.bisect_left(self._starts, self._cursor)
        yield self._cursor, self._start_at(index)
        for other in range(index + 1, len(self._starts) + 1):
            yield self._end_before(other) + GUARD, self._start_at(other)
        for other in range(index + 1):
            yield self._end_before(other) + GUARD, self._start_at(other)

    def _end_before(self, index: int) -> int:
        return self._ends[self._starts[index - 1]] if index else self._first - GUARD

    def _start_at(self, index: int) -> int:
        return self._starts[index] if index < len(self._starts) else self._end
