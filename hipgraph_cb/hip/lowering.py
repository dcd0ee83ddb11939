"""A recording becomes the nodes of a HIP graph, in the order of the dependency plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.dependencies import DependencyArray
from hipgraph_cb.recording.commands import Command, Copy, Dispatch, Fill, Update
from hipgraph_cb.recording.dependencies import CommandNode

if TYPE_CHECKING:
    from hipgraph_cb.recording.dependencies import PlannedNode
    from hipgraph_cb.recording.recording import Recording


def add_nodes(
    api: HipApi, graph: Any, recording: Recording, plan: Iterable[PlannedNode], arguments: CommandArguments
) -> list[int]:
    """Add one node for each planned node; returns their handles in that order.

    After a failed add the graph is of no use, since the failed node may be in it: abandon it.

    Raises:
        HipError: HIP refused a node; the message names the command.
    """
    commands = recording.commands
    functions = _functions(arguments)
    dependencies = DependencyArray()
    handles: list[int] = []
    call = api.call
    for planned in plan:
        predecessors = planned.dependencies
        pointer = dependencies.write(predecessors, handles)
        if isinstance(planned, CommandNode):
            command = commands[planned.command]
            name, prepare = functions[type(command)]
            try:
                node = call(name, graph, pointer, len(predecessors), *prepare(command))
            except HipGraphError as error:
                raise error.located(_where(recording, planned.command)) from None
        else:
            node = call("hipGraphAddEmptyNode", graph, pointer, len(predecessors))
        handles.append(int(node))
    return handles


def _functions(arguments: CommandArguments) -> dict[type[Command], tuple[str, Callable[[Any], tuple[Any, ...]]]]:
    """For each kind of command: the function that adds its node, and what prepares the arguments."""
    return {
        Fill: ("hipGraphAddMemsetNode", arguments.fill),
        Update: ("hipGraphAddMemcpyNode1D", arguments.update),
        Copy: ("hipGraphAddMemcpyNode1D", arguments.copy),
        Dispatch: ("hipGraphAddKernelNode", arguments.dispatch),
    }


def _where(recording: Recording, index: int) -> str:
    command = recording.commands[index]
    name = type(command).__name__.lower()
    label = "" if command.label is None else f" `{command.label}`"
    inside = "" if recording.label is None else f" in `{recording.label}`"
    return f"command {index} ({name}{label}){inside}"
