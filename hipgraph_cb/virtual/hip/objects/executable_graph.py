"""An instantiated graph: a full copy of a graph, launched as one operation of a stream."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from hipgraph_cb.abi.hip.enums import NodeKind
from hipgraph_cb.virtual.hip.objects.graph import Graph, Node, Possession, connect, hold, topological_order
from hipgraph_cb.virtual.hip.objects.work import Copy, CopyBox, Empty, SteppedWork, WaitEvent, Work, run_work

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.event import Event
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu
    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
    from hipgraph_cb.virtual.worker import Operation

_EMPTY = Empty()
_COPIES = (Copy, CopyBox)


class ExecutableGraph:
    """What hipGraphInstantiate makes.

    Attributes:
        flags: of the instantiation.
        works: the work of each node; nodes of child graphs follow their parents' dependencies.
        is_enabled: in the same order.
        lost: the indices of nodes that do nothing all the same (see `Profile.loses_kernels_changed_while_off`).
        place: node handle of the source graph -> index into `works`.
        places, degrees: index into `works`, and number of dependencies, of the outer graph's nodes in their order.
        kinds: the kind of each node, in the order of `works`.
        copies: the work that a launch has to check the addresses of.
        awaited: the events of its event-wait nodes.
        possessions: what it holds on to (see `Graph`).
        children: handle of a child-graph node -> the range of `works` inside it.
        last: the operation of the latest launch.
    """

    def __init__(self, graph: Graph, flags: int) -> None:
        self.flags = flags
        self.works: list[Work] = []
        self.is_enabled: list[bool] = []
        self.lost: set[int] = set()
        self.place: dict[int, int] = {}
        self.places: list[int] = []
        self.degrees: list[int] = []
        self.kinds: list[NodeKind] = []
        self.dependents: list[list[int]] = []
        self.in_degree: list[int] = []
        self.node_count = len(graph.nodes)
        self.last: Operation | None = None
        self._plan: list[Work] | None = None
        self._roots: list[int] = []
        self.copies: list[Copy | CopyBox] = []
        self.awaited: list[Event] = []
        self.possessions: Counter[Possession] = Counter()
        self.children: dict[int, tuple[int, int]] = {}
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
                self.children[node.handle] = index + 1, len(self.works)
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

    def replace(self, place: int, work: Work) -> None:
        """Another work for one node, from the next launch on."""
        self.works[place] = work
        self._plan = None

    def replace_all(self, works: list[Work]) -> None:
        """Other work for all nodes, in their order."""
        self.works = works
        self._plan = None

    def replace_child(self, handle: int, other: ExecutableGraph) -> bool:
        """Other work for what is inside a child-graph node; False when it has another form."""
        start, end = self.children[handle]
        degrees = [max(1, degree) for degree in other.in_degree]
        if other.kinds != self.kinds[start:end] or degrees != self.in_degree[start:end]:
            return False
        self.works[start:end] = other.works
        self._plan = None
        return True

    def switch(self, place: int, is_enabled: bool) -> None:
        """Let launches from now on skip a node, or not."""
        self.is_enabled[place] = is_enabled
        self._plan = None

    def lose(self, place: int, is_lost: bool) -> None:
        """Let launches from now on skip a node although it is switched on, or not any more."""
        (self.lost.add if is_lost else self.lost.discard)(place)
        self._plan = None

    def prepare(self) -> list[Work]:
        """What a launch runs, as it is now. Computed again after a change; a launch under way keeps its list."""
        if self._plan is None:
            plan = [work if enabled else _EMPTY for work, enabled in zip(self.works, self.is_enabled, strict=True)]
            for place in self.lost:
                plan[place] = _EMPTY
            self._plan = plan
            self._roots = [index for index, count in enumerate(self.in_degree) if count == 0]
            self.copies = [work for work in plan if isinstance(work, _COPIES)]
            self.awaited = [work.event for work in plan if isinstance(work, WaitEvent)]
        return self._plan

    def as_graph(self, runtime: HipRuntime) -> Graph:
        """A graph that does what a launch does now."""
        graph = Graph()
        graph.handle = runtime.graphs.add(graph)
        graph.possessions = hold(self.possessions)
        nodes = [graph.add(runtime, work) for work in self.prepare()]
        for node, dependents in zip(nodes, self.dependents, strict=True):
            for index in dependents:
                connect(node, nodes[index])
        return graph

    def events_to_wait_for(self) -> list[Operation]:
        """The operations behind the event-wait nodes, as they are now."""
        return [event.operation for event in self.awaited if event.operation is not None]

    def record_events(self, operation: Operation) -> None:
        """From its launch on, each event that a node records is pending, until the node has run."""
        for work, enabled in zip(self.works, self.is_enabled, strict=True):
            if enabled and work.kind is NodeKind.EVENT_RECORD:
                work.event.record(operation)  # type: ignore[attr-defined]

    def launch(self, runtime: HipRuntime, gpu: Gpu) -> Launched:
        """One launch, with the work of the nodes as it is now."""
        return Launched(runtime, gpu, self.prepare(), self.dependents, list(self.in_degree), list(self._roots))


class Launched:
    """A launch under way; `step` runs ready nodes, chosen at random."""

    def __init__(
        self,
        runtime: HipRuntime,
        gpu: Gpu,
        works: list[Work],
        dependents: list[list[int]],
        missing: list[int],
        roots: list[int],
    ) -> None:
        self._runtime = runtime
        self._gpu = gpu
        self._works = works
        self._dependents = dependents
        self._missing = missing
        self._ready = roots
        self._random: random.Random = gpu.worker.random
        self._begun: dict[int, Callable[[Operation], bool]] = {}
        self._waiting: set[int] = set()

    def step(self, operation: Operation) -> bool:
        """Run one node, or, while nothing else of the device is ready, one after the other."""
        ready, worker = self._ready, self._gpu.worker
        self._waiting.clear()
        while ready and len(self._waiting) < len(ready):
            self._run_one(operation)
            if not worker.is_alone:
                break
        operation.is_waiting = bool(ready) and len(self._waiting) == len(ready)
        return not ready

    def _run_one(self, operation: Operation) -> None:
        ready = self._ready
        place = self._random.randrange(len(ready)) if len(ready) > 1 else 0
        index = ready[place]
        work = self._works[index]
        if work is not _EMPTY:
            operation.label = work.label
            if isinstance(work, SteppedWork):
                if not self._is_over(index, work, operation):
                    self._waiting.add(index)
                    return
            else:
                run_work(work, self._runtime, self._gpu, operation, index)
        self._waiting.clear()
        ready[place] = ready[-1]
        ready.pop()
        for follower in self._dependents[index]:
            self._missing[follower] -= 1
            if self._missing[follower] == 0:
                ready.append(follower)

    def _is_over(self, index: int, work: SteppedWork, operation: Operation) -> bool:
        if self._gpu.worker.observer is not None and index not in self._begun:
            self._gpu.worker.observer.not_observed(work.label)
        step = self._begun.get(index) or self._begun.setdefault(index, work.begin(self._runtime, self._gpu))
        return step(operation)
