"""Memory that stood in the slots of a program before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraph_cb.backend.handle import Handle
    from hipgraph_cb.backend.queue import LaunchQueue
    from hipgraph_cb.recording.bindings import BoundRange


class FormerBindings:
    """Memory that a program does not use any more, but launches may.

    Attributes:
        tickets: the last launch on each queue that used it.
    """

    def __init__(self, tickets: dict[LaunchQueue, int], handles: list[Handle]) -> None:
        self.tickets = tickets
        self._handles = handles

    def release(self) -> None:
        self._handles.clear()


def handles_of(table: Mapping[int, BoundRange]) -> list[Handle]:
    """What keeps the memory of a table alive."""
    return [bound.buffer.handle for bound in table.values()]
