"""One hsa_queue_t with the signal that counts its launches, and what the runtime says when it stops."""

from __future__ import annotations

import ctypes
import time
import weakref
from typing import TYPE_CHECKING, Any

from hipgraph_cb.abi.hsa.attributes import QueueType
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import Queue
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.hsa.functions import U64, QueueErrorCallback
from hipgraph_cb.hsa.ring import Ring

if TYPE_CHECKING:
    from hipgraph_cb.hsa.agents import Agent
    from hipgraph_cb.hsa.api import HsaApi

LARGEST_QUEUE = 16384
"""Packets: as many as AMD's HIP takes for its queues. Every launch that fits is written without waiting."""
SILENCE = 0.5
"""Seconds of listening after which nobody will say any more whose fault a memory fault was."""
LONGEST_GAP = 0.01
"""Seconds that count as listened to between two questions. While this process stood still, so did its runtime."""
ANY_SEGMENT_SIZE = 0xFFFFFFFF
"""The program does not say how much memory its kernels will need."""
FIRST_COUNT = 1 << 62
"""Where the completion signal starts; every launch that ends takes one off."""


class FaultNotice:
    """Memory faults of one GPU, as the runtime's system events tell them.

    Such an event does not say which queue is at fault. Where the queue's error callback tells the same, it does; where
    it stays silent, as AMD's runtimes have it, everything on the GPU is lost.

    Attributes:
        address: of the last fault that no queue has answered for, or None.
    """

    def __init__(self) -> None:
        self.address: int | None = None
        self._since = 0.0
        self._asked = 0.0
        self._listened = 0.0

    @staticmethod
    def of(agent: int) -> FaultNotice:
        """The notice of a GPU, which all devices on it share: a queue of any of them may answer."""
        return _notices.setdefault(agent, FaultNotice())

    def note(self, address: int) -> None:
        """A fault happened. Called from a thread of the runtime."""
        self._since = self._asked = time.monotonic()
        self._listened = 0.0
        self.address = address

    def answered(self) -> None:
        """A queue says that it was at fault."""
        self.address = None

    def concerns(self, busy_since: float) -> bool:
        """Whether work is lost to a fault that nobody answers for; a queue that was idle then has lost nothing."""
        return self.address is not None and busy_since <= self._since and self._listen() > SILENCE

    def _listen(self) -> float:
        """How long somebody has listened since the fault."""
        now = time.monotonic()
        self._listened += min(now - self._asked, LONGEST_GAP)
        self._asked = now
        return self._listened


_notices: weakref.WeakValueDictionary[int, FaultNotice] = weakref.WeakValueDictionary()


class Stop:
    """Why a queue does nothing any more; the runtime writes it from a thread of its own.

    Attributes:
        status: the hsa_status_t, 0 while the queue works.
    """

    def __init__(self, notice: FaultNotice) -> None:
        self.status = 0
        self._notice = notice

    def callback(self) -> Any:
        """What hsa_queue_create takes; it must live as long as the queue."""

        def stopped(status: int, _queue: object, _data: object) -> None:
            self.status = self.status or status
            if status == Status.MEMORY_FAULT:
                self._notice.answered()

        return QueueErrorCallback(stopped)


class NativeQueue:
    """A queue of the runtime.

    Attributes:
        ring: its packets.
        signal: the completion signal of all launches.
        stop: whether and why it stopped.
    """

    def __init__(self, api: HsaApi, agent: Agent, notice: FaultNotice, where: str) -> None:
        self.stop = Stop(notice)
        callback = self.stop.callback()
        size = min(agent.largest_queue, LARGEST_QUEUE)
        signal = api.read("hsa_signal_create", FIRST_COUNT, 0, None, kind=U64, where=where)
        self._signal = Handle(api, signal, "hsa_signal_destroy")
        self.signal: int = signal
        try:
            address = api.read(
                "hsa_queue_create",
                agent.handle,
                size,
                QueueType.MULTI,
                callback,
                None,
                ANY_SEGMENT_SIZE,
                ANY_SEGMENT_SIZE,
                kind=ctypes.c_void_p,
                where=where,
            )
        except BaseException:
            self._signal.release()
            raise
        self._queue = Handle(api, address, "hsa_queue_destroy", keep=callback)
        structure = Queue.from_address(address)
        self.ring = Ring.at(structure.base_address, structure.size)
        self._api = api
        self._address = address
        self._tells_times = False
        self._doorbell: int = structure.doorbell_signal
        self._load_read_index = api.function("hsa_queue_load_read_index_scacquire")
        self._add_write_index = api.function("hsa_queue_add_write_index_screlease")
        self._load_signal = api.function("hsa_signal_load_scacquire")
        self._store_signal = api.function("hsa_signal_store_screlease")

    def enable_profiling(self) -> None:
        """Let completion signals tell times from now on."""
        if not self._tells_times:
            self._api.call("hsa_amd_profiling_set_profiler_enabled", self._address, 1)
            self._tells_times = True

    def launches_done(self) -> int:
        """How many launches ended."""
        return FIRST_COUNT - int(self._load_signal(self.signal))

    def read_index(self) -> int:
        return int(self._load_read_index(self._address))

    def reserve(self, count: int) -> int:
        return int(self._add_write_index(self._address, count))

    def ring_doorbell(self, index: int) -> None:
        self._store_signal(self._doorbell, index)

    def check(self) -> None:
        if self.stop.status:
            raise QueueStopped

    def release(self) -> None:
        """Destroy the queue, then the signal that its packets name."""
        self._queue.release()
        self._signal.release()


class QueueStopped(Exception):  # noqa: N818  # no error: the next wait says what happened
    """A queue that stopped takes no more launches."""
