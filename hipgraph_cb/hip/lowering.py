"""A recording becomes the nodes of a HIP graph, in the order of the dependency plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.commands import CommandArguments, Launches
from hipgraph_cb.hip.dependencies import DependencyArray
from hipgraph_cb.recording.commands import Command, Copy, Dispatch, Fill, Update

if TYPE_CHECKING:
    from hipgraph_cb.hip.joins import Joiner
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


def functions_for(names: dict[type[Command], str], arguments: CommandArguments) -> dict[type[Command], str]:
    """`ADD` or `SET` as it holds for these arguments: where a kernel fills, a fill is like a dispatch."""
    return names if arguments.fill_launches is None else {**names, Fill: names[Dispatch]}


def add_nodes(api: HipApi, graph: Any, recording: Recording, joiner: Joiner, arguments: CommandArguments) -> list[int]:
    """Add one node for each command, and the joins; returns the handles of the commands' nodes by command index.

    This is the short way for a recording of nothing but the commands in `ADD`, ordered by barriers.

    After a failed add the graph is of no use, since the failed node may be in it: abandon it.

    Raises:
        HipError: HIP refused a node; the message names the command.
        UnavailableError: the policy joins layers by a kernel, and there is none for this target.
    """
    stored = recording.stored
    names = functions_for(ADD, arguments)
    functions = {kind: api.function(name) for kind, name in names.items()}
    add_kernel = functions[Dispatch]
    dependencies = DependencyArray()
    pointer, count = dependencies.pointer, 0
    handles: list[int] = []
    ends = iter((*recording.layer_starts[1:], len(recording)))
    first, end, handle = 0, 0, 0
    model: Dispatch | None = None
    kernel: Any = None
    launches: Launches = {}
    for index, (command, kernarg) in enumerate(zip(stored.models, stored.kernargs, strict=True)):
        if index == end:
            first, end, count = end, next(ends), end - first
            if count == 1:
                dependencies.first.value = handle
            elif count > 1:
                pointer, count = _behind(handles[-count:], end - first, graph, joiner, dependencies)
        prepared: tuple[Any, ...] | None = None
        if not isinstance(command, Dispatch):
            prepared = arguments.prepare(command)
        elif command is not model:
            model, kernel = command, arguments.kernel(command, launches)
        try:
            if prepared is None:
                kernel.values.raw = kernarg
                code, node = add_kernel(graph, pointer, count, kernel.native)
            else:
                code, node = functions[type(command)](graph, pointer, count, *prepared)
        except (RuntimeError, ValueError) as error:
            raise api.failure(names[type(command)], error, recording.where(index)) from error
        if code:
            raise api.error(names[type(command)], code, recording.where(index))
        handle = int(node)
        handles.append(handle)
    return handles


def _behind(
    layer: list[int], following: int, graph: Any, joiner: Joiner, dependencies: DependencyArray
) -> tuple[Any, int]:
    """What the `following` nodes of the next layer wait for: the nodes of this one, or a join behind them."""
    pointer, count = dependencies.write(layer), len(layer)
    join = joiner.kind(count, following)
    if join is None:
        return pointer, count
    return dependencies.write([joiner.add(graph, join, pointer, count)]), 1


def change_node(
    api: HipApi, executable: Any, node: int, recording: Recording, index: int, arguments: CommandArguments
) -> None:
    """Give the node of a command its present arguments; launches from now on see them.

    Raises:
        HipError: HIP refused them; the message names the command.
    """
    command = recording.stored[index]
    kind = type(command)
    try:
        api.call(functions_for(SET, arguments)[kind], executable, node, *arguments.prepare(command))
    except HipGraphError as error:
        raise error.located(recording.where(index)) from None
