"""A recording becomes the nodes of a HIP graph, in the order of the dependency plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError, UnimplementedError
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.dependencies import DependencyArray
from hipgraph_cb.recording.commands import Command, Copy, Dispatch, Fill, Update
from hipgraph_cb.recording.dependencies import CommandNode, JoinNode, JoinPolicy

if TYPE_CHECKING:
    from hipgraph_cb.recording.dependencies import PlannedNode
    from hipgraph_cb.recording.recording import Recording

ADD: dict[type[Command], str] = {
    Fill: "hipGraphAddMemsetNode",
    Update: "hipGraphAddMemcpyNode1D",
    Copy: "hipGraphAddMemcpyNode1D",
    Dispatch: "hipGraphAddKernelNode",
}
SET: dict[type[Command], str] = {
    Fill: "hipGraphExecMemsetNodeSetParams",
    Update: "hipGraphExecMemcpyNodeSetParams1D",
    Copy: "hipGraphExecMemcpyNodeSetParams1D",
    Dispatch: "hipGraphExecKernelNodeSetParams",
}


def add_nodes(
    api: HipApi, graph: Any, recording: Recording, plan: Iterable[PlannedNode], arguments: CommandArguments
) -> dict[int, int]:
    """Add one node for each planned node; returns the handles of the commands' nodes by command index.

    After a failed add the graph is of no use, since the failed node may be in it: abandon it.

    Raises:
        HipError: HIP refused a node; the message names the command.
        UnimplementedError: the plan joins layers by a kernel.
    """
    commands, preparations = recording.commands, arguments.preparations
    dependencies = DependencyArray()
    handles: list[int] = []
    nodes: dict[int, int] = {}
    for planned in plan:
        predecessors = planned.dependencies
        pointer = dependencies.write(predecessors, handles)
        if isinstance(planned, CommandNode):
            index = planned.command
            command = commands[index]
            kind = type(command)
            try:
                node = api.call(ADD[kind], graph, pointer, len(predecessors), *preparations[kind](command))
            except HipGraphError as error:
                raise error.located(recording.where(index)) from None
            handle = nodes[index] = int(node)
        else:
            handle = _add_join(api, graph, planned, pointer)
        handles.append(handle)
    return nodes


def change_node(
    api: HipApi, executable: Any, node: int, recording: Recording, index: int, arguments: CommandArguments
) -> None:
    """Give the node of a command its present arguments; launches from now on see them.

    Raises:
        HipError: HIP refused them; the message names the command.
    """
    command = recording.commands[index]
    kind = type(command)
    try:
        api.call(SET[kind], executable, node, *arguments.preparations[kind](command))
    except HipGraphError as error:
        raise error.located(recording.where(index)) from None


def _add_join(api: HipApi, graph: Any, join: JoinNode, pointer: Any) -> int:
    if join.kind is JoinPolicy.KERNEL:
        raise UnimplementedError(
            "program: joining layers by a kernel is not implemented",
            found="join='kernel'",
            allowed="join='edges', 'empty' or 'auto'",
        )
    return int(api.call("hipGraphAddEmptyNode", graph, pointer, len(join.dependencies)))
