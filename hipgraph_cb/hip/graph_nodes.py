"""The nodes of a section, one after the other by its plan: for recordings with more than fills, copies and dispatches.

A signal becomes an event-record node, a wait for another recording's signal an event-wait node. A wait for a signal of
the same program is an empty node: the edges say it all. The commands of a nested recording become nodes of the same
graph. Child graph nodes are not used: AMD's runtime (6.4.3) was seen to lose the order between a child graph and its
neighbours, in 2 of 12 random graphs with branches, and in none where the same nodes stood in one graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hip.dependencies import DependencyArray
from hipgraph_cb.hip.lowering import ADD, add_nodes, functions_for
from hipgraph_cb.hip.partition import Scope, Section
from hipgraph_cb.recording.commands import Command, ExecuteCommands, ResetEvent, SignalEvent, WaitEvents
from hipgraph_cb.recording.dependencies import CommandNode
from hipgraph_cb.recording.events import EventStates, nested_in

if TYPE_CHECKING:
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.commands import CommandArguments
    from hipgraph_cb.hip.joins import Joiner

IN_GRAPHS = frozenset({*ADD, ExecuteCommands, SignalEvent, ResetEvent, WaitEvents})
"""What can be a node, or nothing, in a graph."""


def add_section(api: HipApi, graph: Any, section: Section, joiner: Joiner, arguments: CommandArguments) -> list[int]:
    """Add the nodes of a section; returns the handles by command, counted from its start.

    Raises:
        HipError: HIP refused a node; the message names the command.
    """
    recording = section.scope.recording
    if section.is_whole and recording.dependencies is None and recording.kinds <= ADD.keys():
        return add_nodes(api, graph, recording, joiner, arguments)
    return _SectionNodes(api, graph, section, joiner, arguments, []).add_all()


class _SectionNodes:
    """The nodes of one section while they are added.

    Args:
        entry: what the nodes wait for that wait for nothing else.

    Attributes:
        ends: the nodes that no other one waits for.
    """

    def __init__(
        self,
        api: HipApi,
        graph: Any,
        section: Section,
        joiner: Joiner,
        arguments: CommandArguments,
        entry: list[int],
    ) -> None:
        self._api = api
        self._graph = graph
        self._section = section
        self._recording = section.scope.recording
        self._joiner = joiner
        self._arguments = arguments
        self._entry = entry
        self._waited_for = entry
        self.ends: list[int] = []
        self._names = functions_for(ADD, arguments)
        self._functions = {kind: api.function(name) for kind, name in self._names.items()}
        self._states = EventStates()
        self._states.outcomes.update(dict.fromkeys(section.signalled, True))

    def add_all(self) -> list[int]:
        array = DependencyArray()
        made: list[int] = []
        handles: list[int] = []
        waits: tuple[int, ...] | None = None
        pointer: Any = array.pointer
        waited: set[int] = set()
        for node in self._section.plan(self._joiner.policy, self._joiner.auto):
            if node.dependencies is not waits:
                waits = node.dependencies
                waited.update(waits)
                self._waited_for = [made[wait] for wait in waits] if waits else self._entry
                pointer = array.write(self._waited_for)
            count = len(self._waited_for)
            if isinstance(node, CommandNode):
                handle = self._add(node.command, pointer, count)
                handles.append(handle)
            else:
                handle = self._joiner.add(self._graph, node.kind, pointer, count)
            made.append(handle)
        self.ends = [handle for position, handle in enumerate(made) if position not in waited]
        return handles

    def _add(self, index: int, pointer: Any, count: int) -> int:
        command = self._recording.stored[index]
        kind = type(command)
        add = self._functions.get(kind)
        if add is None:
            return self._add_other(index, command, pointer, count)
        try:
            code, node = add(self._graph, pointer, count, *self._arguments.prepare(command))
        except (RuntimeError, ValueError) as error:
            raise self._api.failure(self._names[kind], error, self._recording.where(index)) from error
        if code:
            raise self._api.error(self._names[kind], code, self._recording.where(index))
        return int(node)

    def _add_other(self, index: int, command: Command, pointer: Any, count: int) -> int:
        """A node that is neither a fill nor a copy nor a dispatch."""
        try:
            handle = self._add_node(index, command, pointer, count)
        except HipGraphError as error:
            raise error.located(self._recording.where(index)) from None
        self._states.enter(command, nested_in(self._recording, command))
        return handle

    def _add_node(self, index: int, command: Command, pointer: Any, count: int) -> int:
        if isinstance(command, ExecuteCommands):
            return self._add_nested(index, command)
        if isinstance(command, SignalEvent):
            event = self._arguments.event(command.event)
            return int(self._api.call("hipGraphAddEventRecordNode", self._graph, pointer, count, event))
        if isinstance(command, WaitEvents):
            return self._add_wait(command, pointer, count)
        return int(self._api.call("hipGraphAddEmptyNode", self._graph, pointer, count))

    def _add_wait(self, command: WaitEvents, pointer: Any, count: int) -> int:
        """One node for each event of others, in a chain."""
        node: int | None = None
        behind = DependencyArray()
        for event in command.events:
            if self._states.outcomes.get(event) is not True:
                if node is not None:
                    pointer, count = behind.write([node]), 1
                native = self._arguments.event(event)
                node = int(self._api.call("hipGraphAddEventWaitNode", self._graph, pointer, count, native))
        if node is None:
            node = int(self._api.call("hipGraphAddEmptyNode", self._graph, pointer, count))
        return node

    def _add_nested(self, index: int, command: ExecuteCommands) -> int:
        """The nodes of a nested recording behind what the command waits for; returns the one behind them all."""
        nested = self._recording.resources.recordings[command.recording].recording
        signalled = frozenset(event for event, is_signalled in self._states.outcomes.items() if is_signalled)
        section = Section(Scope(nested, self._section.scope, index), 0, len(nested), signalled)
        arguments = self._arguments.nested(command)
        nodes = _SectionNodes(self._api, self._graph, section, self._joiner, arguments, self._waited_for)
        nodes.add_all()
        if len(nodes.ends) == 1:
            return nodes.ends[0]
        array = DependencyArray()  # the pointer leads into it
        pointer = array.write(nodes.ends)
        return int(self._api.call("hipGraphAddEmptyNode", self._graph, pointer, len(nodes.ends)))
