"""Which addresses of an arena are allocated.

Space is allocated from a cursor on, which starts again at the beginning after the end, so released space is reused as
late as possible.
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
        """The address of `size` free bytes (at least one), a multiple of `alignment`; None if there are none."""
        for first, end in self._gaps():
            address = -(-first // alignment) * alignment
            if address + size + GUARD <= end:
                self._cursor = address + size + GUARD
                self._ends[address] = address + size
                bisect.insort(self._starts, address)
                return address
        return None

    def take_at(self, address: int, size: int) -> bool:
        """Take exactly these bytes if they are free, and say whether they were."""
        first, end = self.gap(address)
        if not first + GUARD <= address or address + size + GUARD > end:
            return False
        self._ends[address] = address + size
        bisect.insort(self._starts, address)
        return True

    def release(self, address: int) -> None:
        """Release the range that starts at `address`."""
        del self._ends[address]
        del self._starts[bisect.bisect_left(self._starts, address)]

    def gap(self, address: int) -> tuple[int, int]:
        """Start and end of the free space around `address`."""
        index = bisect.bisect_right(self._starts, address)
        return self._end_before(index), self._start_at(index)

    def _gaps(self) -> Iterator[tuple[int, int]]:
        """All free space, that behind the cursor first."""
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
