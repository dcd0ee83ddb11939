"""HIP graphs and their executable form, built so that a failure leaves nothing behind (P1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.errors import HipError
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.graph_nodes import add_section
from hipgraph_cb.hip.lowering import change_node
from hipgraph_cb.hip.partition import IndirectCalls, Scope, Section, Step
from hipgraph_cb.recording.commands import ExecuteCommands

if TYPE_CHECKING:
    from hipgraph_cb.hip.joins import Joiner
    from hipgraph_cb.recording.recording import Recording


class ExecutableGraph:
    """One section of a program, ready to be launched.

    Attributes:
        executable: the hipGraphExec.
    """

    def __init__(
        self,
        api: HipApi,
        section: Section,
        arguments: CommandArguments,
        executable: Handle,
        source: Handle | None,
        nodes: list[int],
    ) -> None:
        self.executable = executable
        self._api = api
        self._section = section
        self._arguments = arguments
        self._source = source
        self._nodes = nodes

    @classmethod
    def build(
        cls, api: HipApi, section: Section, joiner: Joiner, arguments: CommandArguments, changeable: bool
    ) -> ExecutableGraph:
        """Create, fill and instantiate a graph.

        Args:
            changeable: keep the graph and the handles of its nodes, which `change` needs.

        Raises:
            HipError: HIP refused something; everything that was made is given back.
        """
        graph = Handle(api, api.call("hipGraphCreate", 0), "hipGraphDestroy")
        try:
            nodes = add_section(api, graph.native, section, joiner, arguments)
            executable = _instantiate(api, graph, section.scope.recording)
        except BaseException:
            graph.release()
            raise
        if changeable:
            return cls(api, section, arguments, executable, graph, nodes)
        graph.release()  # the executable graph is a whole copy
        return cls(api, section, arguments, executable, None, [])

    def __contains__(self, index: object) -> bool:
        """Whether a command of the outermost recording is a node of this graph."""
        section = self._section
        return section.scope.outer is None and isinstance(index, int) and section.start <= index < section.stop

    def change(self, index: int) -> None:
        """Give the node of the command `index` the arguments that the slots say now. Raises HipError."""
        node = self._nodes[index - self._section.start]
        change_node(self._api, self.executable.native, node, self._section.scope.recording, index, self._arguments)

    def release(self) -> None:
        """Give back the executable graph and what it was made from."""
        self.executable.release()
        if self._source is not None:
            self._source.release()


Part = ExecutableGraph | tuple[IndirectCalls, CommandArguments]
"""A graph to launch, or dispatches to launch when their counts are known."""


class ProgramGraphs:
    """All that a program launches: one graph, or several with indirect dispatches between them.

    Attributes:
        parts: in the order of launching.
        only: what hipGraphLaunch takes, if one graph is all there is.
    """

    def __init__(self, recording: Recording, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
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
            HipError: HIP refused something; everything that was made is given back.
        """
        parts: list[Part] = []
        try:
            for step in steps:
                within = arguments_in(step.scope, arguments)
                if isinstance(step, Section):
                    parts.append(ExecutableGraph.build(api, step, joiner, within, changeable))
                else:
                    parts.append((step, within))
        except BaseException:
            _release(parts)
            raise
        return cls(recording, parts)

    def can_change(self, index: int) -> bool:
        """Whether `change` does for a command. The nodes of nested recordings are not kept."""
        return not isinstance(self._recording.stored[index], ExecuteCommands)

    def change(self, index: int) -> None:
        """Give a command the arguments that the slots say now. Raises HipError."""
        for part in self.parts:
            if isinstance(part, ExecutableGraph) and index in part:
                part.change(index)
                return

    def release(self) -> None:
        """Give back all graphs."""
        _release(self.parts)


def arguments_in(scope: Scope, arguments: CommandArguments) -> CommandArguments:
    """The arguments for the commands of a scope, where `arguments` are those of the outermost."""
    if scope.outer is None:
        return arguments
    command = cast("ExecuteCommands", scope.outer.recording[scope.command])
    return arguments_in(scope.outer, arguments).nested(command)


def _release(parts: Sequence[Part]) -> None:
    for part in parts:
        if isinstance(part, ExecutableGraph):
            part.release()


def _instantiate(api: HipApi, graph: Handle, recording: Recording) -> Handle:
    try:
        native, _error_node, _log = api.call("hipGraphInstantiate", graph.native, 0)
    except HipError as error:
        name = "a recording" if recording.label is None else f"recording {recording.label!r}"
        raise error.located(f"{name} of {len(recording)} commands") from None
    return Handle(api, native, "hipGraphExecDestroy")
