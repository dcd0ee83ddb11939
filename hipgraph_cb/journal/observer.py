"""Notes what the virtual HIP library runs: every piece of work as commands, each with what it waits for.

A command is noted when it is over, so that a journal never holds one that a fault stopped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import FailedPreconditionError
from hipgraph_cb.journal.noted_work import NotedWork
from hipgraph_cb.journal.notes import Final, Lost, Memory, Note, Ranges
from hipgraph_cb.journal.order import Order
from hipgraph_cb.journal.places import NotKept, Places
from hipgraph_cb.journal.stretch import Stretch
from hipgraph_cb.virtual.hip.objects.stream import wait_for_workers

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
    from hipgraph_cb.virtual.worker import Operation


EVERYTHING = Stretch()


class ProgramObserver:
    """An `Observer` of all devices of a runtime.

    Args:
        add: takes each note.
        stretch: the commands that are noted.
    """

    def __init__(self, runtime: HipRuntime, add: Callable[[Note], None], stretch: Stretch = EVERYTHING) -> None:
        self._runtime = runtime
        self._add = add
        self._stretch = stretch
        self._end = None if stretch.length is None else stretch.first + stretch.length
        self._seen = 0
        self._order = Order()
        self._places = Places(runtime, self._note_memory)
        self._work = NotedWork(runtime, self._places, add)
        self._lock = threading.RLock()
        self._lost: set[str] = set()
        self._ranges: tuple[str, ...] = ()

    def begin(self) -> None:
        """Observe from now on, when what runs now is over.

        Raises:
            FailedPreconditionError: there is another observer.
        """
        if any(gpu.worker.observer is not None for gpu in self._runtime.gpus):
            raise FailedPreconditionError(
                "recorded: this process is being recorded already", next_step="end the other recording first"
            )
        self._attach(self)

    def end(self) -> None:
        """Observe no more; what memory holds then is noted."""
        self._attach(None)
        if self._end is None or self._seen < self._end:
            self._note_finals()

    def _attach(self, observer: ProgramObserver | None) -> None:
        gate = self._runtime.gate
        with gate.lock:
            wait_for_workers(gate, [gpu.worker for gpu in self._runtime.gpus])
            for gpu in self._runtime.gpus:
                gpu.worker.observer = observer

    def enqueued(self, operation: Operation, after: Iterable[Operation]) -> None:
        self._order.enqueued(operation, after)
        operation.noted.ranges = self._runtime.gate.shared.open_ranges()

    def launched(self, operation: Operation, dependents: Sequence[Sequence[int]]) -> None:
        self._order.launched(operation, dependents)

    def waited(self, operations: Iterable[Operation]) -> None:
        self._order.waited(operations)

    def waited_for_all(self) -> None:
        self._order.waited_for_all()

    def not_observed(self, label: str) -> None:
        self._lose(f"{label}: it is not made of HIP's commands")

    def run(self, work: Any, runtime: HipRuntime, gpu: Any, operation: Operation, node: int | None) -> None:
        with runtime.gate.lock:
            waits = self._order.waits(operation, node)
        ranges = () if operation.noted is None else operation.noted.ranges
        notes = self._prepared(work, gpu, ranges)
        work.run(runtime, gpu, operation)
        with self._lock:
            with runtime.gate.lock:
                numbered = self._order.ran(operation, node, waits, len(notes))
            if notes:
                self._note_ranges(ranges)
            for note, behind in zip(notes, numbered, strict=True):
                self._add(note._replace(waits=tuple(sorted(behind))))
            if notes:
                self._work.remember(notes)
            if notes and self._seen == self._end:
                self._note_finals()

    def _prepared(self, work: Any, gpu: Any, ranges: tuple[str, ...]) -> list[Any]:
        """The notes of a piece of work that is about to run, without what they wait for."""
        with self._lock:
            if not self._work.is_command(work) or self._stretch.within not in (None, *ranges):
                return []
            self._seen += 1
            if self._seen <= self._stretch.first or (self._end is not None and self._seen > self._end):
                return []
            try:
                if gpu.target != self._runtime.gpus[0].target:
                    raise NotKept(f"it runs on {gpu.target}, and a recording is for one kind of GPU")
                with self._runtime.gate.lock:
                    return self._work.notes(work)
            except NotKept as reason:
                self._lose(f"{work.label}: {reason}")
                return []

    def _note_ranges(self, labels: tuple[str, ...]) -> None:
        if labels != self._ranges:
            self._ranges = labels
            self._add(Ranges(labels))

    def _note_memory(self, memory: Memory) -> None:
        self._add(memory)

    def _note_finals(self) -> None:
        with self._runtime.gate.lock:
            for number, region in self._places.living():
                self._add(Final(number, self._places.contents(region).tobytes()))

    def _lose(self, what: str) -> None:
        if what not in self._lost:
            self._lost.add(what)
            self._add(Lost(what))
