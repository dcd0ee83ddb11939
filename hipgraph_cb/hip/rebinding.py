"""What is in the slots of one program, and which nodes have yet to hear of it.

Our record is the truth (P3): a node is stale from the moment a slot that it uses changes until HIP has taken its new
arguments. A change that fails half-way leaves the rest stale, and the next replay goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.graph import ProgramGraphs

if TYPE_CHECKING:
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.recording.binding_table import Table


class SlotRecord:
    """The table that a program runs with: the one in its `arguments`.

    Attributes:
        handles: what keeps the memory of the table alive.
    """

    def __init__(self, arguments: CommandArguments, handles: list[Handle]) -> None:
        self.arguments = arguments
        self._stale: list[int] = []
        self._reported: Table = arguments.slots
        self.handles = handles

    @property
    def table(self) -> Table:
        return self.arguments.slots

    def take(self, table: Table, handles: list[Handle]) -> None:
        """Let the slots stand for what `table` says; the graph has yet to hear of it."""
        before = self.arguments.slots
        changed = [slot for slot, bound in table.items() if bound != before[slot]]
        if changed:
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
        try:
            self._tell(graphs, rebuild)
        except BaseException:
            self.arguments.slots, self.handles = before, handles_before
            self._are_stale(graphs.apply() or ())
            raise
        self._reported = table

    def _tell(self, graphs: ProgramGraphs, rebuild: Callable[[CommandArguments], ProgramGraphs]) -> None:
        moved = graphs.apply()
        if moved is not None:
            self._are_stale(moved)
            if not graphs.unchangeable or graphs.unchangeable.isdisjoint(self._stale):
                self._change(graphs)
                return
        elif self.arguments.slots == self._reported:
            return
        rebuild(self.arguments)
        self._stale = []

    def _are_stale(self, commands: Collection[int]) -> None:
        """Note more commands whose nodes have yet to hear; ascending ones, as those of before."""
        self._stale = sorted({*self._stale, *commands}) if self._stale else list(commands)

    def _change(self, graphs: ProgramGraphs) -> None:
        done: list[int] = []
        try:
            graphs.change(self._stale, done)
        except BaseException:
            self._stale = sorted(set(self._stale).difference(done))
            raise
        self._stale = []  # those that are not done are no nodes: what they read at each launch
