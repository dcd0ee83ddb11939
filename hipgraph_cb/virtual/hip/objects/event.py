"""An event: which work it was recorded behind, and when that was done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hipgraph_cb.virtual.worker import Operation

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.capture import Capture
    from hipgraph_cb.virtual.hip.objects.graph import Node


class Event:
    """One event of a device.

    Attributes:
        operation: the work it was recorded behind, or None when that was done at the time of recording.
        was_recorded: it has been recorded at least once.
        capture, captured_nodes: where it was recorded last, if that was in a capture, and behind which nodes.
    """

    def __init__(self, ordinal: int, flags: int) -> None:
        self.ordinal = ordinal
        self.flags = flags
        self.handle = 0
        self.operation: Operation | None = None
        self.was_recorded = False
        self.capture: Capture | None = None
        self.captured_nodes: list[Node] = []
        self._time = 0.0

    def record(self, operation: Operation | None) -> None:
        self.was_recorded = True
        self.capture = None
        self.operation = operation
        self._time = time.perf_counter()

    def record_captured(self, capture: Capture, nodes: list[Node]) -> None:
        """Recorded on a stream that is being captured: it is then complete when those nodes of the graph are."""
        self.was_recorded = True
        self.operation = None
        self.capture = capture
        self.captured_nodes = list(nodes)

    def note_time(self) -> None:
        """Recorded by a node of a graph that runs right now."""
        self.record(None)

    @property
    def is_done(self) -> bool:
        return self.operation is None or self.operation.is_done

    @property
    def seconds(self) -> float:
        """When its work was done, by `time.perf_counter`."""
        return self._time if self.operation is None else self.operation.finished
