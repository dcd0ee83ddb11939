"""Dependencies from accesses instead of barriers: who waits for whom, so that every byte is as if all ran in order.

The accesses are those of `hazards`: an unknown one counts as read and written, so an inferred order is safe as long as
kernels stay within the ranges they are given and memory they reach by other ways (pointers in memory, variables of the
code object) is declared with `reads=` and `writes=`. Every slot counts as memory of its own; a replay refuses bindings
for which that is not so (`bindings.check_slots_apart`).
"""

from __future__ import annotations

from bisect import bisect_left

from hipgraph_cb.errors import InvalidArgumentError, UnimplementedError
from hipgraph_cb.recording.accesses import AccessReader, end_of
from hipgraph_cb.recording.commands import Access, Location, SlotRange
from hipgraph_cb.recording.dependencies import Dependencies
from hipgraph_cb.recording.order import dependencies_of
from hipgraph_cb.recording.recording import Recording

MOST_PARTIES = 64
"""From so many on, who waits for many makes others wait for itself instead of for each of them.

A thousand reads of a buffer that was written in a thousand pieces would be a million edges. So a read of more pieces
counts as a write, and an access of a part of a piece with more readers as one of the whole piece. It costs some
freedom among commands that share memory: two such reads run one after the other.
"""


def infer(recording: Recording) -> Dependencies:
    """For each command the earlier commands it must wait for, ascending; what is implied by waiting may be left out.

    Barriers that were recorded hold as well, for they may order what no access shows.
    """
    reader = AccessReader(recording)
    memories: Memories = {}

    def conflicts_of(index: int, is_behind_barrier: bool) -> set[int]:
        if is_behind_barrier:
            memories.clear()
        return enter(memories, index, reader.of(index), MOST_PARTIES)

    return dependencies_of(recording, conflicts_of)


def is_inferred(dependencies: str) -> bool:
    if not isinstance(dependencies, str) or dependencies not in ("barriers", "inferred"):
        raise InvalidArgumentError(
            "dependencies is no policy", found=repr(dependencies), allowed="'barriers', 'inferred'"
        )
    return dependencies == "inferred"


def inferred(recording: Recording) -> Recording:
    """The recording with inferred dependencies."""
    _check_inferable(recording)
    return with_dependencies(recording, infer(recording))


def ordered_by_events(recording: Recording) -> Recording:
    """A recording with events, with the dependencies that they and the barriers make."""
    return with_dependencies(recording, dependencies_of(recording, None))


def with_dependencies(recording: Recording, dependencies: Dependencies) -> Recording:
    """The recording with dependencies of its commands' own instead of layers."""
    return Recording(
        recording.table,
        layer_starts=range(len(recording)),
        resources=recording.resources,
        binding_capacity=recording.binding_capacity,
        label=recording.label,
        groups=recording.groups,
        dependencies=dependencies,
    )


def enter(memories: Memories, index: int, accesses: list[Access], most: int | None = None) -> set[int]:
    """Enter a command into the histories; returns whom it must wait for.

    Args:
        most: from how many parties on the histories are simplified (see `MOST_PARTIES`); None keeps them exact.
    """
    waits: set[int] = set()
    spans = []
    for place, _reads, writes, _known in accesses:
        memory = memories.setdefault(_key(place), _Memory())
        span = place.offset, end_of(place), writes
        spans.append((memory, *(span if most is None else memory.simplified(*span, most))))
    for memory, start, end, writes in spans:
        memory.collect(start, end, writes, waits)
    for memory, start, end, writes in spans:
        memory.mark(start, end, index, writes)
    return waits


def _key(place: Location) -> tuple[bool, int]:
    return isinstance(place, SlotRange), place[0]


class _Segment:
    """Bytes up to `end` with one history: who wrote them last, and who has read them since."""

    __slots__ = ("end", "readers", "writer")

    def __init__(self, end: int, writer: int | None, readers: list[int]) -> None:
        self.end = end
        self.writer = writer
        self.readers = readers


class _Memory:
    """The history of one buffer, in segments ordered by their start; bytes outside of all were never touched."""

    __slots__ = ("_segments", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._segments: list[_Segment] = []

    def simplified(self, start: int, end: int, writes: bool, most: int) -> tuple[int, int, bool]:
        """The access that this one counts as where more than `most` parties would have to be named."""
        touched = self._touched(start, end)
        if touched:
            first, last = self._segments[touched[0]], self._segments[touched[-1]]
            if len(first.readers) > most:
                start = min(start, self._starts[touched[0]])
            if len(last.readers) > most:
                end = max(end, last.end)
        return start, end, writes or len(touched) > most

    def collect(self, start: int, end: int, writes: bool, waits: set[int]) -> None:
        """Add to `waits` whom an access of these bytes must wait for.

        Readers have waited for the writer themselves, so who waits for them need not name it.
        """
        for position in self._touched(start, end):
            segment = self._segments[position]
            if writes and segment.readers:
                waits.update(segment.readers)
            elif segment.writer is not None:
                waits.add(segment.writer)

    def mark(self, start: int, end: int, command: int, writes: bool) -> None:
        """Enter an access into the history."""
        self._cut(start)
        self._cut(end)
        touched = self._touched(start, end)
        if writes:
            self._replace(touched, [(start, _Segment(end, command, []))])
            return
        pieces: list[tuple[int, _Segment]] = []
        for position in touched:
            piece_start, segment = self._starts[position], self._segments[position]
            if piece_start > start:
                pieces.append((start, _Segment(piece_start, None, [command])))
            if not segment.readers or segment.readers[-1] != command:
                segment.readers.append(command)
            pieces.append((piece_start, segment))
            start = segment.end
        if start < end:
            pieces.append((start, _Segment(end, None, [command])))
        self._replace(touched, pieces)

    def _touched(self, start: int, end: int) -> range:
        """The positions of the segments that share bytes with [start, end)."""
        first = bisect_left(self._starts, start)
        if first and self._segments[first - 1].end > start:
            first -= 1
        return range(first, max(first, bisect_left(self._starts, end)))

    def _cut(self, at: int) -> None:
        """Let a segment begin at this byte, if one covers it."""
        position = bisect_left(self._starts, at)
        if position and self._segments[position - 1].end > at:
            whole = self._segments[position - 1]
            self._starts.insert(position, at)
            self._segments.insert(position, _Segment(whole.end, whole.writer, list(whole.readers)))
            whole.end = at

    def _replace(self, touched: range, pieces: list[tuple[int, _Segment]]) -> None:
        self._starts[touched.start : touched.stop] = [start for start, _ in pieces]
        self._segments[touched.start : touched.stop] = [segment for _, segment in pieces]


Memories = dict[tuple[bool, int], _Memory]
"""The histories of buffers and slots, by `(whether it is a slot, its number)`."""


def _check_inferable(recording: Recording) -> None:
    if recording.slots and recording.resources.events:
        raise UnimplementedError(
            "end: dependencies cannot be inferred where slots and events come together",
            where="a recording" if recording.label is None else f"recording {recording.label!r}",
            found=f"{len(recording.slots)} slots, {len(recording.resources.events)} events",
            next_step="use barriers, or record direct buffers",
        )
