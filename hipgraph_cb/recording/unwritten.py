"""Reads of transient memory that no command has written before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipgraph_cb.recording.accesses import AccessReader
from hipgraph_cb.recording.commands.places import Range
from hipgraph_cb.recording.memory import end_of
from hipgraph_cb.recording.resources import TRANSIENT

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


@dataclass(frozen=True)
class UnwrittenRead:
    """A command that reads bytes of a transient buffer which no command recorded before it writes.

    There is one for each buffer, with the first such command. Where it is not known whether a kernel reads or writes,
    it is taken to write.

    Attributes:
        command: its index.
        place: the bytes that it reads.
        text: the finding in one line.
    """

    command: int
    place: Range
    text: str

    @property
    def position(self) -> tuple[int, int]:
        """Where the finding is in a list: at the command."""
        return self.command, -1

    def __str__(self) -> str:
        return self.text


def unwritten_reads(recording: Recording) -> Iterator[UnwrittenRead]:
    """In the order of the commands."""
    transient = {id for id, entry in recording.resources.buffers.items() if entry.memory == TRANSIENT}
    reader = AccessReader(recording)
    written: dict[int, list[tuple[int, int]]] = {id: [] for id in transient}
    for index in range(len(recording)) if transient else ():
        for place, reads, writes, known in reader.of(index):
            if not isinstance(place, Range) or place.resource not in transient:
                continue
            ranges = written[place.resource]
            if reads and known and not _is_covered(ranges, place.offset, end_of(place)):
                transient.discard(place.resource)
                yield UnwrittenRead(index, place, _text(recording, index, place))
            elif writes:
                written[place.resource] = _with(ranges, place.offset, end_of(place))


def _text(recording: Recording, index: int, place: Range) -> str:
    return f"{recording.where(index)} reads {recording.describe_place(place)}, which no command before it writes"


def _is_covered(ranges: list[tuple[int, int]], start: int, end: int) -> bool:
    return start == end or any(first <= start and end <= last for first, last in ranges)


def _with(ranges: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Disjoint ranges in order, with one more."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted([*ranges, (start, end)]):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged
