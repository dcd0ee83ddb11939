"""Who reads and writes what: barriers that are missing, and barriers that order nothing.

Where it is not known what a kernel does to memory, every finding that rests on it is only possible (`accesses`). A
kernel is taken to stay within the ranges that it is given. Different slots are taken to hold
different memory, since only the binding table knows better.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.recording.accesses import AccessReader, end_of
from hipgraph_cb.recording.commands import Access, Location, Range, SlotRange, type_of
from hipgraph_cb.recording.overlaps import Class, Overlap, Span, overlaps
from hipgraph_cb.recording.validation import LARGEST

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


class HazardKind(Enum):
    """What the later command does to what the earlier one did."""

    READ_AFTER_WRITE = "reads what is written"
    WRITE_AFTER_READ = "writes what is read"
    WRITE_AFTER_WRITE = "writes what is written"


@dataclass(frozen=True)
class MissingBarrier:
    """Commands that touch the same bytes, one of them writing, with nothing that orders them.

    There is one for each buffer or slot and each two kinds of commands that meet there, with the first such pair.

    Attributes:
        first, second: the indices of the pair, in the order of the calls.
        place: the bytes they share.
        kind: what the second does to what the first does.
        certain: False where it rests on an access that is not known.
        text: the finding in one line, with labels and names.
        count: pairs of accesses like this one, itself included.
    """

    first: int
    second: int
    place: Location
    kind: HazardKind
    certain: bool
    text: str
    count: int = 1

    @property
    def position(self) -> tuple[int, int]:
        """Where the finding stands in a list."""
        return self.second, self.first

    def __str__(self) -> str:
        return self.text


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


Finding = MissingBarrier | IdleBarrier

MOST_KERNELS = 32
"""Findings tell kernels apart while a recording has this many: beyond, they would be as many as pairs of kernels."""


def findings(recording: Recording, *, certain_only: bool = False) -> Iterator[Finding]:
    """The barriers that order nothing, then the missing ones.

    Args:
        certain_only: leave out what rests on unknown accesses, and idle barriers.

    Dependencies that were inferred from the same accesses leave nothing to find. With events every pair is judged by
    the paths between the two commands, and barriers are not judged.
    """
    if recording.dependencies is not None:
        if recording.resources.events:
            from hipgraph_cb.recording.path_hazards import path_findings

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


class _Memory(NamedTuple):
    """A buffer or a slot."""

    is_slot: bool
    number: int


_Spans = dict[_Memory, list[Span]]


class MissingBarriers:
    """Conflicts as they are found, kept as one finding for each buffer or slot and pair of kinds."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._kinds = _kinds(recording)
        self._found: dict[tuple[_Memory, tuple[Class, Class]], Overlap] = {}

    def spans(self, commands: Iterable[tuple[int, list[Access]]], *, certain_only: bool = False) -> _Spans:
        """What commands touch, by buffer or slot."""
        spans: _Spans = defaultdict(list)
        for index, accesses in commands:
            for place, reads, writes, known in accesses:
                end = end_of(place)
                if end > place.offset and (known or not certain_only):
                    memory = _Memory(isinstance(place, SlotRange), place[0])
                    spans[memory].append(Span(place.offset, end, index, self._kinds[index], reads, writes, known))
        return spans

    def look_at(self, spans: _Spans) -> None:
        """Note all conflicts among commands that nothing orders."""
        for memory, group in spans.items():
            for overlap in overlaps(group):
                key = memory, overlap.classes
                self._found[key] = overlap.joined(self._found.get(key))

    def findings(self) -> list[MissingBarrier]:
        """One for each kind of conflict, in the order of their first pairs."""
        found = [_missing(self._recording, memory, overlap) for (memory, _), overlap in self._found.items()]
        return sorted(found, key=lambda finding: finding.position)


def _kinds(recording: Recording) -> list[str]:
    """What to call each command: its kernel, or the call that records it."""
    commands: list[Any] = list(recording)
    exports = {command.export for command in commands if type_of(command).launches_kernel}
    by_name = len(exports) <= MOST_KERNELS
    return [
        f"kernel {command.export}" if by_name and type_of(command).launches_kernel else type_of(command).verb
        for command in commands
    ]


def _missing(recording: Recording, memory: _Memory, overlap: Overlap) -> MissingBarrier:
    first, second, pairs = overlap
    start, end = max(first.start, second.start), min(first.end, second.end)
    place: Location
    if memory.is_slot:
        place = SlotRange(memory.number, start, None if end == LARGEST else end - start)
        name = f"slot {memory.number}"
    else:
        place = Range(memory.number, start, end - start)
        name = recording.resources.buffers[memory.number].name
    kind = _kind(first, second)
    text = (
        f"{recording.where(second.command)} {_verb(second, kind is not HazardKind.READ_AFTER_WRITE)} "
        f"{recording.describe_place(place)}, which {recording.where(first.command)} "
        f"{_verb(first, kind is not HazardKind.WRITE_AFTER_READ)}: no barrier between them"
    )
    if pairs > 1:
        text += f", nor for {pairs - 1} more of {first.kind} and {second.kind} on {name}"
    return MissingBarrier(first.command, second.command, place, kind, first.known and second.known, text, pairs)


def _verb(span: Span, writes: bool) -> str:
    verb = "write" if writes else "read"
    return f"{verb}s" if span.known else f"may {verb}"


def _kind(first: Span, second: Span) -> HazardKind:
    if first.writes:
        return HazardKind.READ_AFTER_WRITE if second.reads else HazardKind.WRITE_AFTER_WRITE
    return HazardKind.WRITE_AFTER_READ


class _LayerFootprint:
    """What a layer touches and what it writes, as merged intervals per buffer or slot."""

    def __init__(self, spans: _Spans) -> None:
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


_Footprint = dict[_Memory, list[tuple[int, int]]]


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
