"""A recording becomes the nodes of a HIP graph, in the order of the dependency plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.hip.dependencies import DependencyArray

if TYPE_CHECKING:
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.joins import Joiner
    from hipgraph_cb.hip.prepared import Call, PreparedNodes
    from hipgraph_cb.recording.recording import Recording


def add_nodes(api: HipApi, graph: Any, recording: Recording, joiner: Joiner, nodes: PreparedNodes) -> list[Any]:
    """Add one node for each command, and the joins; returns the commands' nodes by command index.

    This is the short way for a recording of nothing but what `nodes` has parameters for, ordered by barriers.

    After a failed add the graph is of no use, since the failed node may be in it: abandon it.

    Raises:
        HipError: HIP refused a node; the message names the command.
        UnavailableError: the policy joins layers by a kernel, and there is none for this target.
    """
    calls = [(call.image, call.native, call.add) if call else None for call in nodes.calls]
    dependencies = DependencyArray()
    pointer, count = dependencies.pointer, 0
    made: list[Any] = []
    node: Any = None
    layers = np.diff([*recording.layer_starts, len(recording)])
    widths, layer = layers.tolist(), 0
    if widths[:1] > [1]:
        dependencies.first.value, count = joiner.add_root(graph), 1
    before = np.zeros(len(recording), np.intp)  # for the first command of a layer how many are in the one before
    before[list(recording.layer_starts[1:])] = layers[:-1]
    for commands in nodes.stretches():
        widths_before = before[commands.start : commands.stop].tolist()
        for row, parameters, width in zip(nodes.rows, nodes.parameters, widths_before):  # noqa: B905 - of one length
            if width:
                layer += 1
                if width == 1:
                    dependencies.first.value, count = int(node), 1
                else:
                    handles = list(map(int, made[-width:]))
                    pointer, count = _behind(handles, widths[layer], graph, joiner, dependencies)
            image, native, add = calls[row]  # type: ignore[misc]
            try:
                if image is None:
                    code, node = add(graph, pointer, count, *parameters)  # type: ignore[misc]
                else:
                    image.raw = parameters
                    code, node = add(graph, pointer, count, native)
            except (RuntimeError, ValueError) as error:
                raise api.failure(_of(nodes, row).name, error, recording.where(len(made))) from error
            if code:
                raise api.error(_of(nodes, row).name, code, recording.where(len(made)))
            made.append(node)
    return made


def _behind(
    layer: list[int], following: int, graph: Any, joiner: Joiner, dependencies: DependencyArray
) -> tuple[Any, int]:
    """What the `following` nodes of the next layer wait for: the nodes of this one, or a join behind them."""
    pointer, count = dependencies.write(layer), len(layer)
    join = joiner.kind(count, following)
    if join is None:
        return pointer, count
    return dependencies.write([joiner.add(graph, join, pointer, count)]), 1


def change_nodes(
    api: HipApi,
    executable: Any,
    commands: Sequence[int],
    made: Iterable[Any],
    recording: Recording,
    nodes: PreparedNodes,
    done: list[int],
) -> None:
    """Give the nodes of commands their present parameters; launches from now on see them.

    Args:
        made: for each of the commands its node.
        done: gets each command whose node has them.

    Raises:
        HipError: HIP refused them; the message names the command.
    """
    calls = [(call.image, call.native, api.function(call.change)) if call else None for call in nodes.calls]
    rows, parameters = map(nodes.rows.__getitem__, commands), map(nodes.parameters.__getitem__, commands)
    position = 0
    try:
        for node, row, parameter in zip(made, rows, parameters):  # noqa: B905 - of one length
            image, native, change = calls[row]  # type: ignore[misc]
            try:
                if image is None:
                    (code,) = change(executable, node, *parameter)  # type: ignore[misc]
                else:
                    image.raw = parameter
                    (code,) = change(executable, node, native)
            except (RuntimeError, ValueError) as error:
                raise api.failure(_of(nodes, row).change, error, recording.where(commands[position])) from error
            if code:
                raise api.error(_of(nodes, row).change, code, recording.where(commands[position]))
            position += 1
    finally:
        done.extend(commands[:position])


def _of(nodes: PreparedNodes, row: int) -> Call:
    """How nodes of a form that has parameters are added and changed."""
    call: Call = nodes.calls[row]  # type: ignore[assignment]
    return call
