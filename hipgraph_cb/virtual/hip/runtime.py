"""The state behind all functions of the virtual libamdhip64."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.executable.target_id import TargetId
from hipgraph_cb.virtual.callbacks import CallError, CallGate
from hipgraph_cb.virtual.hip.allocations import Allocations
from hipgraph_cb.virtual.hip.codes import Code
from hipgraph_cb.virtual.hip.gpus import MODELS, GpuModel
from hipgraph_cb.virtual.hip.handles import HandleTable
from hipgraph_cb.virtual.hip.profile import PROFILES
from hipgraph_cb.virtual.hip.stream import Stream
from hipgraph_cb.virtual.memory import Memory
from hipgraph_cb.virtual.settings import Settings
from hipgraph_cb.virtual.worker import Operation, Worker

HOST_ARENA = 4 << 30
"""Address space for pinned host memory, beside that of the devices."""


class Gpu:
    """One virtual device: its model, its worker and its null stream."""

    def __init__(self, ordinal: int, target: TargetId, model: GpuModel, worker: Worker) -> None:
        self.ordinal = ordinal
        self.target = target
        self.model = model
        self.worker = worker
        self.null_stream = Stream(self, is_null=True)
        self.streams: set[Stream] = {self.null_stream}
        self.launch_block = 0
        self.flags = 0
        self.peers: set[int] = set()


class ThreadState(threading.local):
    """What HIP keeps per thread."""

    def __init__(self) -> None:
        self.device = 0
        self.capture_mode = 0
        self.call_configurations: list[tuple[object, ...]] = []


class HipRuntime:
    """All state of the virtual library; functions of `FUNCTIONS` get it as their first argument."""

    def __init__(self, targets: Sequence[str], settings: Settings, gate: CallGate) -> None:
        self.gate = gate
        self.settings = settings
        self.profile = PROFILES[settings.profile]
        self.thread = ThreadState()
        self.memory = Memory(settings.memory * len(targets) + HOST_ARENA)
        self.gpus = [self._gpu(ordinal, text) for ordinal, text in enumerate(targets)]
        self.allocations = Allocations(self.memory, settings.memory)
        self.streams: HandleTable[Stream] = HandleTable(Code.INVALID_HANDLE)
        self.last_errors: dict[int, int] = {}
        gate.remembered = self.last_errors
        gate.remember = self._remember
        gate.on_interrupted_wait = self._stop_kernels

    def _gpu(self, ordinal: int, text: str) -> Gpu:
        target = TargetId.parse(text)
        model = MODELS.get(target.processor)
        if model is None:
            raise InvalidArgumentError(
                "there is no virtual GPU of this kind", found=repr(text), allowed=", ".join(MODELS)
            )
        if text == model.processor:
            target = TargetId.parse(text + model.features)
        worker = Worker(self.gate, self.settings.seed + ordinal, f"hipgraph_cb-gpu{ordinal}", self._note_failure)
        return Gpu(ordinal, target, model, worker)

    # -- the calling thread ----------------------------------------------------------------------------------------

    @property
    def gpu(self) -> Gpu:
        """The calling thread's current device."""
        return self.gpus[self.thread.device]

    def gpu_at(self, ordinal: int) -> Gpu:
        if not 0 <= ordinal < len(self.gpus):
            raise CallError(Code.INVALID_DEVICE)
        return self.gpus[ordinal]

    def _remember(self, code: int) -> None:
        thread = threading.get_ident()
        if code and code not in self.profile.forgotten_codes:
            self.last_errors[thread] = int(code)
        elif not code and not self.profile.last_error_is_sticky:
            self.last_errors.pop(thread, None)

    # -- faults ----------------------------------------------------------------------------------------------------

    def _note_failure(self, operation: Operation, error: BaseException) -> None:
        text = str(error) if hasattr(error, "hip_code") else f"{type(error).__name__}: {error}"
        self.gate.faults.add(f"{operation.label}: {text}")

    def _stop_kernels(self) -> None:
        for gpu in self.gpus:
            gpu.worker.stop_running("stopped because Ctrl-C ended the wait for it")

    def close(self, seconds: float = 2.0) -> None:
        """At exit: stop the workers and let waiting calls return."""
        for gpu in self.gpus:
            gpu.worker.stop_running("stopped because the process ends")
        self.gate.close(seconds)
        for gpu in self.gpus:
            gpu.worker.join(seconds)
