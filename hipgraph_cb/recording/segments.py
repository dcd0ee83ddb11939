"""A recording whose commands run on several devices, cut into segments that one device runs each.

A segment waits at its start for segments of other devices, and whoever needs what it does waits for its end. So within
a segment nothing but the device itself is waited for, and it can be one launch. The segments of a device run in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraph_cb.recording.dependencies import Dependencies

Clock = dict[int, int]
"""By device the number of its last segment that is known to be done."""


@dataclass
class Segment:
    """What one device does without waiting for others.

    Attributes:
        commands: positions, ascending.
        waits: the numbers of segments of other devices, which are done before it starts.
        done: what is known to be done when it starts.
    """

    device: int
    waits: tuple[int, ...] = ()
    done: Clock = field(default_factory=dict)
    commands: list[int] = field(default_factory=list)


def segments_of(devices: Sequence[int], dependencies: Dependencies) -> list[Segment]:
    """The segments in an order in which they can be launched: each waits for earlier ones only.

    Args:
        devices: of each command.
        dependencies: for each command the earlier ones that it waits for; many may share one tuple.
    """
    return _Cutter().cut(devices, dependencies)


class _Cutter:
    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self._of: list[int] = []
        self._open: dict[int, int] = {}  # by device the number of the segment that may go on
        self._last: dict[int, int] = {}  # by device the number of its last one
        self._needed: dict[int, Clock] = {}

    def cut(self, devices: Sequence[int], dependencies: Dependencies) -> list[Segment]:
        for position, (device, waits) in enumerate(zip(devices, dependencies, strict=True)):
            number = self._segment(device, self._clock_of(waits))
            self.segments[number].commands.append(position)
            self._of.append(number)
        return self.segments

    def _clock_of(self, waits: Sequence[int]) -> Clock:
        """By device the last segment with a command among these."""
        known = self._needed.get(id(waits))
        if known is None:
            known = self._needed[id(waits)] = {}
            for wait in waits:
                number = self._of[wait]
                device = self.segments[number].device
                known[device] = max(known.get(device, -1), number)
        return known

    def _segment(self, device: int, needed: Clock) -> int:
        """The segment of a device that a command which needs these can be in."""
        current, last = self._open.get(device), self._last.get(device)
        done = self.segments[last].done if last is not None else {}
        missing = tuple(
            sorted(number for other, number in needed.items() if other != device and number > done.get(other, -1))
        )
        if current is not None and not missing:
            return current
        return self._start(device, missing, done)

    def _start(self, device: int, waits: tuple[int, ...], done: Clock) -> int:
        clock = dict(done)
        for wait in waits:
            other = self.segments[wait]
            if self._open.get(other.device) == wait:  # it ends, so that it can be waited for
                del self._open[other.device]
            for each, number in (*other.done.items(), (other.device, wait)):
                clock[each] = max(clock.get(each, -1), number)
        number = len(self.segments)
        self.segments.append(Segment(device, waits, clock))
        self._open[device] = self._last[device] = number
        return number
