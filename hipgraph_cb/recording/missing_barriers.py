"""Conflicts of commands that nothing orders, gathered to one finding for each kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.commands import Access, Location, Range, SlotRange, type_of
from hipgraph_cb.recording.memory import Memory, end_of, memory_of
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


MOST_KERNELS = 32
"""Findings tell kernels apart while a recording has this many: beyond, they would be as many as pairs of kernels."""


Spans = dict[Memory, list[Span]]


class MissingBarriers:
    """Conflicts as they are found, kept as one finding for each buffer or slot and pair of kinds."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._kinds = _kinds(recording)
        self._found: dict[tuple[Memory, tuple[Class, Class]], Overlap] = {}

    def spans(self, commands: Iterable[tuple[int, list[Access]]], *, certain_only: bool = False) -> Spans:
        """What commands touch, by buffer or slot."""
        spans: Spans = defaultdict(list)
        for index, accesses in commands:
            for place, reads, writes, known in accesses:
                end = end_of(place)
                if end > place.offset and (known or not certain_only):
                    memory = memory_of(place)
                    spans[memory].append(Span(place.offset, end, index, self._kinds[index], reads, writes, known))
        return spans

    def look_at(self, spans: Spans) -> None:
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


def _missing(recording: Recording, memory: Memory, overlap: Overlap) -> MissingBarrier:
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
