"""Who reads and writes what: barriers that are missing, and barriers that order nothing.

Where it is not known what a kernel does to memory, every finding that rests on it is only possible (`accesses`). A
kernel is taken to stay within the ranges that it is given. Different slots are taken to hold
different memory, since only the binding table knows better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hipgraph_cb.recording.accesses import AccessReader
from hipgraph_cb.recording.memory import Memory
from hipgraph_cb.recording.missing_barriers import HazardKind, MissingBarrier, MissingBarriers, Spans
from hipgraph_cb.recording.overlaps import Span
from hipgraph_cb.recording.path_hazards import path_findings
from hipgraph_cb.recording.unwritten import UnwrittenRead, unwritten_reads

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


__all__ = ["Finding", "HazardKind", "IdleBarrier", "MissingBarrier", "UnwrittenRead", "findings"]


@dataclass(frozen=True)
class IdleBarrier:
    """A barrier whose two sides share no bytes that either writes, so that it only costs time.

    Each is judged by itself: of two idle barriers in a row, the second may be needed once the first is gone.

    Attributes:
        before: index of the first command behind it.
        text: the finding in one line.
    """

    before: int
    text: str

    @property
    def position(self) -> tuple[int, int]:
        """Where the finding stands in a list: in front of the command."""
        return self.before, -1

    def __str__(self) -> str:
        return self.text


Finding = MissingBarrier | IdleBarrier | UnwrittenRead


def findings(recording: Recording, *, certain_only: bool = False) -> Iterator[Finding]:
    """What is wrong with transient memory, the barriers that order nothing, then the missing ones.

    Args:
        certain_only: leave out what rests on unknown accesses, and idle barriers.

    Dependencies that were inferred from the same accesses leave nothing to find. With events every pair is judged by
    the paths between the two commands, and barriers are not judged.
    """
    yield from unwritten_reads(recording)
    if recording.dependencies is not None:
        if recording.resources.events:
            yield from path_findings(recording, certain_only=certain_only)
        return
    reader, missing = AccessReader(recording), MissingBarriers(recording)
    previous: _LayerFootprint | None = None
    for layer in recording.layers:
        spans = missing.spans(((index, reader.of(index)) for index in layer), certain_only=certain_only)
        if not certain_only:
            footprint = _LayerFootprint(spans)
            if previous is not None and not previous.conflicts(footprint):
                yield IdleBarrier(layer[0], f"the barrier before {recording.where(layer[0])} orders nothing")
            previous = footprint
        missing.look_at(spans)
    yield from missing.findings()


class _LayerFootprint:
    """What a layer touches and what it writes, as merged intervals per buffer or slot."""

    def __init__(self, spans: Spans) -> None:
        self.touched = {memory: _union(group) for memory, group in spans.items()}
        self.written = {
            memory: _union([span for span in group if span.writes])
            for memory, group in spans.items()
            if any(span.writes for span in group)
        }

    def conflicts(self, later: _LayerFootprint) -> bool:
        """Whether the layers share bytes that one of them writes; slots may hold any memory, their own or another's."""
        return _share(self.written, later.touched) or _share(self.touched, later.written)


def _union(spans: Sequence[Span]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], span.end))
        else:
            merged.append((span.start, span.end))
    return merged


_Footprint = dict[Memory, list[tuple[int, int]]]


def _share(one: _Footprint, other: _Footprint) -> bool:
    for memory, intervals in one.items():
        if any(memory != each and (memory.is_slot or each.is_slot) for each in other):
            return True
        if _overlap(intervals, other.get(memory, [])):
            return True
    return False


def _overlap(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
    """Whether any two intervals of two sorted lists of disjoint ones share a byte."""
    tagged = sorted([(start, end, 0) for start, end in one] + [(start, end, 1) for start, end in other])
    return any(end > start and side != next_side for (_, end, side), (start, _, next_side) in pairwise(tagged))
