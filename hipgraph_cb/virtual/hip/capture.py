"""A capture: calls on a stream build a graph instead of running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.virtual.hip.graph import Graph, Node, connect
from hipgraph_cb.virtual.hip.work import Work

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.event import Event
    from hipgraph_cb.virtual.hip.runtime import HipRuntime
    from hipgraph_cb.virtual.hip.stream import Stream


class Capture:
    """One capture sequence; several streams may take part.

    Attributes:
        origin: the stream it began on.
        ends: for each stream that takes part, the nodes that its next call depends on.
        is_invalid: a forbidden call was made; the graph is lost.
    """

    def __init__(self, graph: Graph, origin: Stream, mode: int, thread: int) -> None:
        self.graph = graph
        self.origin = origin
        self.mode = mode
        self.thread = thread
        self.ends: dict[Stream, list[Node]] = {origin: []}
        self.joined: set[Node] = set()
        self.is_invalid = False

    def add(self, runtime: HipRuntime, stream: Stream, work: Work) -> Node:
        node = self.graph.add(runtime, work)
        for end in self.ends[stream]:
            connect(end, node)
        self.ends[stream] = [node]
        return node

    def record_event(self, stream: Stream, event: Event) -> None:
        """The event stands for the end of this stream; a stream that waits for it joins the capture."""
        event.capture = self
        event.captured_nodes = list(self.ends[stream])
        event.was_recorded = True

    def wait_event(self, stream: Stream, event: Event) -> None:
        known = self.ends.setdefault(stream, [])
        stream.capture = self
        for node in event.captured_nodes:
            if node not in known:
                known.append(node)
