"""Pairs of accesses that share bytes, one of them writing, counted by kind without looking at every pair.

Of 50 000 fills of one buffer without a barrier every two are a pair. What a reader needs is which kinds of commands
meet where, the first such pair, and how many there are; that takes a sweep over the sorted accesses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple


class Span(NamedTuple):
    """Bytes that a command touches; `kind` says what command it is, for people."""

    start: int
    end: int
    command: int
    kind: str
    reads: bool
    writes: bool
    known: bool


Class = tuple[str, bool, bool, bool]


class Overlap(NamedTuple):
    """Two spans in the order of their commands, the first such pair among so many `pairs` of these two classes."""

    first: Span
    second: Span
    pairs: int

    @property
    def position(self) -> tuple[int, int]:
        return self.second.command, self.first.command

    @property
    def classes(self) -> tuple[Class, Class]:
        """Those of the two spans, whichever comes first."""
        one, other = sorted((self.first[3:], self.second[3:]))
        return one, other

    def joined(self, other: Overlap | None) -> Overlap:
        """Both counts at the earlier pair."""
        if other is None:
            return self
        return min(self, other, key=lambda each: each.position)._replace(pairs=self.pairs + other.pairs)


def overlaps(spans: Iterable[Span]) -> Iterator[Overlap]:
    """For each span and each class of those that began before it: the pairs, unless both only read.

    All spans are of one memory. The cost is that of sorting, times the number of classes.
    """
    active: dict[Class, _Active] = defaultdict(_Active)
    for span in sorted(_united(spans)):
        for (_, _, writes, _), group in active.items():
            if writes or span.writes:
                count, other = group.partners_of(span)
                if other is not None:
                    first, second = (other, span) if other.command < span.command else (span, other)
                    yield Overlap(first, second, count)
        active[span[3:]].add(span)


def _united(spans: Iterable[Span]) -> Iterator[Span]:
    """The same bytes, with those of one command and class as spans that lie apart."""
    groups: dict[tuple[int, Class], list[Span]] = defaultdict(list)
    for span in spans:
        groups[span.command, span[3:]].append(span)
    for group in groups.values():
        group.sort()
        last = group[0]
        for span in group[1:]:
            if span.start > last.end:
                yield last
                last = span
            elif span.end > last.end:
                last = last._replace(end=span.end)
        yield last


class _Active:
    """The spans of one class that a sweep by start is inside of."""

    __slots__ = ("_by_command", "_ends", "_own_end")

    def __init__(self) -> None:
        self._ends: list[int] = []  # a heap
        self._by_command: list[tuple[int, Span]] = []  # a heap; what is over goes when it comes to the top
        self._own_end: dict[int, int] = {}

    def add(self, span: Span) -> None:
        heappush(self._ends, span.end)
        heappush(self._by_command, (span.command, span))
        self._own_end[span.command] = span.end

    def partners_of(self, span: Span) -> tuple[int, Span | None]:
        """How many of other commands reach beyond the start of `span`, and that of the earliest command."""
        while self._ends and self._ends[0] <= span.start:
            heappop(self._ends)
        has_own = self._own_end.get(span.command, 0) > span.start
        count = len(self._ends) - has_own
        return (count, self._earliest(span)) if count else (0, None)

    def _earliest(self, span: Span) -> Span:
        heap = self._by_command
        while heap[0][1].end <= span.start:
            heappop(heap)
        if heap[0][0] != span.command:
            return heap[0][1]
        own = heappop(heap)
        while heap[0][1].end <= span.start:
            heappop(heap)
        found = heap[0][1]
        heappush(heap, own)
        return found
