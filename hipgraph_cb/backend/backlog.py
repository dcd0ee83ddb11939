"""What must outlive its owner because launches may still use it (R5).

A program that is closed or collected while it runs is put here together with the tickets of its launches, and so is
memory that it was bound to before. Each sweep gives back what is done. Nothing here waits.
"""

from __future__ import annotations

from typing import Protocol

from hipgraph_cb.backend.queue import LaunchQueue

FIRST_SWEEP = 64


class Retired(Protocol):
    """Something that nobody will use again, but launches may."""

    @property
    def tickets(self) -> dict[LaunchQueue, int]: ...

    def release(self) -> None: ...


class Needs(Retired, Protocol):
    """What the launches of a program need.

    Attributes:
        is_let_go: whether the program was closed, or taken by the garbage collector.
    """

    is_let_go: bool


class Backlog:
    """The retired things of one device. Safe to enter from a finalizer at any moment: it takes no lock."""

    def __init__(self) -> None:
        self._waiting: list[Retired] = []
        self._next_sweep = FIRST_SWEEP

    def __len__(self) -> int:
        return len(self._waiting)

    def let_go(self, needs: Needs) -> None:
        """Retire what a program needs, when it is closed or collected."""
        needs.is_let_go = True
        self.retire(needs)

    def retire(self, retired: Retired) -> None:
        """Give `retired` back now if its launches are done, else at a later sweep.

        A sweep follows when the backlog has doubled, so that retiring costs the same however much is waiting.
        """
        for queue in retired.tickets:
            queue.refresh()
        if _is_done(retired):
            retired.release()
            return
        self._waiting.append(retired)
        if len(self._waiting) >= self._next_sweep:
            self.sweep()
            self._next_sweep = max(FIRST_SWEEP, 2 * len(self._waiting))

    def sweep(self) -> None:
        """Give back whatever is done."""
        for queue in {queue for retired in tuple(self._waiting) for queue in retired.tickets}:
            queue.refresh()
        waiting, self._waiting = self._waiting, []
        for retired in waiting:
            if _is_done(retired):
                retired.release()
            else:
                self._waiting.append(retired)


def _is_done(retired: Retired) -> bool:
    return all(queue.is_done(ticket) for queue, ticket in retired.tickets.items())
