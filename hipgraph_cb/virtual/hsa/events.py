"""The thread that calls back into the program: queue errors, system events, signal handlers, asynchronous functions."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from hipgraph_cb.virtual.callbacks import CallGate
from hipgraph_cb.virtual.machine import Machine


class Events:
    """Calls made in order, on a thread of their own, without the lock. `post` needs the lock."""

    def __init__(self, gate: CallGate, machine: Machine) -> None:
        self._gate = gate
        self._machine = machine
        self._calls: deque[Callable[[], object]] = deque()
        self._posted = threading.Condition(gate.lock)
        self._thread: threading.Thread | None = None

    def post(self, call: Callable[[], object]) -> None:
        self._calls.append(call)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="hipgraph_cb-hsa-events", daemon=True)
            self._machine.helpers.append((self._thread, self._posted))
            self._thread.start()
        self._posted.notify()

    def _run(self) -> None:
        with self._gate.lock:
            while not self._gate.shared.closing:
                if not self._calls:
                    self._posted.wait()
                    continue
                call = self._calls.popleft()
                self._gate.lock.release()
                try:
                    call()
                finally:
                    self._gate.lock.acquire()
