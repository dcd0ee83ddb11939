"""Who is told of all work of a device, in the order in which it runs: to note what a program does.

A device without an observer takes the shortest way; with one every piece of work is an operation of a stream, so that
what waits for what does not depend on how fast it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from hipgraph_cb.virtual.worker import Operation


class Observer(Protocol):
    """Called by the devices of one process. All but `run` are called with the lock of the calls."""

    def enqueued(self, operation: Operation, after: Iterable[Operation]) -> None:
        """An operation was enqueued behind others, which may be over."""

    def launched(self, operation: Operation, dependents: Sequence[Sequence[int]]) -> None:
        """An operation turned out to be the launch of a graph with these nodes, each with those that wait for it."""

    def waited(self, operations: Iterable[Operation]) -> None:
        """The program knows that these operations are over: it waited for them, or asked."""

    def waited_for_all(self) -> None:
        """The program knows that all operations are over."""

    def run(self, work: Any, runtime: Any, gpu: Any, operation: Operation, node: int | None) -> None:
        """Run a piece of work: the only one of an operation, or a node of the graph that it launches."""

    def not_observed(self, label: str) -> None:
        """Something is done that is not made of pieces of work."""
