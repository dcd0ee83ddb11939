"""HIP graphs and their executable form, built so that a failure leaves nothing behind (P1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import TYPE_CHECKING, Any

from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.cached import cached_property
from hipgraph_cb.errors import HipError
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.graph_nodes import add_section
from hipgraph_cb.hip.launch_options import USE_NODE_PRIORITY
from hipgraph_cb.hip.lowering import change_nodes
from hipgraph_cb.hip.node_kinds import NODE_KINDS, SWITCHABLE
from hipgraph_cb.hip.partition import IndirectCalls, Section, Step
from hipgraph_cb.hip.prepared import PreparedNodes
from hipgraph_cb.recording.commands import Collectives, DispatchIndirect, ExecuteCommands
from hipgraph_cb.recording.launch_options import options_in

if TYPE_CHECKING:
    from hipgraph_cb.backend.nested_scope import NestedScope
    from hipgraph_cb.hip.joins import Joiner
    from hipgraph_cb.recording.recording import Recording


class ExecutableGraph:
    """One section of a program, ready to be launched.

    Attributes:
        api: what it was made with.
        executable: the hipGraphExec.
    """

    def __init__(
        self,
        api: HipApi,
        section: Section,
        prepared: PreparedNodes | None,
        executable: Handle,
        source: Handle | None,
        nodes: list[Any],
    ) -> None:
        self.executable = executable
        self.api = api
        self._section = section
        self._prepared = prepared
        self._source = source
        self._nodes = nodes
        self._off: set[int] = set()
        self._late: set[int] = set()  # of those that are off: their parameters are set when they are switched on

    @classmethod
    def build(
        cls,
        api: HipApi,
        section: Section,
        joiner: Joiner,
        arguments: CommandArguments,
        prepared: PreparedNodes,
        changeable: bool,
    ) -> ExecutableGraph:
        """Create, fill and instantiate a graph.

        Args:
            changeable: keep the graph and the handles of its nodes, which `change` needs.

        Raises:
            HipError: HIP refused something; everything that was made is released.
        """
        graph = Handle(api, api.call("hipGraphCreate", 0), "hipGraphDestroy")
        try:
            nodes = add_section(api, graph.native, section, joiner, arguments, prepared)
            executable = _instantiate(api, graph, section.scope.recording)
        except BaseException:
            graph.release()
            raise
        made = cls(api, section, prepared if changeable else None, executable, graph, nodes)
        try:
            made.switch(prepared.off)
        except BaseException:
            made.release()
            raise
        if not changeable:
            made.forget_source()
        return made

    def switch(self, off: Set[int]) -> None:
        """Let the nodes of these commands of the outermost recording do nothing, and all others what they do.

        Raises:
            HipError: HIP refused it; the message names the command.
        """
        self.change((), [], off)

    def _enable(self, commands: Set[int], is_on: bool) -> None:
        section = self._section
        for index in sorted(commands):
            node, where = self._nodes[index - section.start], section.scope.recording.where(index)
            self.api.call("hipGraphNodeSetEnabled", self.executable.native, node, int(is_on), where=where)
            (self._off.discard if is_on else self._off.add)(index)

    def take(self, section: Section, prepared: PreparedNodes) -> None:
        """Let the nodes be those of another section, of the same structure."""
        self._section, self._prepared = section, prepared

    def forget_source(self) -> None:
        """Give back the graph that the executable one was made from, which is a whole copy."""
        if self._source is not None:
            self._source.release()
        self._source, self._nodes = None, []

    def change(self, commands: Sequence[int], done: list[int], off: Set[int]) -> None:
        """Give those of some commands of the outermost recording that are nodes of this graph their present parameters,
        and let those of `off` do nothing.

        A node gets its parameters while it is on: AMD's 7.2.4 forgets what is set while it is off (measured).

        Args:
            done: gets each of them when it has them, or will have them when it is switched on.

        Raises:
            HipError: HIP refused something; the message names the command.
        """
        section = self._section
        if section.scope.outer is not None:
            return
        if not section.is_whole:
            commands = [index for index in commands if section.start <= index < section.stop]
            off = {index for index in off if section.start <= index < section.stop}
        self._enable(self._off - off, is_on=True)
        late = off & {*commands} if off else off
        if late or self._late:
            commands = sorted(({*commands} | self._late) - off)
        self._change(commands, done)
        self._late |= late
        done.extend(late)
        self._enable(off - self._off, is_on=False)

    def _change(self, commands: Sequence[int], done: list[int]) -> None:
        section, first = self._section, self._section.start
        if self._prepared is None or not commands:
            return
        made = map(self._nodes.__getitem__, commands if not first else [index - first for index in commands])
        recording, before = section.scope.recording, len(done)
        try:
            change_nodes(self.api, self.executable.native, commands, made, recording, self._prepared, done)
        finally:
            self._late.difference_update(done[before:])

    @property
    def command(self) -> int | None:
        """The command of the outermost recording that all of this belongs to; None for the outermost itself."""
        return self._section.scope.outermost_command

    def release(self) -> None:
        """Give back the executable graph and what it was made from."""
        self.executable.release()
        if self._source is not None:
            self._source.release()


_UNCHANGEABLE = frozenset({ExecuteCommands, Collectives})
Part = ExecutableGraph | IndirectCalls
"""A graph to launch, or dispatches to launch when their counts are known."""


class ProgramGraphs:
    """All that a program launches: one graph, or several with indirect dispatches between them.

    Attributes:
        parts: in the order of launching.
        only: what hipGraphLaunch takes, if one graph is all there is.
        arguments: where memory is.
    """

    def __init__(
        self, recording: Recording, parts: Sequence[Part], arguments: CommandArguments, prepared: PreparedNodes | None
    ) -> None:
        self.parts = tuple(parts)
        self.arguments = arguments
        self._prepared = prepared
        only = self.parts[0] if len(self.parts) == 1 else None
        self.only: Any = only.executable.native if isinstance(only, ExecutableGraph) else None
        self._recording = recording

    @classmethod
    def build(
        cls,
        api: HipApi,
        recording: Recording,
        steps: Sequence[Step],
        joiner: Joiner,
        arguments: CommandArguments,
        changeable: bool,
    ) -> ProgramGraphs:
        """Build the graph of every section.

        Raises:
            HipError: HIP refused something; everything that was made is released.
        """
        parts: list[Part] = []
        prepared: dict[NestedScope, PreparedNodes] = {}
        try:
            for step in steps:
                if isinstance(step, Section):
                    nodes = prepared.get(step.scope) or PreparedNodes(api, step.scope, arguments, changeable)
                    prepared[step.scope] = nodes
                    parts.append(ExecutableGraph.build(api, step, joiner, arguments, nodes, changeable))
                else:
                    parts.append(step)
        except BaseException:
            _release(parts)
            raise
        outermost = next((nodes for scope, nodes in prepared.items() if scope.outer is None), None)
        return cls(recording, parts, arguments, outermost if changeable else None)

    def apply(self) -> list[int] | None:
        """Take the addresses that the slots have now; returns the commands whose nodes have to change, None where
        the graphs were not built to be changed."""
        return None if self._prepared is None else self._prepared.apply()

    @cached_property
    def unchangeable(self) -> frozenset[int]:
        """The commands for which `change` does not do: the nodes of nested recordings and collectives are not kept."""
        table = self._recording.table
        if self._recording.kinds.isdisjoint(_UNCHANGEABLE):
            return frozenset()
        return frozenset(index for index, row in enumerate(table.rows) if table.forms[row].kind in _UNCHANGEABLE)

    def change(self, commands: Sequence[int], done: list[int]) -> None:
        """Give commands their present parameters, and let those that are off do nothing; see there."""
        off: Set[int] = frozenset() if self._prepared is None else self._prepared.off
        for part in self.parts:
            if isinstance(part, ExecutableGraph):
                part.change(commands, done, off)

    def can_become(self, recording: Recording, steps: Sequence[Step]) -> bool:
        """Whether the nodes there are can become what another recording of the same structure says."""
        is_one = len(self.parts) == len(steps) == 1 and isinstance(self.parts[0], ExecutableGraph)
        has_options = any(options_in(recording)) or any(options_in(self._recording))
        return self._prepared is not None and is_one and not has_options and recording.kinds <= NODE_KINDS.keys()

    def become(self, recording: Recording, steps: Sequence[Step], arguments: CommandArguments) -> None:
        """Do what another recording says, for which `can_become` holds.

        Raises:
            HipError: HIP refused something; some nodes are those of the other recording then.
        """
        (part,), (section,), before = self.parts, steps, self._prepared
        if isinstance(part, ExecutableGraph) and isinstance(section, Section) and before is not None:
            nodes = PreparedNodes(part.api, section.scope, arguments)
            part.take(section, nodes)
            part.change(nodes.differing(before), [], nodes.off)
            self.arguments, self._prepared, self._recording = arguments, nodes, recording

    def can_switch(self, commands: Collection[int]) -> bool:
        """Whether the nodes of commands can be switched off and on where they are."""
        kinds = {type(self._recording[index]) for index in commands}
        return self._prepared is not None and kinds <= {*SWITCHABLE, DispatchIndirect}

    def switch(self) -> None:
        """Let nodes that are off do nothing."""
        self.change((), [])

    def release(self) -> None:
        """Give back all graphs."""
        _release(self.parts)


def _release(parts: Sequence[Part]) -> None:
    for part in parts:
        if isinstance(part, ExecutableGraph):
            part.release()


def _instantiate(api: HipApi, graph: Handle, recording: Recording) -> Handle:
    try:
        if any(options.priority for options in options_in(recording)):
            native = api.call("hipGraphInstantiateWithFlags", graph.native, USE_NODE_PRIORITY)
        else:
            native, _error_node, _log = api.call("hipGraphInstantiate", graph.native, 0)
    except HipError as error:
        name = "a recording" if recording.label is None else f"recording {recording.label!r}"
        raise error.located(f"{name} of {len(recording)} commands") from None
    return Handle(api, native, "hipGraphExecDestroy")
