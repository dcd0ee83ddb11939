"""A HIP stream with its count of launches.

Done is known from hipStreamQuery alone: the queue is idle, so everything that had been enqueued before the query is
done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.backend.queue import LaunchQueue
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.culprit import culprit

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


class Queue(LaunchQueue):
    """One HIP stream: ours (with a handle that owns it) or somebody else's.

    Attributes:
        native: what hip-python takes as a stream.
        owner: whatever object somebody else's stream lives as long as.
        last_recording: what was launched last, as long as somebody holds it.
    """

    def __init__(self, api: HipApi, native: Any, name: str, handle: Handle | None = None, owner: object = None) -> None:
        super().__init__(name)
        self.api = api
        self.native = native
        self.handle = handle
        self.owner = owner
        self.last_recording: Callable[[], Recording | None] = lambda: None

    def _poll(self) -> bool:
        enqueued = self.enqueued
        where = f"waiting for {self.name}, last enqueued: {self.last_work}"
        try:
            idle = self.api.query("hipStreamQuery", self.native, where=where)
        except HipGraphError as error:
            is_only_one = enqueued - self._done == 1
            self._done = enqueued
            recording = self.last_recording() if is_only_one else None
            command = None if recording is None else culprit(recording, error.detail)
            if command is not None:
                error.located(command)
            raise
        if idle:
            self._done = enqueued
        return idle

    def _release(self) -> None:
        if self.handle is not None:
            self.handle.release()
