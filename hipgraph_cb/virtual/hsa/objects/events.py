"""The thread that calls back into the program: queue errors, system events, signal handlers, asynchronous functions."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable

from hipgraph_cb.virtual.callbacks import CallGate
from hipgraph_cb.virtual.machine import Machine


class Events:
    """Calls made in order, on a thread of their own, without the lock. The methods need the lock."""

    def __init__(self, gate: CallGate, machine: Machine) -> None:
        self._gate = gate
        self._machine = machine
        self._calls: deque[tuple[Hashable, Callable[[], object]]] = deque()
        self._running: Hashable = None
        self._posted = threading.Condition(gate.lock)
        self._thread: threading.Thread | None = None

    def post(self, owner: Hashable, call: Callable[[], object]) -> None:
        """Have `call` made soon, unless `owner` is forgotten before."""
        self._calls.append((owner, call))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="hipgraph_cb-hsa-events", daemon=True)
            self._machine.helpers.append((self._thread, self._posted))
            self._thread.start()
        self._posted.notify()

    def forget(self, owner: Hashable) -> None:
        """Make no more calls for `owner`: when this returns, the program may free what they would have used.

        From within a call of its own, that one goes on.
        """
        kept = [entry for entry in self._calls if entry[0] != owner]
        self._calls.clear()
        self._calls.extend(kept)
        if threading.current_thread() is not self._thread:
            self._gate.wait(lambda: self._running != owner)

    def forget_all(self) -> None:
        """Make no more calls."""
        self._calls.clear()
        if threading.current_thread() is not self._thread:
            self._gate.wait(lambda: self._running is None)

    def _run(self) -> None:
        with self._gate.lock:
            while not self._gate.shared.closing:
                if not self._calls:
                    self._posted.wait()
                    continue
                self._running, call = self._calls.popleft()
                try:
                    with self._gate.shared.unlocked():
                        call()
                finally:
                    self._running = None
                    self._gate.changed.notify_all()
