"""Cliques and communicators: the ranks that meet, and what one rank holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.rccl.objects.meeting import Meetings

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu
    from hipgraph_cb.virtual.hip.objects.graph import Node
    from hipgraph_cb.virtual.worker import Operation


class Clique:
    """The ranks that were made from one unique id, or by one split.

    Attributes:
        members: the communicators by rank, of those that have joined.
        splits: for each split that is under way, who has joined it: color, key and new communicator by rank.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.members: dict[int, Communicator] = {}
        self.meetings = Meetings(size)
        self.splits: list[dict[int, tuple[int, int, Communicator]]] = []

    @property
    def is_complete(self) -> bool:
        return len(self.members) == self.size

    def join(self, communicator: Communicator, rank: int) -> None:
        """Give a communicator its rank.

        Raises:
            CallError: the rank is taken, or its device is.
        """
        if rank in self.members:
            raise CallError(Result.INVALID_USAGE, f"there is a rank {rank} already")
        for other in self.members.values():
            if other.gpu is communicator.gpu:
                raise CallError(
                    Result.INVALID_USAGE,
                    f"ranks {other.rank} and {rank} are both on device {other.gpu.ordinal}; each needs its own",
                )
        self.members[rank] = communicator
        communicator.clique, communicator.rank = self, rank


class Communicator:
    """One rank.

    Attributes:
        handle: the ncclComm_t.
        clique, rank: None and -1 before it has joined one.
        is_left_out: a split left it out.
        result: what ncclCommGetAsyncError says of it, once the clique is complete.
        unusable: why it cannot be used any more.
        last: its operation that was enqueued last.
        captured: its node that was captured last.
        running: what takes part in operations now; one after the other does.
        split_count: how many splits it has joined.
    """

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.handle = 0
        self.clique: Clique | None = None
        self.rank = -1
        self.is_left_out = False
        self.result = Result.SUCCESS
        self.unusable: str | None = None
        self.last: Operation | None = None
        self.captured: Node | None = None
        self.running: object = None
        self.split_count = 0

    @property
    def is_ready(self) -> bool:
        """All ranks of its clique have joined."""
        return self.is_left_out or (self.clique is not None and self.clique.is_complete)

    @property
    def ranks(self) -> int:
        return 0 if self.clique is None else self.clique.size

    def leave(self, reason: str) -> None:
        """Take part no more; what others wait for it with fails, and so does what it is asked for later."""
        self.unusable = self.unusable or reason
        if self.clique is not None:
            self.clique.meetings.lose(self.rank, f"rank {self.rank}: {reason}")
