"""Barriers that some waves of a workgroup reach and others do not.

Hardware counts arrivals and does not look where they come from; a wave that has ended is not waited for. So waves may
meet at different barrier instructions, which is right as long as each passes as many as the others. When waves have
met so and some of them end while others wait at one barrier more, a barrier has been paired with another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.virtual.faults import FaultKind

if TYPE_CHECKING:
    from hipgraph_cb.virtual.faults import DeviceFault
    from hipgraph_cb.virtual.isa.core.state import Bits
    from hipgraph_cb.virtual.isa.execution.placement import Placement

BARRIER_SIZE = 4
Arrivals = dict[int, list[int]]
"""Offset of a barrier instruction -> the waves of a workgroup that wait there."""


@dataclass(frozen=True)
class _Meeting:
    """The first time that waves of a workgroup met at different barriers; `live` had not ended then, bool [waves]."""

    arrivals: Arrivals
    live: Bits


class DivergedBarriers:
    """Looks at each release of a barrier of a chunk; `text_at` gives the instruction at an offset."""

    def __init__(self, placement: Placement, text_at: Callable[[int], str]) -> None:
        self._placement = placement
        self._text_at = text_at
        self._meetings: dict[int, _Meeting] = {}

    def look(self, complete: Bits, parked: Mapping[tuple[int, int], Bits], live: Bits) -> None:
        """The waves in `parked` of the workgroups that are `complete` (bool [groups]) go on now.

        Raises:
            DeviceFault: waves that they have met at another barrier have ended.
        """
        count = self._placement.waves_per_group
        for group in np.flatnonzero(complete).tolist():
            rows = slice(group * count, (group + 1) * count)
            arrivals = arrivals_in(parked, rows)
            meeting = self._meetings.get(group)
            if not arrivals:
                continue
            if meeting is not None:
                ended = np.flatnonzero(meeting.live & ~live[rows, 0]).tolist()
                if ended:
                    raise self._fault(group * count, arrivals, ended, meeting)
            elif len(arrivals) > 1:
                self._meetings[group] = _Meeting(arrivals, live[rows, 0].copy())

    def _fault(self, first_wave: int, arrivals: Arrivals, ended: list[int], meeting: _Meeting) -> DeviceFault:
        placement = self._placement
        description = (
            f"a barrier that not all waves of the workgroup reach: {described(arrivals, placement.entry)}, and "
            f"{_waves(ended)} ended before it; earlier they met at different barriers: "
            f"{described(meeting.arrivals, placement.entry)}"
        )
        offset, waves = next(iter(arrivals.items()))
        wave, text = first_wave + waves[0], self._text_at(offset)
        return placement.fault_at(FaultKind.LAUNCH_FAILURE, description, offset, wave, text)


def arrivals_in(parked: Mapping[tuple[int, int], Bits], rows: slice) -> Arrivals:
    """Where those waves of a workgroup wait whose rows these are; `parked` has the places behind the barriers."""
    arrivals: Arrivals = {}
    for (behind, _), members in sorted(parked.items(), key=lambda item: item[0]):
        waves = np.flatnonzero(members[rows]).tolist()
        if waves:
            arrivals.setdefault(behind - BARRIER_SIZE, []).extend(waves)
    return arrivals


def described(arrivals: Arrivals, entry: int) -> str:
    """Which waves wait where, in words."""
    return ", ".join(
        f"{_waves(sorted(waves))} at the barrier at entry {offset - entry:+#x}" for offset, waves in arrivals.items()
    )


def _waves(numbers: list[int]) -> str:
    return f"wave{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
