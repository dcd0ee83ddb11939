"""The ranges that are open: of each thread, which nest, and of the whole process."""

from __future__ import annotations

import itertools

from hipgraph_cb.virtual.callbacks import CallGate
from hipgraph_cb.virtual.thread_states import ThreadStates


class Ranges:
    """State of the library; its functions get it as their first argument."""

    def __init__(self, gate: CallGate) -> None:
        self.gate = gate
        self._stacks: ThreadStates[list[str]] = ThreadStates(list, lambda stack: None, gate.interrupts.in_callback)
        self._started: dict[int, str] = {}
        self._numbers = itertools.count(1)

    @property
    def stack(self) -> list[str]:
        """The calling thread's own, outermost first."""
        return self._stacks.current()

    def start(self, label: str) -> int:
        """Open a range of the process; returns its number."""
        number = next(self._numbers)
        self._started[number] = label
        return number

    def stop(self, number: int) -> None:
        self._started.pop(number, None)

    def open(self) -> tuple[str, ...]:
        """The labels of all that are open for the calling thread, those of the process first."""
        return (*self._started.values(), *self.stack)
