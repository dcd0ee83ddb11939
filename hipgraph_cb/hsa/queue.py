"""A stream of the HSA backend: launches on a queue of its own, and which command was at fault when it stops."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.backend.queue import LaunchQueue
from hipgraph_cb.errors import CancelledError, HipGraphError, OutOfRangeError
from hipgraph_cb.hsa.host_calls import HostThread, PendingCall
from hipgraph_cb.hsa.native_queue import FaultNotice, NativeQueue, QueueStopped
from hipgraph_cb.hsa.packets import NO_TYPE
from hipgraph_cb.hsa.ring import Feeder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.hsa.agents import Agent
    from hipgraph_cb.hsa.api import HsaApi
    from hipgraph_cb.hsa.instances import Packets

STOPPED = "the error callback of the queue"


class Launch(NamedTuple):
    """One launch that is not known to be done: its packets, and how messages call the command behind each."""

    ticket: int
    first: int
    end: int
    where: Callable[[int], str]
    signals: Sequence[Handle]


class HsaQueue(LaunchQueue):
    """Work in order. After a failure it goes on with another queue of the runtime, since the old one is dead."""

    def __init__(
        self, api: HsaApi, agent: Agent, notice: FaultNotice, patience: Callable[[], float | None], name: str
    ) -> None:
        super().__init__(name)
        self.api = api
        self._agent = agent
        self._notice = notice
        self._patience = patience
        self._in_flight: deque[Launch] = deque()
        self._host_thread = HostThread(api, name)
        self._tickets_before = 0
        self._busy_since = 0.0
        self._native: NativeQueue | None = None
        self._feeder: Feeder | None = None
        self._open()

    def launch(
        self,
        packets: Packets,
        words: NDArray[np.uint32],
        work: str,
        where: Callable[[int], str],
        signals: Sequence[Handle] = (),
        calls: Sequence[PendingCall] = (),
    ) -> int:
        """Write the packets of one launch; returns its ticket. Call it with the lock held.

        On a queue that has stopped nothing is written: the launch fails with what was there before it.

        Args:
            work: as messages call the launch.
            where: how they call the command behind a packet.
            signals: what the packets complete besides the launch's own signal.
            calls: the host calls that they start.

        Raises:
            DeadlineExceededError: the ring had no room in time.
            HsaError: the runtime gives no queue.
        """
        feeder, native = self._open()
        self._forget_what_is_done()
        before = feeder.written
        if not self.busy:
            self._busy_since = time.monotonic()
        try:
            native.check()
            self._host_thread.add(calls)
            first = feeder.feed(
                packets.bodies,
                words,
                waits=self.busy,
                completion=native.signal,
                uncuttable=packets.template.uncuttable,
                place=packets.place_in_ring if packets.template.indirect else None,
            )
        except QueueStopped:
            self._host_thread.give_up(calls)
            self._complete(signals)
        except BaseException:
            self._host_thread.give_up(calls)
            if feeder.written != before:
                self._give_up(work)
            raise
        else:
            self._in_flight.append(Launch(self.enqueued + 1, first, feeder.written, where, signals))
        self.last_work = work
        self.enqueued += 1
        return self.enqueued

    def enable_profiling(self) -> int:
        """Let launches from now on tell times. Returns the completion signal of their last packets."""
        _, native = self._open()
        native.enable_profiling()
        return native.signal

    def _poll(self) -> bool:
        enqueued = self.enqueued  # before the native queue: later launches may be on another one
        native = self._native
        if native is None:
            self._done = enqueued
            return not self.busy
        status = native.stop.status  # before the count: what is done then is done
        done = self._tickets_before + native.launches_done()
        if not status and done < enqueued and self._notice.concerns(self._busy_since):
            status = native.stop.status = Status.MEMORY_FAULT
        lock = self.lock
        if status:
            if not lock.acquire(blocking=False):
                return False  # somebody is about to enqueue; the next poll tells
            try:
                error = self._error(native)
                self._abandon()
            finally:
                lock.release()
            raise error
        self._done = done
        if self._in_flight and lock.acquire(blocking=False):
            try:
                self._forget_what_is_done()
            finally:
                lock.release()
        return done >= enqueued

    def _release(self) -> None:
        native, self._native, self._feeder = self._native, None, None
        if native is not None:
            native.release()
            self._host_thread.join()

    def _open(self) -> tuple[Feeder, NativeQueue]:
        native, feeder = self._native, self._feeder
        if native is None or feeder is None:
            native = self._native = NativeQueue(self.api, self._agent, self._notice, self.name)
            feeder = self._feeder = Feeder(native.ring, native, self._patience, self.name)
            self._tickets_before = self.enqueued
        return feeder, native

    def _forget_what_is_done(self) -> None:
        while self._in_flight and self.is_done(self._in_flight[0].ticket):
            self._in_flight.popleft()

    def _give_up(self, work: str) -> None:
        """A launch was written in part, so the queue is of no use; what else was on it is lost, and a wait says so."""
        self.refresh()
        with self._polling:  # nobody may look at the native queue while it goes
            self._forget_what_is_done()
            lost = len(self._in_flight)
            self._abandon()
        if lost:
            self._failure = CancelledError(
                f"replay: {work} could not be written whole, and its queue was given up",
                where=self.name,
                found=f"{lost} launches in front of it that were not done",
            )

    def _abandon(self) -> None:
        """Nothing that was written will be done any more; nobody may wait for it in vain. The caller is polling."""
        self._host_thread.give_up()
        self._release()
        for launch in self._in_flight:
            self._complete(launch.signals)
        self._in_flight.clear()
        self._done = self.enqueued

    def _complete(self, signals: Sequence[Handle]) -> None:
        for signal in signals:
            self.api.call("hsa_signal_store_screlease", signal.native, 0)

    def _error(self, native: NativeQueue) -> HipGraphError:
        """What the stopped queue means: the packet that it stopped at says which command is to blame."""
        where = f"waiting for {self.name}, last enqueued: {self.last_work}"
        packet = native.read_index()
        culprit = self._culprit(packet)
        if culprit is not None:
            where = f"{culprit}, {where}"
        if native.ring.type_of(packet) == NO_TYPE:
            return OutOfRangeError(
                "the grid is too large",
                where=where,
                found="workgroup counts in memory that make more work-items than a launch can have",
                allowed="at most 4294967295 work-items in each dimension",
            )
        if self._notice.concerns(self._busy_since):
            where = f"an access to address {self._notice.address:#x}, {where}"
        return self.api.error(STOPPED, native.stop.status, where)

    def _culprit(self, packet: int) -> str | None:
        """How messages call the command behind the packet that a queue stopped at."""
        for launch in self._in_flight:
            if launch.first <= packet < launch.end:
                return launch.where(packet - launch.first)
        return None

    def _standing(self) -> str:
        return "" if self._feeder is None else f"; {self._feeder.standing()}"
