"""The HIP backend's device."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import STREAM_NON_BLOCKING
from hipgraph_cb.backend.absence import watch
from hipgraph_cb.backend.device import BackendDevice
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.backend.stream import QueueStream
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.errors import HipError, InvalidArgumentError, NotFoundError
from hipgraph_cb.foreign.memory import LEGACY_STREAM, PER_THREAD_STREAM
from hipgraph_cb.foreign.streams import stream_address
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.buffer import HipBuffer, HipHostBuffer, ImportedBuffer, new_buffer, new_host_buffer
from hipgraph_cb.hip.event import HipEvent
from hipgraph_cb.hip.executable import HipExecutable
from hipgraph_cb.hip.fills import FillKernel
from hipgraph_cb.hip.join_measurements import remembered
from hipgraph_cb.hip.joins import JoinKernel, auto_join
from hipgraph_cb.hip.limits import limits_from_properties
from hipgraph_cb.hip.queue import Queue
from hipgraph_cb.hip.row_kernels import RowKernels

if TYPE_CHECKING:
    from hipgraph_cb.code_object.verify import VerifiedExecutable
    from hipgraph_cb.foreign.memory import ForeignMemory
    from hipgraph_cb.hip.channel import HipRank
    from hipgraph_cb.hip.program import HipProgram
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.options import ProgramOptions


class HipDevice(BackendDevice):
    """GPU number `ordinal` of the HIP runtime.

    Args:
        ordinal: as HIP counts.
        is_virtual: what `open_device` knows about the library behind the C ABI.
        fault_report: gives the text of the last fault, where the library behind the C ABI can tell.

    Raises:
        NotFoundError: HIP has no such device.
        UnavailableError: hip-python or the HIP library is missing.
    """

    backend = "hip"
    api: HipApi

    def __init__(
        self, ordinal: int = 0, *, is_virtual: bool = False, fault_report: Callable[[], str | None] | None = None
    ) -> None:
        super().__init__(ordinal, is_virtual)
        self.api = HipApi(ordinal, self.address_map.explained(fault_report))
        self._foreign: dict[int, Queue] = {}
        self._foreign_lock = threading.RLock()
        self._check_ordinal()
        properties = self.api.call("hipGetDeviceProperties", ordinal)
        self.name = _text(properties.name)
        self.target = TargetId.parse(_text(properties.gcnArchName))
        self.limits = limits_from_properties(properties)
        self.auto_join = remembered(self.api, self.name) or auto_join(self.api)
        self.join_kernel = JoinKernel(self.api, self.target, self.limits)
        self.fill_kernel = FillKernel(self.api, self.target, int(properties.multiProcessorCount))
        self.row_kernels = RowKernels(self.api, self.target, int(properties.multiProcessorCount))
        self.compute_units = int(properties.multiProcessorCount)
        self._queue = self._new_queue("the device's own stream")
        watch(self)

    def fault_report(self) -> str | None:
        return None if self.api.fault_report is None else self.api.fault_report()

    def queue_of(self, stream: Any) -> Queue:
        """The queue behind whatever `replay(stream=...)` takes."""
        if stream is None:
            return self._queue
        if isinstance(stream, QueueStream):
            queue: Queue = self._queue_of_stream(stream)
            return queue
        return self._foreign_queue(stream)

    def _allocate(self, size: int, label: str | None) -> HipBuffer:
        return self._adopt(new_buffer(self, size, label))

    def _host_buffer(self, size: int, label: str | None) -> HipHostBuffer:
        return self._adopt(new_host_buffer(self, size, label))

    def _import_stream(self) -> int:
        return int(self._queue.native)

    def _import(self, memory: ForeignMemory, label: str | None) -> HipBuffer:
        """Work of the producer is waited for: on the stream that it names, or on ours, to which DLPack ordered it."""
        buffer = ImportedBuffer.of(self, memory, label)
        if memory.stream is None:
            native, name = self._queue.native, "the device's own stream"
        elif memory.stream == LEGACY_STREAM:
            native, name = 0, "the legacy default stream"
        elif memory.stream == PER_THREAD_STREAM:
            native, name = PER_THREAD_STREAM, "the default stream of this thread"
        else:
            native, name = memory.stream, f"the stream at {memory.stream:#x}"
        if memory.stream is not None or memory.device is not None:
            queue = Queue(self.api, native, name)
            queue.enqueued, queue.last_work = 1, f"what {memory.name} is made by"
            queue.wait(self.timeout)
        return self._adopt(buffer)

    def _load(self, verified: VerifiedExecutable, label: str | None) -> HipExecutable:
        return self._adopt(HipExecutable(self, verified, label))

    def _program(
        self, recording: Recording, resources: Mapping[int | str, Any] | None, options: ProgramOptions
    ) -> HipProgram:
        from hipgraph_cb.hip.program import HipProgram  # what it needs of numpy is loaded with the first program

        self.backlog.sweep()
        return self._adopt(HipProgram(self, recording, resources, options))

    def _reach(self, other: HipDevice) -> bool:
        """Access stays on when the group is closed: the process may have other users of it, and HIP counts none."""
        self.api.make_current()
        if not self.api.call("hipDeviceCanAccessPeer", self.ordinal, other.ordinal):
            return False
        try:
            self.api.call("hipDeviceEnablePeerAccess", other.ordinal, 0)
        except HipError as error:
            if error.code != Code.PEER_ACCESS_ALREADY_ENABLED:
                raise
            self.api.function("hipGetLastError")()  # else the error is found by whoever asks next
        return True

    def _connect(self, devices: Sequence[HipDevice], label: str | None) -> Sequence[HipRank]:
        from hipgraph_cb.hip.channel import connect  # loaded when first used, as RCCL is

        return connect(devices, label)

    def _release(self) -> None:
        super()._release()
        self.join_kernel.release()
        self.fill_kernel.release()
        self.row_kernels.release()

    def _event(self, label: str | None) -> HipEvent:
        return self._adopt(HipEvent(self, label))

    def _stream(self, label: str | None) -> QueueStream:
        self.backlog.sweep()
        queue = self._new_queue("a stream" if label is None else f"stream `{label}`")
        return self._adopt(QueueStream(self, queue, label))

    def _new_queue(self, name: str) -> Queue:
        self.api.make_current()
        native = self.api.call("hipStreamCreateWithFlags", STREAM_NON_BLOCKING)
        return self._add_queue(Queue(self.api, native, name, Handle(self.api, native, "hipStreamDestroy")))

    def enter_queue(self, stream: Any) -> Queue:
        with self._foreign_lock:  # a queue that is not in use may be forgotten
            queue: Queue = super().enter_queue(stream)
            return queue

    def _foreign_queue(self, stream: Any) -> Queue:
        try:
            address = stream_address(stream)
        except (TypeError, ValueError):
            raise InvalidArgumentError(
                "replay: not a stream",
                found=type(stream).__name__,
                allowed="a stream of this device, of hip-python, PyTorch or CuPy, or the address of one",
            ) from None
        if address == PER_THREAD_STREAM:
            raise InvalidArgumentError(
                "replay: stream 2 is another stream in every thread",
                found="the per-thread default stream",
                allowed="a stream that all threads call the same",
                next_step="make one with device.stream()",
            )
        if address == LEGACY_STREAM:
            address = 0
        queue = self._foreign.get(address)
        if queue is None:
            self._forget_idle_foreign_queues()
            queue = self._foreign[address] = self._add_queue(
                Queue(self.api, address, f"the stream at {address:#x}" if address else "the null stream", owner=stream)
            )
        return queue

    def _forget_idle_foreign_queues(self) -> None:
        for address, queue in list(self._foreign.items()):
            if not (queue.busy or queue.failed or queue.calls):
                del self._foreign[address]
                self.queues.remove(queue)

    def _check_ordinal(self) -> None:
        count = self.api.call("hipGetDeviceCount")
        if self.ordinal >= count:
            raise NotFoundError(
                "open_device: no such device",
                found=f"device {self.ordinal}",
                allowed=f"0 to {count - 1}" if count else "none: HIP sees no device",
            )
        self.api.device_count = self.device_count = count


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
