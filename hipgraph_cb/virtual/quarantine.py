"""The ranges of an arena that were freed last: a read there gives poison, and a fault there names the freed range.

Their number and size are limited. The oldest leave first, with their description and their pages.
"""

from __future__ import annotations

import bisect
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraph_cb.virtual.memory import Allocation

MOST_RANGES = 1024
MOST_BYTES = 32 << 20
# A freed range larger than this releases its pages at once instead of keeping the poison resident.
POISON_LIMIT = 1 << 20


class Quarantine:
    """Freed ranges, none of which overlap."""

    def __init__(self) -> None:
        self._ranges: OrderedDict[int, Allocation] = OrderedDict()  # by address, oldest first
        self._starts: list[int] = []  # sorted
        self._bytes = 0

    def add(self, freed: Allocation) -> None:
        self._ranges[freed.address] = freed
        bisect.insort(self._starts, freed.address)
        self._bytes += _poisoned(freed)

    def oldest_beyond_room(self) -> Allocation | None:
        """Remove and return the oldest range when there are too many."""
        if len(self._ranges) <= MOST_RANGES and self._bytes <= MOST_BYTES:
            return None
        oldest = next(iter(self._ranges.values()))
        self._remove(oldest)
        return oldest

    def remove_overlapping(self, address: int, end: int) -> None:
        """Forget the ranges within the bytes from `address` to `end`, which are allocated again."""
        index = max(bisect.bisect_right(self._starts, address) - 1, 0)
        for start in self._starts[index : bisect.bisect_left(self._starts, end)]:
            if start >= address or self._ranges[start].end > address:
                self._remove(self._ranges[start])

    def find(self, address: int) -> Allocation | None:
        """The range that holds the byte at `address`."""
        index = bisect.bisect_right(self._starts, address) - 1
        found = self._ranges[self._starts[index]] if index >= 0 else None
        return found if found is not None and address < found.end else None

    def neighbours(self, address: int) -> tuple[Allocation | None, Allocation | None]:
        """The range in front of a removed one at `address`, and the one behind it."""
        index = bisect.bisect_left(self._starts, address)
        before = self._ranges[self._starts[index - 1]] if index else None
        after = self._ranges[self._starts[index]] if index < len(self._starts) else None
        return before, after

    def _remove(self, freed: Allocation) -> None:
        del self._ranges[freed.address]
        del self._starts[bisect.bisect_left(self._starts, freed.address)]
        self._bytes -= _poisoned(freed)


def _poisoned(freed: Allocation) -> int:
    return freed.size if freed.size <= POISON_LIMIT else 0
