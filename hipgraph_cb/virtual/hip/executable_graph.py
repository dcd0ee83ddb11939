"""An instantiated graph: a full copy of a graph, launched as one operation of a stream."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hipgraph_cb.virtual.hip.graph import Graph, Node, topological_order
from hipgraph_cb.virtual.hip.work import Empty, NodeKind, Work

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.gpu import Gpu
    from hipgraph_cb.virtual.hip.runtime import HipRuntime
    from hipgraph_cb.virtual.worker import Operation

_EMPTY = Empty()


class ExecutableGraph:
    """What hipGraphInstantiate makes.

    Attributes:
        flags: of the instantiation.
        works: the work of each node; nodes of child graphs follow their parents' dependencies.
        is_enabled: in the same order.
        place: node handle of the source graph -> index into `works`.
        places, degrees: index into `works`, and number of dependencies, of the outer graph's nodes in their order.
        kinds: the kind of each node, in the order of `works`.
        last: the operation of the latest launch.
    """

    def __init__(self, graph: Graph, flags: int) -> None:
        self.flags = flags
        self.works: list[Work] = []
        self.is_enabled: list[bool] = []
        self.place: dict[int, int] = {}
        self.places: list[int] = []
        self.degrees: list[int] = []
        self.kinds: list[NodeKind] = []
        self.dependents: list[list[int]] = []
        self.in_degree: list[int] = []
        self.node_count = len(graph.nodes)
        self.last: Operation | None = None
        self._exits: dict[int, int] = {}
        self._flatten(graph, [])
        for node in topological_order(graph.nodes.values()) or ():
            self.places.append(self.place[node.handle])
            self.degrees.append(len(node.dependencies))

    def _flatten(self, graph: Graph, entry: list[int]) -> list[int]:
        """Append the nodes of `graph` behind `entry`; returns the indices of those that nothing in it waits for."""
        ends = []
        for node in topological_order(graph.nodes.values()) or ():
            before = [self._exits[other.handle] for other in node.dependencies] or entry
            index = self._append(node, node.work if node.child is None else _EMPTY, before)
            self.place[node.handle] = index
            if node.child is not None:
                inside = self._flatten(node.child, [index])
                if inside:
                    index = self._append(node, _EMPTY, inside)
            self._exits[node.handle] = index
            if not node.dependents:
                ends.append(index)
        return ends

    def _append(self, node: Node, work: Work, before: list[int]) -> int:
        index = len(self.works)
        self.works.append(work)
        self.kinds.append(node.work.kind)
        self.is_enabled.append(True)
        self.dependents.append([])
        self.in_degree.append(len(before))
        for other in before:
            self.dependents[other].append(index)
        return index

    def events_to_wait_for(self) -> list[Operation]:
        """The operations behind the event-wait nodes, as they are now."""
        found = []
        for work in self.works:
            if work.kind is NodeKind.WAIT_EVENT and work.event.operation is not None:  # type: ignore[attr-defined]
                found.append(work.event.operation)  # type: ignore[attr-defined]
        return found

    def launch(self, runtime: HipRuntime, gpu: Gpu) -> Launched:
        """One launch, with the work of the nodes as it is now."""
        works = [work if enabled else _EMPTY for work, enabled in zip(self.works, self.is_enabled, strict=True)]
        return Launched(runtime, gpu, works, self.dependents, list(self.in_degree))


class Launched:
    """A launch under way; `step` runs one ready node, chosen at random."""

    def __init__(
        self, runtime: HipRuntime, gpu: Gpu, works: list[Work], dependents: list[list[int]], missing: list[int]
    ) -> None:
        self._runtime = runtime
        self._gpu = gpu
        self._works = works
        self._dependents = dependents
        self._missing = missing
        self._ready = [index for index, count in enumerate(missing) if count == 0]
        self._random: random.Random = gpu.worker.random

    def step(self, operation: Operation) -> bool:
        ready = self._ready
        if not ready:
            return True
        place = self._random.randrange(len(ready)) if len(ready) > 1 else 0
        index = ready[place]
        ready[place] = ready[-1]
        ready.pop()
        work = self._works[index]
        if work is not _EMPTY:
            operation.label = work.label
            work.run(self._runtime, self._gpu, operation)
        for follower in self._dependents[index]:
            self._missing[follower] -= 1
            if self._missing[follower] == 0:
                ready.append(follower)
        return not ready
