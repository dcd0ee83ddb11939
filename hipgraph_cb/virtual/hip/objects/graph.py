"""Graphs: nodes with work, and edges between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from hipgraph_cb.virtual.hip.objects.work import Work

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime


class Possession(Protocol):
    """Something that graphs and executable graphs hold on to; it ends when nobody does any more."""

    def retain(self, count: int) -> None: ...

    def release(self, runtime: HipRuntime, count: int) -> None: ...


def hold(possessions: Counter[Possession]) -> Counter[Possession]:
    """Hold each of them as often once more."""
    for possession, count in possessions.items():
        possession.retain(count)
    return Counter(possessions)


class Node:
    """A node of a graph.

    Attributes:
        work: what it does. Replaced, never changed.
        dependencies, dependents: its edges, in the order they were made.
        is_enabled: what a launch made of it does; a disabled node keeps its place in the order.
        original: the handle of the node it was cloned from, or 0.
        child: the graph inside a child-graph node.
        shown: arrays that a caller was given the addresses of.
        attributes: what was set of a kernel node's launch attributes, by number.
    """

    def __init__(self, graph: Graph, work: Work) -> None:
        self.graph = graph
        self.work = work
        self.dependencies: list[Node] = []
        self.dependents: list[Node] = []
        self.handle = 0
        self.original = 0
        self.child: Graph | None = None
        self.shown: object = None
        self.attributes: dict[int, bytes] = {}


class Graph:
    """A graph under construction. Its nodes are in the order in which they were added.

    Attributes:
        owner: the node whose child graph this is.
        original: the handle of the graph it was cloned from, or 0.
        possessions: what it holds on to: user objects and memory of its own, and how often.
        is_executable: it was instantiated, which a graph that allocates memory may be once.
    """

    def __init__(self) -> None:
        self.possessions: Counter[Possession] = Counter()
        self.nodes: dict[int, Node] = {}
        self.handle = 0
        self.original = 0
        self.owner: Node | None = None
        self.number = 0
        self.is_executable = False

    def add(self, runtime: HipRuntime, work: Work) -> Node:
        node = Node(self, work)
        node.handle = runtime.nodes.add(node)
        self.nodes[node.handle] = node
        return node

    def remove(self, runtime: HipRuntime, node: Node) -> None:
        """Take a node out, with its edges and, for a child-graph node, the graph inside."""
        for other in node.dependencies:
            other.dependents.remove(node)
        for other in node.dependents:
            other.dependencies.remove(node)
        del self.nodes[node.handle]
        runtime.nodes.pop(node.handle)
        if node.child is not None:
            node.child.forget(runtime)

    def forget(self, runtime: HipRuntime) -> None:
        """End the life of this graph and of all its nodes."""
        for possession, count in self.possessions.items():
            possession.release(runtime, count)
        runtime.graphs.pop(self.handle)
        for node in self.nodes.values():
            runtime.nodes.pop(node.handle)
            if node.child is not None:
                node.child.forget(runtime)

    def clone(self, runtime: HipRuntime, owner: Node | None = None) -> Graph:
        """A copy with nodes and handles of its own; each remembers which node it was made from."""
        copy = Graph()
        copy.owner = owner
        copy.original = self.handle
        copy.handle = runtime.graphs.add(copy)
        copy.possessions = hold(self.possessions)
        twins: dict[Node, Node] = {}
        for node in self.nodes.values():
            twin = twins[node] = copy.add(runtime, node.work)
            twin.original = node.handle
            twin.attributes = dict(node.attributes)
            if node.child is not None:
                twin.child = node.child.clone(runtime, twin)
        for node, twin in twins.items():
            twin.dependencies = [twins[other] for other in node.dependencies]
            twin.dependents = [twins[other] for other in node.dependents]
        return copy


def connect(source: Node, target: Node) -> None:
    source.dependents.append(target)
    target.dependencies.append(source)


def topological_order(nodes: Iterable[Node]) -> list[Node] | None:
    """The nodes with dependencies first; None when there is a cycle."""
    order = [node for node in nodes if not node.dependencies]
    missing = {node: len(node.dependencies) for node in nodes}
    for node in order:
        for follower in node.dependents:
            missing[follower] -= 1
            if missing[follower] == 0:
                order.append(follower)
    return order if len(order) == len(missing) else None
