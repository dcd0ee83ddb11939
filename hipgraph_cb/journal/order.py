"""What waits for what in the program: streams, events, graphs, and waits of the host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraph_cb.virtual.worker import Operation

Ends = frozenset[int]
"""Commands, by number, that are over when something is."""
NOTHING: Ends = frozenset()


class Noted:
    """What is remembered of an operation.

    Attributes:
        before: the operations that it was enqueued behind and that may not be over.
        known: the commands that it waits for besides.
        turn: how often the host had waited when it was enqueued.
        ends: once it is over.
        nodes: of the graph that it launches.
        ranges: of ROCTX, in which it was enqueued.
    """

    __slots__ = ("before", "ends", "known", "nodes", "ranges", "turn")

    def __init__(self, before: list[Operation], known: Ends, turn: int) -> None:
        self.before = before
        self.known = known
        self.turn = turn
        self.ends: Ends | None = None
        self.nodes: Nodes | None = None
        self.ranges: tuple[str, ...] = ()


class Nodes:
    """The nodes of one launch: what each has in front of it, and the commands that it ran."""

    def __init__(self, dependents: Sequence[Sequence[int]]) -> None:
        self.before: list[list[int]] = [[] for _ in dependents]
        for node, behind in enumerate(dependents):
            for each in behind:
                self.before[each].append(node)
        self.last = [node for node, behind in enumerate(dependents) if not behind]
        self.ends: dict[int, Ends] = {}

    def waits(self, node: int, known: Ends) -> Ends:
        """What a node waits for; the first ones wait for what the launch does."""
        before = self.before[node]
        return NOTHING.union(*(self.ends_of(each, known) for each in before)) if before else known

    def ends_of(self, node: int, known: Ends) -> Ends:
        """The commands that are over when a node is; one that ran none was over with what it waited for."""
        pending = [node]
        while pending:
            missing = [each for each in self.before[pending[-1]] if each not in self.ends]
            if pending[-1] not in self.ends and missing:
                pending += missing
                continue
            each = pending.pop()
            if each not in self.ends:
                self.ends[each] = self.waits(each, known)
        return self.ends[node]


class Order:
    """Follows the program; all methods with the lock of the calls."""

    def __init__(self) -> None:
        self._host: Ends = NOTHING
        self._turn = 0
        self._waits: list[Ends] = []
        self._last: set[int] = set()

    def enqueued(self, operation: Operation, after: Iterable[Operation]) -> None:
        before: list[Operation] = []
        known = NOTHING
        is_behind_the_host = False
        for other in after:
            noted: Noted | None = other.noted
            if noted is None:
                continue
            is_behind_the_host |= noted.turn == self._turn
            if other.is_done:
                known |= self.ends(other)
            else:
                before.append(other)
        # What an operation of the same turn waits for, this one waits for through it.
        operation.noted = Noted(before, known if is_behind_the_host else known | self._host, self._turn)

    def launched(self, operation: Operation, dependents: Sequence[Sequence[int]]) -> None:
        operation.noted.nodes = Nodes(dependents)

    def waited(self, operations: Iterable[Operation]) -> None:
        """The host knows that these are over."""
        ends = NOTHING.union(*(self.ends(operation) for operation in operations if operation.noted is not None))
        if ends - self._host:
            covered = NOTHING.union(*(self._waits[end] for end in ends))
            self._host = (self._host - covered) | ends
            self._turn += 1

    def waited_for_all(self) -> None:
        self._host = frozenset(self._last)
        self._turn += 1

    def waits(self, operation: Operation, node: int | None) -> Ends:
        """What a piece of work waits for that is about to run."""
        noted: Noted | None = operation.noted
        if noted is None:
            return self._host
        if noted.before:
            noted.known = noted.known.union(*map(self.ends, noted.before))
            noted.before = []
        if node is None or noted.nodes is None:
            return noted.known
        return noted.nodes.waits(node, noted.known)

    def ran(self, operation: Operation, node: int | None, waits: Ends, commands: int) -> list[Ends]:
        """A piece of work is over that was noted as so many commands; returns what each waits for: these, or the one
        before it."""
        ends = waits
        for _ in range(commands):
            self._last -= ends
            self._last.add(len(self._waits))
            self._waits.append(ends)
            ends = frozenset([len(self._waits) - 1])
        noted: Noted | None = operation.noted
        if noted is not None and noted.nodes is not None and node is not None:
            noted.nodes.ends[node] = ends
        elif noted is not None:
            noted.ends = ends
        return self._waits[len(self._waits) - commands :]

    def ends(self, operation: Operation) -> Ends:
        """The commands that are over when an operation is."""
        noted: Noted = operation.noted
        if noted.ends is None:
            waits = self.waits(operation, None)
            nodes = noted.nodes
            ends = [] if nodes is None else [nodes.ends_of(node, waits) for node in nodes.last]
            noted.ends = NOTHING.union(*ends) if ends else waits
            noted.nodes = None
        return noted.ends
