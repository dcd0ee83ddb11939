"""Streams: a queue each."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from hipgraph_cb.backend.collected import finalizer
from hipgraph_cb.backend.queue import LaunchQueue, seconds
from hipgraph_cb.runtime.stream import Stream

if TYPE_CHECKING:
    from hipgraph_cb.backend.device import BackendDevice
    from hipgraph_cb.backend.lifetime import Backlog

logger = logging.getLogger("hipgraph_cb")


class QueueStream(Stream):
    """A queue of its own, without order to any other."""

    def __init__(self, device: BackendDevice, queue: LaunchQueue, label: str | None) -> None:
        self._device = device
        self.queue = queue
        self.label = label
        self._abandon = finalizer(self, AbandonedQueue(queue, device.queues).retire, device.backlog)

    @property
    def device(self) -> BackendDevice:
        return self._device

    def _check_open(self, action: str) -> None:
        """As the base says. A `__del__` may run after the collector has released the queue."""
        if self._device.absence is not None:
            self._device.absence.refuse(action)
        if self._closed or not self._abandon.alive:
            raise self._closed_error(action)

    def synchronize(self, timeout: float | None = None) -> None:
        if self._device.absence is not None:
            self._device.absence.skip("synchronize")
            return
        self._check_open("synchronize")
        self.queue.wait(self._device.timeout if timeout is None else seconds(timeout, "synchronize"))
        self._device.backlog.sweep()

    def _release(self) -> None:
        """Work in flight goes on. Work that is known to have failed, and that no call waited for, raises here."""
        self.queue.refresh()
        failure = self.queue.take_failure()
        self._abandon()
        if failure is not None:
            raise failure

    def __repr__(self) -> str:
        return f"<{self.describe()} of {self._device.name}{', closed' if self._closed else ''}>"


class AbandonedQueue:
    """A queue that nothing can be enqueued to any more; it is released when it is idle."""

    def __init__(self, queue: LaunchQueue, queues: list[LaunchQueue]) -> None:
        self.calls = queue.calls
        self._queue = queue
        self._queues = queues

    @property
    def tickets(self) -> dict[LaunchQueue, int]:
        return {self._queue: self._queue.enqueued}

    def retire(self, backlog: Backlog) -> None:
        """The stream is closed, or collected."""
        self._queue.is_abandoned = True
        backlog.retire(self)

    def release(self) -> None:
        with suppress(ValueError):  # the device was closed before
            self._queues.remove(self._queue)
        self._queue.release()
        failure = self._queue.take_failure()
        if failure is not None:
            logger.warning("work on %s failed and no call waited for it: %s", self._queue.name, failure)
