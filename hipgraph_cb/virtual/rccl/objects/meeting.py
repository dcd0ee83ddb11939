"""Where ranks meet: one operation, from the first rank's arrival until the last one has done its part."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.collectives.operations import PAIRED, SEND, Collective
from hipgraph_cb.virtual.memory import Memory


class Call(NamedTuple):
    """What a rank asks for: the operation, and the device addresses of its two ends."""

    operation: Collective
    send: int
    receive: int


class Meeting:
    """One operation.

    Attributes:
        size: how many calls belong to it.
        calls: who has arrived, and with which call.
        ended: how many have done their part.
        active: how many do it right now.
        failure: why it cannot take place.
        result: what ncclCommGetAsyncError says then.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.calls: dict[Hashable, tuple[int, Call]] = {}
        self.ended = 0
        self.active = 0
        self.failure: str | None = None
        self.result = Result.SUCCESS
        self._table = 0

    @property
    def is_complete(self) -> bool:
        """Every rank has arrived."""
        return len(self.calls) == self.size

    @property
    def is_over(self) -> bool:
        return self.ended == self.size

    def enter(self, place: Hashable, rank: int, call: Call) -> None:
        """A rank arrives. What does not agree with the calls before fails for all."""
        self.calls[place] = rank, call
        first, earlier = next(iter(self.calls.values()))
        mine, other = call.operation, earlier.operation
        is_same = (mine.type, mine.elements) == (other.type, other.elements) if mine.kind in PAIRED else mine == other
        if not is_same:
            text = f"the ranks do not agree: rank {first} calls {other}, rank {rank} calls {mine}"
            self.fail(text, Result.INVALID_USAGE)

    def fail(self, reason: str, result: Result) -> None:
        """It does not take place; the first reason counts."""
        if self.failure is None:
            self.failure, self.result = reason, result

    def table(self, memory: Memory) -> int:
        """The address of the table: where each rank sends from, and behind it where each receives to."""
        if not self._table:
            calls = [call for _, call in sorted(self.calls.values(), key=_place_in_table)]
            addresses = [call.send for call in calls] + [call.receive for call in calls]
            if calls[0].operation.kind == SEND:
                addresses = [calls[0].send, calls[1].receive]
            self._table = memory.allocate(8 * len(addresses), label="addresses of a collective")
            view = memory.bytes(self._table, 8 * len(addresses))
            view[:] = memoryview(struct.pack(f"<{len(addresses)}Q", *addresses))
        return self._table

    def release(self, memory: Memory) -> None:
        """Give the table back, where nobody uses it any more."""
        if self._table and not self.active and (self.is_over or self.failure is not None):
            memory.free(self._table)
            self._table = 0


def _place_in_table(entry: tuple[int, Call]) -> tuple[bool, int]:
    rank, call = entry
    return call.operation.kind != SEND, rank


class Meetings:
    """The operations of one clique that are under way.

    Args:
        size: how many ranks the clique has.

    Attributes:
        lost: ranks that take part no more, with the reason.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._counts: Counter[Hashable] = Counter()
        self._open: dict[Hashable, Meeting] = {}
        self.lost: dict[int, str] = {}

    def arrive(self, rank: int, call: Call) -> Meeting:
        """The next operation of a rank: the one that the others arrive at with their call of the same number."""
        operation = call.operation
        place: Hashable
        if operation.kind in PAIRED:
            pair = (rank, operation.root) if operation.kind == SEND else (operation.root, rank)
            place, others, size = (operation.kind, *pair), {operation.root}, 2
            key: Hashable = (pair, self._counts[place])
        else:
            place, others, size = rank, {*range(self._size)} - {rank}, self._size
            key = self._counts[place]
        self._counts[place] += 1
        meeting = self._open.setdefault(key, Meeting(size))
        meeting.enter(place, rank, call)
        if meeting.is_complete:
            del self._open[key]
        elif missing := sorted(others & self.lost.keys()):
            meeting.fail(self.lost[missing[0]], Result.REMOTE_ERROR)
        return meeting

    def lose(self, rank: int, reason: str) -> None:
        """A rank takes part no more: what waits for it fails."""
        self.lost[rank] = reason
        for key, meeting in self._open.items():
            pair = key[0] if isinstance(key, tuple) else None
            if (pair is None or rank in pair) and rank not in {each for each, _ in meeting.calls.values()}:
                meeting.fail(reason, Result.REMOTE_ERROR)
