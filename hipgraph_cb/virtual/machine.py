"""The virtual GPUs of this process: one memory and one worker each, shared by both libraries."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.code_object.target_id import FeatureState, TargetId
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual.callbacks import CallError, SharedCalls
from hipgraph_cb.virtual.fault_log import FaultLog
from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.interrupts import Interrupts
from hipgraph_cb.virtual.memory import Memory, MemoryFault
from hipgraph_cb.virtual.models import MODELS, GpuModel
from hipgraph_cb.virtual.settings import Settings
from hipgraph_cb.virtual.worker import Failure, Operation, Worker

LAST_MOMENT = 0.25
"""Seconds that work may take when the process ends."""
HOST_ARENA = 4 << 30
"""Address space for pinned host memory, beside that of the devices."""
RESERVABLE = 16
"""Address space that may be reserved, in times the memory of the devices."""


@dataclass(frozen=True)
class VirtualGpu:
    """One device: what it is, and the thread that runs its work."""

    ordinal: int
    target: TargetId
    model: GpuModel
    worker: Worker


class Machine:
    """All virtual GPUs of the process.

    Attributes:
        targets: the processors by ordinal, as they were requested.
        memory: one arena for all devices and for pinned host memory, so every device can reach every range.
        calls: what the calls of both libraries share.
        on_fault: called on the worker, with the lock, when a kernel or copy has faulted.
        show: called with the text of each kernel or copy that has failed; None: those that are in no report of an error
            are written to stderr at exit.
        helpers: further threads, each with what it waits on, to be ended at exit.
    """

    def __init__(self, targets: Sequence[str], settings: Settings) -> None:
        self.targets = tuple(targets)
        self.settings = settings
        self.faults = FaultLog()
        self.on_fault: Callable[[Failure], None] = lambda failure: None
        self.show: Callable[[str], None] | None = None
        self.interrupts = Interrupts()
        self.calls = SharedCalls(self.interrupts, self.faults)
        self.calls.on_interrupted_wait = self._stop_kernels
        self.helpers: list[tuple[threading.Thread, threading.Condition]] = []
        models = [gpu_model(text) for text in self.targets]
        of_devices = settings.memory * len(targets)
        self.memory = Memory(of_devices + HOST_ARENA, RESERVABLE * of_devices)
        self.gpus = [
            VirtualGpu(ordinal, target, model, self._worker(ordinal)) for ordinal, (target, model) in enumerate(models)
        ]

    def _worker(self, ordinal: int) -> Worker:
        return Worker(self.calls, self.settings.seed + ordinal, f"hipgraph_cb-gpu{ordinal}", self._failure_of)

    def reseed(self, seed: int) -> None:
        """Start the random generators of all devices again."""
        with self.calls.lock:
            for gpu in self.gpus:
                gpu.worker.random.seed(seed + gpu.ordinal)

    def _failure_of(self, operation: Operation, error: BaseException) -> Failure:
        """What a wait reports about an operation that has failed; the text is in the fault report from now on."""
        if isinstance(error, DeviceFault):
            code, text = int(error.hip_code), error.report()
        elif isinstance(error, MemoryFault):
            code, text = int(FaultKind.ILLEGAL_ADDRESS.hip_code), str(error)
        elif isinstance(error, CallError):
            code, text = error.code, error.note or f"failed with code {error.code}"
        else:
            code, text = Code.UNKNOWN, "".join(traceback.format_exception(error)).rstrip()
        failure = Failure(code, f"{operation.label}: {text}")
        self.faults.add(failure.text)
        was_stopped = isinstance(error, DeviceFault) and error.kind is FaultKind.TIMEOUT
        if self.show is not None:
            self.show(failure.text)
        elif not was_stopped:
            self.faults.keep(failure.text)
        if isinstance(error, (DeviceFault, MemoryFault)) and not was_stopped:
            self._fault_happened(failure)
        return failure

    def _fault_happened(self, failure: Failure) -> None:
        if self.settings.after_fault == "abort":
            sys.stderr.write(f"{failure.text}\naborting after a fault of the virtual GPU (after_fault=abort)\n")
            sys.stderr.flush()
            os.abort()
        self.on_fault(failure)

    def _stop_kernels(self) -> None:
        for gpu in self.gpus:
            gpu.worker.stop_running("stopped because Ctrl-C ended the wait for it")

    def _let_short_work_end(self) -> None:
        """Wait a moment for what is enqueued, so that its faults are reported."""
        deadline = time.monotonic() + LAST_MOMENT
        if not self.calls.lock.acquire(timeout=LAST_MOMENT):
            return
        try:
            while not all(gpu.worker.is_idle for gpu in self.gpus):
                left = deadline - time.monotonic()
                if left <= 0 or not self.calls.changed.wait(left):
                    break
        finally:
            self.calls.lock.release()

    def close(self, seconds: float = 2.0) -> None:
        """At exit: write the faults that are in no report, stop the workers, and let waiting calls return. In a forked
        child there are none."""
        if self.calls.refusal is not None:
            return
        self._let_short_work_end()
        for text in self.faults.unread():
            sys.stderr.write(f"hipgraph_cb: a fault of the virtual GPU that no error has reported:\n{text}\n")
        self.show = lambda text: None  # nobody wants to know what is stopped now
        for gpu in self.gpus:
            gpu.worker.stop_running("stopped because the process ends")
        self.calls.close(seconds)
        for gpu in self.gpus:
            gpu.worker.join(seconds)
        for thread, condition in self.helpers:
            with condition:
                condition.notify_all()
            thread.join(seconds)


def gpu_model(text: str) -> tuple[TargetId, GpuModel]:
    """The target ID, with its features as sold, and the facts of a virtual GPU.

    Raises:
        InvalidArgumentError: there is no such one.
    """
    target = TargetId.parse(text)
    model = MODELS.get(target.processor)
    if model is None:
        raise InvalidArgumentError(
            f"no virtual GPU executes code for {target.processor}", found=repr(text), allowed=", ".join(MODELS)
        )
    return _with_features(target, TargetId.parse(model.processor + model.features)), model


def _with_features(target: TargetId, sold: TargetId) -> TargetId:
    """`target` with the features that it does not state as the device is sold; a device has each on or off."""
    sramecc = sold.sramecc if target.sramecc is FeatureState.ANY else target.sramecc
    xnack = sold.xnack if target.xnack is FeatureState.ANY else target.xnack
    return TargetId(target.processor, sramecc, xnack)
