"""Where ranks meet on HSA: signals and a table of addresses for each operation, from the first replay that has it.

Of one operation each rank's queue counts `arrived` down and waits until all have. Then each rank's kernel does its
part, in the memory of all; each queue counts `done` down and waits again.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hipgraph_cb.collectives.operations import PAIRED, SEND, Collective
from hipgraph_cb.errors import FailedPreconditionError
from hipgraph_cb.hsa.event import new_signal

if TYPE_CHECKING:
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.hsa.api import HsaApi
    from hipgraph_cb.hsa.memory import HostMemory


class Call(NamedTuple):
    """What a replay asks for: the operation, and the device addresses of its two ends."""

    operation: Collective
    source: int
    target: int


class Meeting:
    """One operation of several ranks.

    Attributes:
        arrived, done: signals that count down from the number of ranks.
        table: where each rank sends from, and behind it where each receives to; of a pair one address each.
        calls: who has come to it, and with which call.
    """

    def __init__(self, api: HsaApi, size: int, table: HostMemory, where: str) -> None:
        self.size = size
        self.table = table
        self.arrived = new_signal(api, where, size)
        self.done = new_signal(api, where, size)
        self.calls: dict[int, Call] = {}

    @property
    def handles(self) -> list[Handle]:
        """What must stay until every rank is done."""
        return [self.arrived, self.done, self.table.handle]

    def enter(self, place: int, rank: int, call: Call, where: str) -> None:
        """A rank comes to it, as number `place`. Raises FailedPreconditionError where it wants another operation."""
        for other in self.calls.values():
            mine, theirs = call.operation, other.operation
            is_pair = mine.kind in PAIRED
            is_same = (mine.type, mine.elements) == (theirs.type, theirs.elements) if is_pair else mine == theirs
            if not is_same:
                raise FailedPreconditionError(
                    "replay: the ranks of a channel do not agree",
                    where=where,
                    found=f"rank {rank} comes to {mine}, and another rank has come to {theirs}",
                    next_step="replay the same operations on every rank, in the same order",
                )
        self.calls[place] = call
        rows = self.table.bytes.view(np.uint64)
        if call.operation.kind in PAIRED:
            rows[place] = call.source or call.target
        else:
            rows[place], rows[self.size + place] = call.source, call.target


class Clique:
    """The ranks of one channel, and the operations that not all of them have come to.

    Args:
        size: how many ranks it has.
        allocate: gives memory of the host that all of them may read.
    """

    def __init__(self, api: HsaApi, size: int, allocate: Callable[[str, int], HostMemory]) -> None:
        self._api = api
        self._size = size
        self._allocate = allocate
        self._lock = threading.Lock()
        self._counts: Counter[Hashable] = Counter()
        self._open: dict[Hashable, Meeting] = {}

    def join(self, rank: int, call: Call, where: str) -> Meeting:
        """The meeting for the next operation of a rank.

        Raises:
            FailedPreconditionError: another rank has come with another operation.
            HsaError: there is no signal or memory for it.
        """
        number, place, size = self._number(rank, call.operation)
        with self._lock:
            key = (number, self._counts[number, place])
            meeting = self._open.get(key)
            if meeting is None:
                meeting = Meeting(self._api, size, self._allocate(where, 16 * size), where)
            meeting.enter(place, rank, call, where)
            self._counts[number, place] += 1
            if len(meeting.calls) == size:
                self._open.pop(key, None)
            else:
                self._open[key] = meeting
            return meeting

    def withdraw(self, rank: int, meeting: Meeting, call: Call) -> None:
        """Take back the last `join` of a rank, for nothing was enqueued."""
        number, place, _ = self._number(rank, call.operation)
        with self._lock:
            self._counts[number, place] -= 1
            key = (number, self._counts[number, place])
            del meeting.calls[place]
            self._open[key] = meeting
            if not meeting.calls:
                del self._open[key]

    def _number(self, rank: int, operation: Collective) -> tuple[Hashable, int, int]:
        """Among which operations it is counted, its rank's place in the table, and how many ranks it has."""
        if operation.kind not in PAIRED:
            return None, rank, self._size
        pair = (rank, operation.root) if operation.kind == SEND else (operation.root, rank)
        return pair, int(operation.kind != SEND), 2
