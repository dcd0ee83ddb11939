"""The HSA-direct backend's device."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.backend.absence import watch
from hipgraph_cb.backend.device import BackendDevice
from hipgraph_cb.backend.queue import LONGEST_PAUSE
from hipgraph_cb.backend.stream import QueueStream
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.foreign.memory import NO_ORDER
from hipgraph_cb.hsa.agents import can_access, find_agent
from hipgraph_cb.hsa.api import HsaApi, HsaOutOfMemoryError, Session, fault_listeners
from hipgraph_cb.hsa.blits import BlitKernels
from hipgraph_cb.hsa.channel import HsaRank, connect
from hipgraph_cb.hsa.event import HsaEvent
from hipgraph_cb.hsa.executable import HsaExecutable
from hipgraph_cb.hsa.imported import ImportedHsaBuffer
from hipgraph_cb.hsa.memory import HsaBuffer, HsaHostBuffer, new_buffer, new_host_buffer
from hipgraph_cb.hsa.native_queue import FaultNotice
from hipgraph_cb.hsa.program import HsaProgram
from hipgraph_cb.hsa.queue import HsaQueue
from hipgraph_cb.runtime.device import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.code_object.target_id import TargetId
    from hipgraph_cb.code_object.verify import VerifiedExecutable
    from hipgraph_cb.foreign.memory import ForeignMemory
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.options import ProgramOptions


class HsaDevice(BackendDevice):
    """GPU number `ordinal`, as HSA lists them.

    Args:
        ordinal: among the GPUs.
        is_virtual: what `open_device` knows about the library behind the C ABI.
        fault_report: gives the text of the last fault, where the library behind the C ABI can tell.

    Attributes:
        agent: what HSA says about the GPU.
        blits: our own kernels for fills and copies.
        sharers: agents that get access to each buffer of this device.
        neighbour_agents: those of the other devices in its group.

    Raises:
        NotFoundError: HSA has no such GPU.
        UnavailableError: the HSA library is missing, or there are no fill and copy kernels for this GPU.
    """

    backend = "hsa"
    api: HsaApi

    def __init__(
        self, ordinal: int = 0, *, is_virtual: bool = False, fault_report: Callable[[], str | None] | None = None
    ) -> None:
        super().__init__(ordinal, is_virtual)
        self.api = HsaApi(Session.current(), self.address_map.explained(fault_report))
        self.agent = find_agent(self.api, ordinal)
        self.device_count = self.agent.device_count
        self.sharers: list[int] = []
        self.neighbour_agents: list[int] = []
        self.name = self.agent.name
        self.target = self.agent.target
        self.limits = self.agent.limits
        self.blits = BlitKernels(self.api, self.agent)
        self._notice = FaultNotice.of(self.agent.handle)
        device = weakref.ref(self)  # what waits may outlive the device
        self._patience = lambda: DEFAULT_TIMEOUT if (alive := device()) is None else alive.timeout
        self._queue = self._new_queue("the device's own stream")
        fault_listeners.add(self)
        watch(self)

    @property
    def isas(self) -> frozenset[TargetId]:
        return self.agent.targets

    def fault_report(self) -> str | None:
        return None if self.api.fault_report is None else self.api.fault_report()

    def memory_fault(self, agent: int, address: int) -> None:
        """The runtime says that a GPU accessed memory that it must not."""
        if agent == self.agent.handle:
            self._notice.note(address)

    def queue_of(self, stream: Any) -> HsaQueue:
        """The queue behind whatever `replay(stream=...)` takes."""
        if stream is None:
            return self._queue
        if isinstance(stream, QueueStream):
            queue: HsaQueue = self._queue_of_stream(stream)
            return queue
        raise InvalidArgumentError(
            "replay: not a stream", found=type(stream).__name__, allowed="a stream of this device"
        )

    def held_blits(self) -> Handle:
        """What keeps the kernels for fills and copies alive. Raises FailedPreconditionError once it is closed."""
        handle = self.blits.handle
        if handle is None:
            raise self._closed_error("program")
        return handle

    def _reach(self, other: HsaDevice) -> bool:
        self.neighbour_agents.append(other.agent.handle)
        if not can_access(self.api, self.agent, other.agent.device_pool):
            return False
        other.sharers.append(self.agent.handle)
        return True

    def _connect(self, devices: Sequence[HsaDevice], label: str | None) -> Sequence[HsaRank]:
        return connect(devices, label)

    def _release(self) -> None:
        super()._release()
        self.blits.handle = None  # programs that a call still uses have it too

    def _allocate(self, size: int, label: str | None) -> HsaBuffer:
        return self._adopt(new_buffer(self, size, label))

    def _host_buffer(self, size: int, label: str | None) -> HsaHostBuffer:
        return self._adopt(new_host_buffer(self, size, label))

    def _import_stream(self) -> int:
        """A DLPack producer orders nothing: there is no stream of HIP here, so its work has to be done."""
        return NO_ORDER

    def _import(self, memory: ForeignMemory, label: str | None) -> ImportedHsaBuffer:
        return self._adopt(ImportedHsaBuffer.of(self, memory, label))

    def _load(self, verified: VerifiedExecutable, label: str | None) -> HsaExecutable:
        return self._adopt(HsaExecutable(self, verified, label))

    def _program(
        self, recording: Recording, resources: Mapping[int | str, Any] | None, options: ProgramOptions
    ) -> HsaProgram:
        """The options mean nothing here: a barrier is a bit in a packet, however wide the layers are, every replay
        writes its packets, and every fill is a kernel."""
        self.backlog.sweep()
        return self._adopt(HsaProgram(self, recording, resources, options))

    def _stream(self, label: str | None) -> QueueStream:
        self.backlog.sweep()
        queue = self._new_queue("a stream" if label is None else f"stream `{label}`")
        return self._adopt(QueueStream(self, queue, label))

    def _event(self, label: str | None) -> HsaEvent:
        return self._adopt(HsaEvent(self, label))

    def _new_queue(self, name: str) -> HsaQueue:
        """A GPU has a number of queues. Those of closed streams go when they are idle, which is waited for (P4)."""
        started = time.monotonic()
        while True:
            try:
                return self._add_queue(HsaQueue(self.api, self.agent, self._notice, self._patience, name))
            except HsaOutOfMemoryError as error:
                if not self._wait_for_a_closed_stream(started):
                    abandoned = sum(queue.is_abandoned for queue in self.queues)
                    error.found = f"{len(self.queues)} queues of this device, {abandoned} of them of closed streams"
                    error.next_step = "close streams that are not needed, and wait for their work"
                    raise

    def _wait_for_a_closed_stream(self, started: float) -> bool:
        """Wait until the queue of a closed stream was released. Says whether one was, within the timeout."""
        abandoned = [queue for queue in tuple(self.queues) if queue.is_abandoned]
        while abandoned:
            self.backlog.sweep()
            if any(queue.is_released for queue in abandoned):
                return True
            if self.timeout is not None and time.monotonic() - started >= self.timeout:
                return False
            time.sleep(LONGEST_PAUSE)
        return False
