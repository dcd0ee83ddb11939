"""What stands for the slots of one program, and which nodes have yet to hear of it.

Our record is the truth (P3): a node is stale from the moment a slot that it uses changes until HIP has taken its new
arguments. A change that fails half-way leaves the rest stale, and the next replay goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.graph import ExecutableGraph

if TYPE_CHECKING:
    from hipgraph_cb.hip.handle import Handle
    from hipgraph_cb.hip.queue import Queue
    from hipgraph_cb.recording.bindings import BoundRange
    from hipgraph_cb.recording.recording import Recording

Table = Mapping[int, "BoundRange"]


class SlotRecord:
    """The table that a program runs with: the one in its `arguments`.

    Attributes:
        handles: what keeps the memory of the table alive.
    """

    def __init__(self, recording: Recording, arguments: CommandArguments) -> None:
        self._recording = recording
        self._arguments = arguments
        self._stale: set[int] = set()
        self.handles = handles_of(arguments.slots)

    @property
    def table(self) -> Table:
        return self._arguments.slots

    def rebind(self, graph: ExecutableGraph, table: Table) -> None:
        """Change every node that uses a slot whose memory is another one now.

        Raises:
            HipError: HIP refused a change; the table of before stays in force.
        """
        before = self._arguments.slots
        for slot, bound in table.items():
            if bound != before[slot]:
                self._stale.update(self._recording.slots[slot].commands)
        if not self._stale:
            return
        touched = sorted(self._stale)
        self._arguments.slots = table
        try:
            for index in touched:
                graph.change(index)
                self._stale.discard(index)
        except BaseException:
            self._arguments.slots = before
            self._stale.update(touched)
            raise
        self.handles = handles_of(table)


class FormerBindings:
    """Memory that a program does not use any more, but launches may.

    Attributes:
        tickets: the last launch on each queue that used it.
    """

    def __init__(self, tickets: dict[Queue, int], handles: list[Handle]) -> None:
        self.tickets = tickets
        self._handles = handles

    def release(self) -> None:
        self._handles.clear()


def handles_of(table: Table) -> list[Handle]:
    """What keeps the memory of a table alive."""
    return [bound.buffer.handle for bound in table.values()]
