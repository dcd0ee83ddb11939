"""Who wrote and who read the bytes of each buffer and slot last, as the commands go by."""

from __future__ import annotations

from bisect import bisect_left

from hipgraph_cb.recording.commands import Access, Location, SlotRange
from hipgraph_cb.recording.memory import end_of


class _Segment:
    """Bytes up to `end` with one history: who wrote them last, and who has read them since."""

    __slots__ = ("end", "readers", "writer")

    def __init__(self, end: int, writer: int | None, readers: list[int]) -> None:
        self.end = end
        self.writer = writer
        self.readers = readers


class History:
    """The history of one buffer or slot, in segments ordered by their start; other bytes were never touched."""

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


class Histories:
    """The histories of all buffers and slots."""

    def __init__(self) -> None:
        self._of_buffers: dict[int, History] = {}
        self._of_slots: dict[int, History] = {}

    def of(self, place: Location) -> History:
        """That of the buffer or slot that a place is in."""
        histories = self._of_slots if isinstance(place, SlotRange) else self._of_buffers
        history = histories.get(place[0])
        if history is None:
            history = histories[place[0]] = History()
        return history

    def clear(self) -> None:
        """Forget all, as behind a barrier."""
        self._of_buffers.clear()
        self._of_slots.clear()


def enter(histories: Histories, index: int, accesses: list[Access], most: int | None = None) -> set[int]:
    """Enter a command into the histories; returns whom it must wait for.

    Args:
        most: from how many parties on histories are simplified (see `inference.MOST_PARTIES`); None keeps them exact.
    """
    waits: set[int] = set()
    spans = []
    for place, _reads, writes, _known in accesses:
        history = histories.of(place)
        span = place.offset, end_of(place), writes
        spans.append((history, *(span if most is None else history.simplified(*span, most))))
    for history, start, end, writes in spans:
        history.collect(start, end, writes, waits)
    for history, start, end, writes in spans:
        history.mark(start, end, index, writes)
    return waits
