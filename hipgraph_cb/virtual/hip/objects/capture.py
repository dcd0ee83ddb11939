"""A capture: calls on a stream build a graph instead of running."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.objects.graph import Graph, Node, connect
from hipgraph_cb.virtual.hip.objects.work import Work

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.event import Event
    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
    from hipgraph_cb.virtual.hip.objects.stream import Stream


class Capture:
    """One capture sequence; several streams may take part.

    Attributes:
        origin: the stream it began on.
        mode: hipStreamCaptureMode: which unsafe calls spoil it (of all threads, of this thread, none).
        thread: the thread that began it.
        ends: for each stream that takes part, the nodes that its next call depends on.
        dropped: nodes that the caller took out of what a stream depends on; they need not be joined.
        owns_graph: the graph began with the capture, and is lost with it.
        is_invalid: a forbidden call was made; the graph is lost.
        shown: an array that a caller was given the address of.
    """

    def __init__(self, graph: Graph, origin: Stream, mode: int, thread: int, number: int) -> None:
        self.graph = graph
        self.origin = origin
        self.mode = mode
        self.thread = thread
        self.number = number
        self.ends: dict[Stream, list[Node]] = {origin: []}
        self.dropped: list[Node] = []
        self.owns_graph = True
        self.is_invalid = False
        self.shown: object = None

    def add(self, runtime: HipRuntime, stream: Stream, work: Work) -> Node:
        """A call on `stream` becomes a node behind what the stream holds."""
        if self.is_invalid:
            raise CallError(Code.STREAM_CAPTURE_INVALIDATED)
        node = self.graph.add(runtime, work)
        for end in self.ends[stream]:
            connect(end, node)
        self.ends[stream] = [node]
        return node

    def record_event(self, stream: Stream, event: Event) -> None:
        """The event is recorded at the end of this stream; a stream that waits for it joins the capture."""
        event.record_captured(self, self.ends[stream])

    def wait_event(self, stream: Stream, event: Event) -> None:
        """The next call on `stream`, which takes part from now on, depends on the nodes that the event is behind."""
        stream.capture = self
        ends = self.ends.setdefault(stream, [])
        ends.extend(node for node in event.captured_nodes if node not in ends)

    def is_joined(self) -> bool:
        """Every node that another stream added last is before an end of the origin, or before a dropped node."""
        reached: set[Node] = set()
        todo = [*self.ends[self.origin], *self.dropped]
        while todo:
            node = todo.pop()
            if node not in reached:
                reached.add(node)
                todo.extend(node.dependencies)
        return all(node in reached for ends in self.ends.values() for node in ends)

    def forbids_here(self) -> bool:
        """An unsafe call of this thread spoils the capture."""
        return self.mode == 0 or (self.mode == 1 and self.thread == threading.get_ident())

    def abandon(self, runtime: HipRuntime) -> None:
        """End without a graph; one that was there before stays, with the nodes it got."""
        self.release(runtime)
        if self.owns_graph and self.graph.handle in runtime.graphs:
            self.graph.forget(runtime)

    def release(self, runtime: HipRuntime) -> None:
        """The streams run again what they are given."""
        runtime.captures.discard(self)
        for stream in self.ends:
            stream.capture = None


def forbid_unsafe_call(runtime: HipRuntime) -> None:
    """A call that AMD's runtime counts as unsafe, such as hipMalloc, spoils captures that are not relaxed."""
    if not runtime.captures or runtime.thread.capture_mode == 2:
        return
    spoilt = [capture for capture in runtime.captures if capture.forbids_here()]
    for capture in spoilt:
        capture.is_invalid = True
    if spoilt:
        raise CallError(Code.STREAM_CAPTURE_UNSUPPORTED)


def blocking_captures(runtime: HipRuntime) -> list[Capture]:
    """The captures of streams that the null stream waits for."""
    streams = runtime.gpu.streams if runtime.captures else ()
    return [stream.capture for stream in streams if stream.capture is not None and stream.is_blocking]


def forbid_legacy_call(runtime: HipRuntime) -> None:
    """A call on the null stream would make it wait for a blocking stream that is being captured."""
    captures = blocking_captures(runtime)
    for capture in captures:
        capture.is_invalid = True
    if captures:
        raise CallError(Code.STREAM_CAPTURE_IMPLICIT)
