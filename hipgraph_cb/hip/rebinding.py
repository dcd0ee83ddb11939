"""What stands for the slots of one program, and which nodes have yet to hear of it.

Our record is the truth (P3): a node is stale from the moment a slot that it uses changes until HIP has taken its new
arguments. A change that fails half-way leaves the rest stale, and the next replay goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.graph import ProgramGraphs

if TYPE_CHECKING:
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.recording.bindings import BoundRange
    from hipgraph_cb.recording.recording import Recording

Table = Mapping[int, "BoundRange"]


class SlotRecord:
    """The table that a program runs with: the one in its `arguments`.

    Args:
        handles: what keeps the memory of the table alive.
        changes_nodes: whether the nodes of a graph may be changed; if not, it is made anew.

    Attributes:
        handles: what keeps the memory of the table alive.
    """

    def __init__(
        self, recording: Recording, arguments: CommandArguments, handles: list[Handle], changes_nodes: bool = True
    ) -> None:
        self._changes_nodes = changes_nodes
        self._recording = recording
        self.arguments = arguments
        self._stale: set[int] = set()
        self.handles = handles

    @property
    def table(self) -> Table:
        return self.arguments.slots

    def take(self, table: Table, handles: list[Handle]) -> None:
        """Let the slots stand for what `table` says; the graph has yet to hear of it."""
        before = self.arguments.slots
        changed = [slot for slot, bound in table.items() if bound != before[slot]]
        if changed:
            for slot in changed:
                self._stale.update(self._recording.slots[slot].commands)
            self.arguments.slots = table
            self.handles = handles

    def tell(
        self,
        graphs: ProgramGraphs,
        table: Table,
        handles: list[Handle],
        rebuild: Callable[[CommandArguments], ProgramGraphs],
    ) -> None:
        """Take a table and change every node whose memory is another one now, or rebuild the graphs where that fails.

        Raises:
            HipError: HIP refused a change; the table of before stays in force.
        """
        before, handles_before = self.arguments.slots, self.handles
        self.take(table, handles)
        touched = sorted(self._stale)
        if not touched:
            return
        try:
            if self._changes_nodes and all(map(graphs.can_change, touched)):
                for index in touched:
                    graphs.change(index)
                    self._stale.discard(index)
            else:
                rebuild(self.arguments)
                self._stale.clear()
        except BaseException:
            self.arguments.slots, self.handles = before, handles_before
            self._stale.update(touched)
            raise
