"""The thread that runs what was enqueued on one virtual device.

Operations form a graph: each waits for those it was submitted after. Among the ready ones the worker picks the next
by a seeded random generator, one step at a time, so independent work interleaves in an arbitrary order that can be
repeated. When an operation fails, those behind it fail too.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hipgraph_cb.virtual.callbacks import SharedCalls

if TYPE_CHECKING:
    from hipgraph_cb.virtual.observer import Observer

# How long an idle worker waits before it looks again for what programs write to memory without a call.
_SHORTEST_LOOK, _LONGEST_LOOK = 0.00005, 0.004


@dataclass(frozen=True)
class Failure:
    """Why an operation did not run to its end: the code that a wait returns, and the text for the fault report."""

    code: int
    text: str


class Operation:
    """A piece of enqueued work.

    Args:
        step: does a part of the work, without the lock; returns True when nothing is left. It gets the
            operation, to ask `should_stop` of.
        label: what it is, for people.

    Attributes:
        is_done: it has run, failed or been skipped.
        failure: why it did not run to its end; None before, and after a success.
        started, finished: seconds of `time.perf_counter`, 0.0 before.
        stop_reason: set to make it stop early.
        is_waiting: its last step found nothing to do, before something else happens.
        noted: what an observer remembers of it.
    """

    __slots__ = (
        "_blockers",
        "_followers",
        "_inherited",
        "failure",
        "finished",
        "is_done",
        "is_waiting",
        "label",
        "noted",
        "started",
        "step",
        "stop_reason",
        "worker",
    )

    def __init__(self, worker: Worker, step: Callable[[Operation], bool], label: str) -> None:
        self.worker = worker
        self.step = step
        self.label = label
        self.is_done = False
        self.failure: Failure | None = None
        self.started = 0.0
        self.finished = 0.0
        self.stop_reason: str | None = None
        self.is_waiting = False
        self.noted: Any = None
        self._blockers = 0
        self._followers: list[tuple[Operation, bool]] = []
        self._inherited: Failure | None = None

    def _wait_for(self, other: Operation, inherits: bool) -> None:
        if not other.is_done:
            other._followers.append((self, inherits))
            self._blockers += 1
        elif inherits and other.failure is not None:
            self._inherited = self._inherited or other.failure


class Worker:
    """One device's worker. All methods except the thread itself need the lock of `calls`.

    Args:
        on_failure: called, with the lock, with an operation and the exception that ended it.

    Attributes:
        random: decides among ready work; seeded.
        observer: who is told of all work, or None.
        running: the operation whose step runs now.
    """

    def __init__(
        self, calls: SharedCalls, seed: int, name: str, on_failure: Callable[[Operation, BaseException], Failure]
    ) -> None:
        self._calls = calls
        self.random = random.Random(seed)
        self._name = name
        self._on_failure = on_failure
        self._ready: list[Operation] = []
        self._wake = threading.Condition(calls.lock)
        self._thread: threading.Thread | None = None
        self._unfinished = 0
        self._watches: list[Callable[[], bool]] = []
        self._idle_seconds = _SHORTEST_LOOK
        self.running: Operation | None = None
        self.observer: Observer | None = None

    @property
    def is_alone(self) -> bool:
        """Nothing is ready besides the operation that runs, and it was not asked to stop. Without the lock."""
        running = self.running
        return len(self._ready) == 1 and running is not None and running.stop_reason is None

    @property
    def is_idle(self) -> bool:
        """Everything submitted is done."""
        return self._unfinished == 0

    def submit(
        self,
        step: Callable[[Operation], bool],
        label: str,
        after: Iterable[Operation] = (),
        ordered_after: Iterable[Operation] = (),
    ) -> Operation:
        """Enqueue work behind other operations.

        Args:
            after: what it depends on: if one of these fails, it is skipped with the same error.
            ordered_after: what only has to end before it.
        """
        operation = Operation(self, step, label)
        after, ordered_after = tuple(after), tuple(ordered_after)
        for other in after:
            operation._wait_for(other, inherits=True)
        for other in ordered_after:
            operation._wait_for(other, inherits=False)
        if self.observer is not None:
            self.observer.enqueued(operation, after + ordered_after)
        self._unfinished += 1
        if operation._blockers == 0:
            self._make_ready(operation)
        return operation

    def add_watch(self, watch: Callable[[], bool]) -> None:
        """Have `watch` called between operations. It may submit some; while it returns True it is called often."""
        self._watches.append(watch)

    def watch(self) -> None:
        """Start calling the watches, although nothing was submitted yet."""
        self._idle_seconds = _SHORTEST_LOOK
        self._start()
        self._wake.notify()

    def stop_running(self, reason: str) -> None:
        """Ask the operation that runs now, if any, and those that have begun and wait, to stop."""
        for operation in self._ready:
            if operation is self.running or operation.is_waiting:
                operation.stop_reason = reason

    def join(self, seconds: float) -> None:
        """Wait for the thread to end, after `calls` have been closed. Without the lock."""
        with self._calls.lock:
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)

    def _make_ready(self, operation: Operation) -> None:
        if operation._inherited is not None:
            self._finish(operation, operation._inherited)
            return
        self._ready.append(operation)
        self._start()
        self._wake.notify()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def _finish(self, operation: Operation, failure: Failure | None) -> None:
        finished = [(operation, failure)]
        while finished:
            done, reason = finished.pop()
            done.is_done = True
            done.failure = reason
            done.finished = time.perf_counter()
            done.worker._unfinished -= 1
            followers, done._followers = done._followers, []
            for follower, inherits in followers:
                if inherits and reason is not None:
                    follower._inherited = follower._inherited or reason
                follower._blockers -= 1
                if follower._blockers == 0:
                    if follower._inherited is not None:
                        finished.append((follower, follower._inherited))
                    else:
                        follower.worker._make_ready(follower)
        self._calls.changed.notify_all()

    def _run(self) -> None:
        with self._calls.lock:
            self._calls.add_worker()
            while not self._calls.closing:
                is_watching = [watch() for watch in self._watches]
                if not self._ready:
                    self._rest(self._idle_seconds if any(is_watching) else None)
                    continue
                self._take_a_step(self._ready[self.random.randrange(len(self._ready))])
                if self._ready and all(operation.is_waiting for operation in self._ready):
                    self._rest(self._idle_seconds)
                else:
                    self._idle_seconds = _SHORTEST_LOOK

    def _rest(self, seconds: float | None) -> None:
        self._wake.wait(seconds)
        self._idle_seconds = min(2 * self._idle_seconds, _LONGEST_LOOK)

    def _take_a_step(self, operation: Operation) -> None:
        self.running = operation
        error: BaseException | None = None
        try:
            with self._calls.unlocked():
                if not operation.started:
                    operation.started = time.perf_counter()
                is_finished = operation.step(operation)
        except BaseException as failure:  # noqa: BLE001 - the waiting call reports any error
            is_finished, error = True, failure
        self.running = None
        if is_finished:
            self._ready.remove(operation)
            self._finish(operation, None if error is None else self._on_failure(operation, error))
