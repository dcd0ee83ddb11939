"""The state behind all functions of the virtual librccl."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.virtual.callbacks import CallError, CallGate
from hipgraph_cb.virtual.handles import HandleTable
from hipgraph_cb.virtual.rccl.objects.communicator import Clique, Communicator
from hipgraph_cb.virtual.rccl.objects.kernels import CollectiveKernels
from hipgraph_cb.virtual.thread_states import ThreadStates

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu
    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
    from hipgraph_cb.virtual.hip.objects.stream import Stream
    from hipgraph_cb.virtual.rccl.objects.meeting import Call

VERSIONS = {604: 22203, 702: 22707}
"""What ncclGetVersion says, major * 10000 + minor * 100 + patch, by HIP's major * 100 + minor."""


@dataclass
class Group:
    """What a thread has called since ncclGroupStart.

    Attributes:
        depth: groups that are open inside each other.
        calls: what is to be enqueued.
        joining: communicators that have to be ready at the end.
        error: the first call that failed: nothing is enqueued then.
    """

    depth: int = 0
    calls: list[tuple[Communicator, Stream, Call]] = field(default_factory=list)
    joining: list[Communicator] = field(default_factory=list)
    error: CallError | None = None


class RcclRuntime:
    """All state of the virtual library; its functions get it as their first argument.

    Attributes:
        hip: the runtime whose devices and streams it uses.
        cliques: those made from unique ids, by the number in the id.
        numbers: of unique ids.
    """

    def __init__(self, hip: HipRuntime, gate: CallGate) -> None:
        self.hip = hip
        self.gate = gate
        self.kernels = CollectiveKernels(hip.memory)
        self.communicators: HandleTable[Communicator] = HandleTable(Result.INVALID_ARGUMENT, "ncclComm_t")
        self.cliques: dict[int, Clique] = {}
        self.numbers = itertools.count(1)
        self._groups = ThreadStates(Group, lambda group: None, gate.interrupts.in_callback)

    @property
    def group(self) -> Group:
        """The calling thread's own."""
        return self._groups.current()

    @property
    def version(self) -> int:
        """What ncclGetVersion says."""
        return VERSIONS[self.hip.profile.version // 10**5]

    def new_communicator(self, gpu: Gpu) -> Communicator:
        """A communicator without a clique. Raises CallError where the device has no kernels for it."""
        self.kernels.acquire(gpu)
        communicator = Communicator(gpu)
        communicator.handle = self.communicators.add(communicator)
        return communicator

    def forget(self, communicator: Communicator, reason: str) -> None:
        """End its life."""
        communicator.leave(reason)
        self.communicators.pop(communicator.handle)
        self.kernels.release(communicator.gpu)

    def communicator(self, handle: int) -> Communicator:
        """The one behind an ncclComm_t."""
        found = self.communicators.get(handle)
        if found is None:
            raise CallError(Result.INVALID_ARGUMENT, f"{handle:#x} is not an ncclComm_t, or was destroyed")
        return found

    def usable(self, handle: int) -> Communicator:
        """A communicator that takes calls."""
        communicator = self.communicator(handle)
        if communicator.unusable is not None:
            raise CallError(Result.INVALID_USAGE, f"rank {communicator.rank}: {communicator.unusable}")
        if not communicator.is_ready and communicator not in self.group.joining:
            raise CallError(Result.INVALID_USAGE, "not all ranks of the communicator have joined it yet")
        return communicator

    def wait_for_ranks(self, communicators: list[Communicator]) -> None:
        """Wait until all ranks of these have joined; what cannot be waited for is not made."""
        try:
            self.gate.wait(lambda: all(each.is_ready for each in communicators))
        except BaseException:
            self.drop(communicators)
            raise

    def drop(self, communicators: list[Communicator]) -> None:
        """End the life of those whose clique never became complete."""
        for communicator in communicators:
            if not communicator.is_ready:
                if communicator.clique is not None:
                    del communicator.clique.members[communicator.rank]
                self.forget(communicator, "its clique never became complete")
