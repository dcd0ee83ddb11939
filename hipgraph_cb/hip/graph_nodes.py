"""The nodes of a section, one after the other by its plan: for recordings with more than fills, copies and dispatches.

A signal becomes an event-record node, a wait for another recording's signal an event-wait node. A wait for a signal of
the same program is an empty node: the edges say it all. Collectives are captured from a stream, as RCCL wants it.
The commands of a nested recording become nodes of the same graph. Child graph nodes are not used: AMD's runtime (6.4.3)
was seen to lose the order between a child graph and its neighbours, in 2 of 12 random graphs with branches, and in none
where the same nodes stood in one graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.backend.nested_scope import signalled_in
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hip.dependencies import DependencyArray
from hipgraph_cb.hip.launch_options import set_options
from hipgraph_cb.hip.lowering import add_nodes
from hipgraph_cb.hip.node_kinds import NODE_KINDS
from hipgraph_cb.hip.partition import Section
from hipgraph_cb.hip.prepared import PreparedNodes
from hipgraph_cb.recording.commands import (
    Collectives,
    Command,
    Dispatch,
    ExecuteCommands,
    ResetEvent,
    SignalEvent,
    WaitEvents,
)
from hipgraph_cb.recording.dependencies import CommandNode
from hipgraph_cb.recording.events import EventStates, nested_in
from hipgraph_cb.recording.launch_options import options_in

if TYPE_CHECKING:
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.commands import CommandArguments
    from hipgraph_cb.hip.joins import Joiner


def in_graphs() -> frozenset[type[Command]]:
    """What can be a node, or nothing, in a graph."""
    return frozenset({*NODE_KINDS, ExecuteCommands, SignalEvent, ResetEvent, WaitEvents, Collectives})


def add_section(
    api: HipApi,
    graph: Any,
    section: Section,
    joiner: Joiner,
    arguments: CommandArguments,
    nodes: PreparedNodes,
) -> list[Any]:
    """Add the nodes of a section; returns them by command, counted from its start.

    Raises:
        HipError: HIP refused a node; the message names the command.
    """
    recording = section.scope.recording
    is_simple = section.is_whole and recording.dependencies is None and recording.kinds <= NODE_KINDS.keys()
    if is_simple and not any(options_in(recording)):
        return add_nodes(api, graph, recording, joiner, nodes)
    return _SectionNodes(api, graph, section, joiner, arguments, nodes, []).add_all()


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
        nodes: PreparedNodes,
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
        self._nodes = nodes
        self._has_options = any(options_in(self._recording))
        self._states = EventStates()
        self._states.outcomes.update(dict.fromkeys(section.signalled, True))

    def add_all(self) -> list[int]:
        array = DependencyArray()
        made: list[int] = []
        handles: list[int] = []
        waits: tuple[int, ...] | None = None
        pointer: Any = array.pointer
        waited: set[int] = set()
        planned = tuple(self._section.plan(self._joiner.policy, self._joiner.auto))
        if not self._entry and sum(not node.dependencies for node in planned) > 1:
            self._entry = [self._joiner.add_root(self._graph)]
        for node in planned:
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
        call, parameters = self._nodes.of(index)
        if call is None:
            return self._add_other(index, self._section.scope.table[index], pointer, count)
        try:
            if call.image is None:
                code, node = call.add(self._graph, pointer, count, *parameters)  # type: ignore[misc]
            else:
                call.image.raw = parameters
                code, node = call.add(self._graph, pointer, count, call.native)
        except (RuntimeError, ValueError) as error:
            raise self._api.failure(call.name, error, self._recording.where(index)) from error
        if code:
            raise self._api.error(call.name, code, self._recording.where(index))
        if self._has_options:
            self._set_options(index, node)
        return int(node)

    def _set_options(self, index: int, node: Any) -> None:
        command = self._section.scope.table[index]
        if isinstance(command, Dispatch):
            set_options(self._api, node, command, self._arguments, self._section.scope.where(index))

    def _add_other(self, index: int, command: Command, pointer: Any, count: int) -> int:
        """A node that is neither a fill nor a copy nor a dispatch."""
        try:
            handle = self._add_node(index, command, pointer, count)
        except HipGraphError as error:
            raise error.located(self._recording.where(index)) from None
        self._states.enter(command, nested_in(self._recording, command))
        return handle

    def _add_node(self, index: int, command: Command, pointer: Any, count: int) -> int:
        if self._section.scope.outer is None and index in self._arguments.disabled:
            return int(self._api.call("hipGraphAddEmptyNode", self._graph, pointer, count))
        if isinstance(command, ExecuteCommands):
            return self._add_nested(index)
        if isinstance(command, SignalEvent):
            event = self._arguments.event(command.event)
            return int(self._api.call("hipGraphAddEventRecordNode", self._graph, pointer, count, event))
        if isinstance(command, WaitEvents):
            return self._add_wait(command, pointer, count)
        if isinstance(command, Collectives):
            rank = self._arguments.rank(command.channel)
            return rank.add_node(self._graph, pointer, count, command.operations, self._arguments.place)
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

    def _add_nested(self, index: int) -> int:
        """The nodes of a nested recording behind what the command waits for; returns the one behind them all."""
        scope = self._section.scope.nested(index, signalled_in(self._states))
        section = Section(scope, 0, len(scope.recording), scope.signalled)
        nodes = _SectionNodes(
            self._api,
            self._graph,
            section,
            self._joiner,
            self._arguments,
            PreparedNodes(self._api, scope, self._arguments, whole=False),
            self._waited_for,
        )
        nodes.add_all()
        if len(nodes.ends) == 1:
            return nodes.ends[0]
        array = DependencyArray()  # the pointer leads into it
        pointer = array.write(nodes.ends)
        return int(self._api.call("hipGraphAddEmptyNode", self._graph, pointer, len(nodes.ends)))
