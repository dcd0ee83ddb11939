"""Launches outside of a recording: a ticket on a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.backend.queue import LaunchQueue, seconds
from hipgraph_cb.runtime.launch import Launch

if TYPE_CHECKING:
    from hipgraph_cb.backend.device import BackendDevice


class QueueLaunch(Launch):
    """What was enqueued on a queue last, or before."""

    def __init__(self, device: BackendDevice, queue: LaunchQueue, name: str) -> None:
        self._device = device
        self._queue = queue
        self._ticket = queue.enqueued
        self._name = name

    @property
    def is_done(self) -> bool:
        if not self._queue.is_done(self._ticket):
            self._queue.refresh()
        return self._queue.is_done(self._ticket)

    def synchronize(self, timeout: float | None = None) -> None:
        if self._device.absence is not None:
            self._device.absence.skip("synchronize")
            return
        self._queue.wait_for(self._ticket, self._device.timeout if timeout is None else seconds(timeout, "synchronize"))
        failure = self._queue.take_failure()
        if failure is not None:
            raise failure
        self._device.backlog.sweep()

    def __repr__(self) -> str:
        return f"<launch of {self._name} on {self._queue.name}, {'done' if self.is_done else 'not done'}>"
