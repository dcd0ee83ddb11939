"""The operations of one rank that one group fuses, as work of a stream or a node of a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.collectives.launches import (
    WORKGROUP_SIZE,
    RankLaunch,
    launch_of,
    launch_of_pair,
    most_workgroups,
)
from hipgraph_cb.collectives.operations import PAIRED, RECEIVE
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.objects.kernels import KernelLaunch
from hipgraph_cb.virtual.hip.objects.work import SteppedWork

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu
    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
    from hipgraph_cb.virtual.rccl.objects.communicator import Communicator
    from hipgraph_cb.virtual.rccl.objects.kernels import CollectiveKernels
    from hipgraph_cb.virtual.rccl.objects.meeting import Call, Meeting
    from hipgraph_cb.virtual.worker import Operation


@dataclass(frozen=True, eq=False)
class CollectiveWork(SteppedWork):
    """What one rank does in one group."""

    communicator: Communicator
    calls: tuple[Call, ...]
    kernels: CollectiveKernels

    @property
    def label(self) -> str:
        more = f" and {len(self.calls) - 1} more" if len(self.calls) > 1 else ""
        place = f"rank {self.communicator.rank} of {self.communicator.ranks}"
        return f"{self.calls[0].operation}{more}, {place}"

    def begin(self, runtime: HipRuntime, gpu: Gpu) -> Callable[[Operation], bool]:
        return _Participation(self, runtime, gpu).step


class _Participation:
    """One execution: the rank arrives at all its operations, does its part of each when all have arrived, and goes on
    when all parts are done."""

    def __init__(self, work: CollectiveWork, runtime: HipRuntime, gpu: Gpu) -> None:
        self._work = work
        self._communicator = work.communicator
        self._runtime = runtime
        self._gpu = gpu
        self._meetings: list[tuple[Call, Meeting]] | None = None
        self._todo: list[tuple[Call, Meeting]] = []

    def step(self, operation: Operation) -> bool:
        """Do what can be done now; returns whether everything is over."""
        try:
            if operation.stop_reason is not None:
                raise CallError(Code.LAUNCH_FAILURE, operation.stop_reason)
            return self._step(operation)
        except BaseException as error:
            with self._runtime.gate.lock:
                self._fail(error)
            raise

    def _step(self, operation: Operation) -> bool:
        with self._runtime.gate.lock:
            if self._meetings is None and not self._arrive():
                return False
            self._raise_failure()
            entry = next((entry for entry in self._todo if entry[1].is_complete), None)
        if entry is not None:
            self._todo.remove(entry)
            self._do(*entry, operation)
        with self._runtime.gate.lock:
            self._raise_failure()
            is_over = all(meeting.is_over for _, meeting in self._meetings or ())
            if is_over:
                self._communicator.running = None
            return is_over

    def _arrive(self) -> bool:
        communicator = self._communicator
        if communicator.unusable is not None:
            raise CallError(Code.LAUNCH_FAILURE, communicator.unusable)
        if communicator.running is not None or communicator.clique is None:
            return False
        communicator.running = self
        meetings = communicator.clique.meetings
        self._meetings = [(call, meetings.arrive(communicator.rank, call)) for call in self._work.calls]
        self._todo = list(self._meetings)
        self._wake_others()
        return True

    def _do(self, call: Call, meeting: Meeting, operation: Operation) -> None:
        lock, memory = self._runtime.gate.lock, self._runtime.memory
        with lock:
            meeting.active += 1
        try:
            launch = self._launch(call)
            if launch is not None:
                self._run(launch, meeting, operation)
            with lock:
                meeting.ended += 1
        finally:
            with lock:
                meeting.active -= 1
                meeting.release(memory)
                if meeting.is_over:
                    self._wake_others()

    def _run(self, launch: RankLaunch, meeting: Meeting, operation: Operation) -> None:
        with self._runtime.gate.lock:
            arguments = launch.arguments(meeting.table(self._runtime.memory))
        function = self._work.kernels.function(self._communicator.gpu, launch.kernel)
        grid, block = (launch.workgroups, 1, 1), (WORKGROUP_SIZE, 1, 1)
        KernelLaunch(function, 0, grid, block, 0, arguments).run(self._runtime, self._gpu, operation)

    def _launch(self, call: Call) -> RankLaunch | None:
        communicator, operation = self._communicator, call.operation
        most = most_workgroups(communicator.gpu.model.compute_units)
        if operation.kind in PAIRED:
            return launch_of_pair(operation.block, most) if operation.kind == RECEIVE else None
        return launch_of(operation, communicator.rank, communicator.ranks, most)

    def _raise_failure(self) -> None:
        for _, meeting in self._meetings or ():
            if meeting.failure is not None:
                raise CallError(Code.LAUNCH_FAILURE, meeting.failure)
        if self._communicator.unusable is not None:
            raise CallError(Code.LAUNCH_FAILURE, self._communicator.unusable)

    def _fail(self, error: BaseException) -> None:
        """What this rank could not do, the others cannot do either."""
        communicator = self._communicator
        communicator.result = Result.REMOTE_ERROR if isinstance(error, CallError) else Result.UNHANDLED_HIP_ERROR
        for _, meeting in self._meetings or ():
            if meeting.failure is not None:
                communicator.result = meeting.result
            meeting.fail(f"rank {communicator.rank} has failed", Result.REMOTE_ERROR)
            meeting.release(self._runtime.memory)
        if communicator.running is self:
            communicator.running = None
        self._wake_others()

    def _wake_others(self) -> None:
        clique = self._communicator.clique
        for member in () if clique is None else clique.members.values():
            member.gpu.worker.watch()
