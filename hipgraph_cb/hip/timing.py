"""How long each command takes: launched call by call on a stream, with an event between any two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.recording.profile import Span

if TYPE_CHECKING:
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.queue import Queue
    from hipgraph_cb.hip.stream_replay import StreamCalls
    from hipgraph_cb.recording.recording import Recording


class CommandTimer:
    """Events for one pass over a recording. HIP's events have a resolution of about a microsecond."""

    def __init__(self, api: HipApi, recording: Recording) -> None:
        self._api = api
        self._order = [index for layer in recording.layers for index in layer]
        self._events: list[Handle] = []
        try:
            for _ in range(len(recording) + 1):
                self._events.append(Handle(api, api.call("hipEventCreate"), "hipEventDestroy"))
        except BaseException:
            self.release()
            raise

    def enqueue(self, calls: StreamCalls, queue: Queue) -> None:
        """Enqueue the commands layer by layer with the events between them. Raises HipError."""
        self._record(0, queue.native)
        for position, index in enumerate(self._order, 1):
            calls.enqueue_one(index, queue)
            self._record(position, queue.native)

    def spans(self) -> list[Span]:
        """By command index; the stream must have been waited for. Raises HipError."""
        spans = [Span(0.0, 0.0)] * len(self._order)
        start = 0.0
        for position, index in enumerate(self._order):
            first, last = self._events[position], self._events[position + 1]
            duration = self._api.call("hipEventElapsedTime", first.native, last.native) / 1e3
            spans[index] = Span(start, start + duration)
            start += duration
        return spans

    def release(self) -> None:
        for event in self._events:
            event.release()
        self._events.clear()

    def _record(self, position: int, stream: Any) -> None:
        self._api.call("hipEventRecord", self._events[position].native, stream)
