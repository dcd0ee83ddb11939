"""What must outlive its owner because launches may still use it (R5).

A program that is closed or collected while it runs is put here together with the tickets of its launches. Each sweep
gives back what is done. Nothing here waits.
"""

from __future__ import annotations

from typing import Protocol

from hipgraph_cb.hip.queue import Queue


class Retired(Protocol):
    """Something that nobody will use again, but launches may."""

    tickets: dict[Queue, int]

    def release(self) -> None: ...


class Backlog:
    """The retired things of one device. Safe to enter from a finalizer at any moment: it takes no lock."""

    def __init__(self) -> None:
        self._waiting: list[Retired] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def retire(self, retired: Retired) -> None:
        """Give `retired` back now if its launches are done, else at a later sweep."""
        self._waiting.append(retired)
        self.sweep()

    def sweep(self) -> None:
        """Give back whatever is done."""
        for _ in range(len(self._waiting)):
            try:
                retired = self._waiting.pop(0)
            except IndexError:  # another sweep, entered from a finalizer, has emptied the list
                return
            if all(queue.is_done(ticket) for queue, ticket in retired.tickets.items()):
                retired.release()
            else:
                self._waiting.append(retired)
