"""Missing barriers where events order the commands: conflicting pairs with no path between them.

For each command only the last ones that touched its bytes are looked at. That is enough: who is ordered behind those is
ordered behind everybody before them, or that pair is a finding itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from typing import TYPE_CHECKING

from hipgraph_cb.recording.accesses import AccessReader
from hipgraph_cb.recording.commands import Access, ResetEvent
from hipgraph_cb.recording.histories import Histories, enter
from hipgraph_cb.recording.missing_barriers import MissingBarrier, MissingBarriers

if TYPE_CHECKING:
    from hipgraph_cb.recording.dependencies import Dependencies
    from hipgraph_cb.recording.recording import Recording


def path_findings(recording: Recording, *, certain_only: bool) -> list[MissingBarrier]:
    """See `hazards.findings`."""
    reader, missing = AccessReader(recording), MissingBarriers(recording)
    paths = _Paths(recording)
    histories = Histories()
    accesses: list[list[Access]] = []
    for index in range(len(recording)):
        known = reader.of(index)
        accesses.append([access for access in known if access.known] if certain_only else known)
        for conflict in paths.unordered(index, enter(histories, index, accesses[index])):
            missing.look_at(missing.spans([(conflict, accesses[conflict]), (index, accesses[index])]))
    return missing.findings()


def behind(recording: Recording) -> list[int]:
    """For each command a number: it is ordered behind all commands with a lower index."""
    if recording.dependencies is not None:
        return _Paths(recording)._behind
    starts: list[int] = []
    for layer in recording.layers:
        starts += [layer[0]] * len(layer)
    return starts


class _Paths:
    """Who is ordered behind whom.

    Barriers, signals and waits order a command behind all commands up to some point, mostly. That point is kept for
    each command; what is beyond it is found by going back along the dependencies.
    """

    def __init__(self, recording: Recording) -> None:
        self._dependencies: Dependencies = recording.dependencies or ()
        self._resets = {index for index, command in enumerate(recording) if isinstance(command, ResetEvent)}
        self._behind: list[int] = []
        previous: tuple[int, ...] | None = None
        for waits in self._dependencies:
            # All commands behind a barrier share one tuple.
            self._behind.append(self._behind[-1] if waits is previous else self._all_before(waits))
            previous = waits

    def _all_before(self, waits: tuple[int, ...]) -> int:
        """The largest index such that who waits for these waits for every command before it, resets apart."""
        end = max((self._behind[wait] for wait in waits), default=0)
        further = list({id(each): each for each in map(self._dependencies.__getitem__, waits)}.values())
        while _has(waits, end) or end in self._resets or any(_has(each, end) for each in further):
            end += 1
        return end

    def unordered(self, command: int, others: Collection[int]) -> list[int]:
        """Those of earlier commands that this one is not ordered behind, ascending."""
        waits = self._dependencies[command]
        left = [other for other in others if other >= self._behind[command] and not _has(waits, other)]
        if not left:
            return []
        least, behind = min(left), self._behind[command]
        ahead = list(waits[bisect_left(waits, least) :])
        seen = set(ahead)
        while ahead:
            reached = ahead.pop()
            behind = max(behind, self._behind[reached])
            more = [wait for wait in self._dependencies[reached] if wait >= least and wait not in seen]
            seen.update(more)
            ahead += more
        return sorted(other for other in left if other >= behind and other not in seen)


def _has(waits: tuple[int, ...], other: int) -> bool:
    """Whether it is among these, which ascend."""
    at = bisect_left(waits, other)
    return at < len(waits) and waits[at] == other
