"""How each type of command becomes a node: which functions add and change it, and their arguments.

Parameters are prepared for all commands of a type at once. A type from outside adds itself to `NODE_KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.backend.arena import Ragged
from hipgraph_cb.backend.blits import FILL_ARGUMENTS, WORKGROUP_SIZE, fill
from hipgraph_cb.hip.api import bindings
from hipgraph_cb.hip.host_functions import prepare_host_calls
from hipgraph_cb.hip.node_parameters import (
    ParameterBlock,
    kernel_block,
    kernel_images,
    memset_block,
    memset_images,
    with_shapes,
)
from hipgraph_cb.hip.row_launches import prepare_copies, prepare_fills
from hipgraph_cb.recording.commands import Command, Copy, Copy2D, Dispatch, Fill, Fill2D, HostCall, Update
from hipgraph_cb.recording.forms import WORD
from hipgraph_cb.recording.launch_form import SHAPE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.hip.fills import FillKernel
    from hipgraph_cb.hip.prepared import PreparedNodes

Prepared = bytes | tuple[Any, ...]
"""The image of a parameter block, or the arguments of a call behind the dependencies."""


@dataclass(frozen=True, eq=False)
class NodeKind:
    """How commands of a type become nodes.

    Attributes:
        add, change: functions of HIP.
        prepare: makes their arguments for commands, by their indices.
        block: makes the parameter block that images are written into; None where arguments are passed as they are.
        leads_into_arena: whether parameters hold no address of a place themselves, so that they stay as they are.
        keeps_memory: whether parameters lead into memory that is made with them, for all commands together.
    """

    add: str
    change: str
    prepare: Callable[[PreparedNodes, NDArray[np.intp]], Sequence[Prepared]]
    block: Callable[[], ParameterBlock] | None = None
    leads_into_arena: bool = False
    keeps_memory: bool = False


def _dispatches(nodes: PreparedNodes, commands: NDArray[np.intp]) -> Sequence[Prepared]:
    arena, kernels = nodes.arena, nodes.kernels
    rows, starts = arena.rows[commands], arena.starts[commands]
    counts, sizes, lds = _shapes(nodes, commands)
    parameters = Ragged(kernels.offsets, rows)
    pointers = nodes.keep(parameters.plus(starts + arena.bytes.ctypes.data))
    tables = np.where(parameters.counts, pointers.ctypes.data + WORD * parameters.firsts, 0)
    return kernel_images(kernels.functions[rows], counts, sizes, lds, tables)


def _shapes(nodes: PreparedNodes, commands: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Workgroup counts, sizes and LDS of dispatches; one workgroup where there are none, for the node is off then."""
    arena = nodes.arena
    at = (arena.starts[commands] + nodes.kernels.extents[arena.rows[commands]]) // WORD
    shapes = arena.bytes.view(np.uint64)[at[:, None] + np.arange(SHAPE.size // WORD)]
    numbers = shapes.view(np.uint32)
    counts = numbers[:, :3]
    if nodes.has_open_shapes:
        nodes.note_idle(commands, (counts == 0).any(axis=1))
        counts = np.maximum(counts, 1)
    return counts, numbers[:, 3:6], shapes[:, 3]


def reshape(nodes: PreparedNodes, commands: NDArray[np.intp]) -> list[bytes]:
    """The images of dispatches with their present shapes; all else is as it was."""
    counts, _, lds = _shapes(nodes, commands)
    previous: list[Any] = [nodes.parameters[command] for command in commands.tolist()]
    return with_shapes(b"".join(previous), counts, lds)


def _fills(nodes: PreparedNodes, commands: NDArray[np.intp]) -> Sequence[Prepared]:
    targets, lengths = nodes.extents(commands, 0)
    values = nodes.arena.words_of(commands, WORD)
    return memset_images(targets, values, lengths, nodes.form_facts("length")[nodes.arena.rows[commands]])


def _copies(nodes: PreparedNodes, commands: NDArray[np.intp]) -> Sequence[Prepared]:
    """Of the kind "default": either end may be a host buffer, and a rebind must not change the kind of a node."""
    sources, _ = nodes.extents(commands, 0)
    targets, lengths = nodes.extents(commands, 1)
    kind = bindings().hipMemcpyKind.hipMemcpyDefault
    rows = zip(nodes.pointers(targets), nodes.pointers(sources), lengths.tolist(), strict=True)
    return [(target, source, length, kind) for target, source, length in rows]


def _updates(nodes: PreparedNodes, commands: NDArray[np.intp]) -> Sequence[Prepared]:
    """The host bytes are read at launch: the recording, which the program holds, owns them."""
    targets, lengths = nodes.extents(commands, 0)
    payloads, kind = nodes.arena.table.payloads, bindings().hipMemcpyKind.hipMemcpyHostToDevice
    numbers = nodes.arena.words_of(commands, WORD)
    rows = zip(nodes.pointers(targets), numbers.tolist(), lengths.tolist(), strict=True)
    return [(target, payloads[number], length, kind) for target, number, length in rows]


_KERNEL_NODE = "hipGraphAddKernelNode", "hipGraphExecKernelNodeSetParams"

NODE_KINDS: dict[type[Command], NodeKind] = {
    Dispatch: NodeKind(*_KERNEL_NODE, _dispatches, kernel_block, leads_into_arena=True),
    Fill: NodeKind("hipGraphAddMemsetNode", "hipGraphExecMemsetNodeSetParams", _fills, memset_block),
    Copy: NodeKind("hipGraphAddMemcpyNode1D", "hipGraphExecMemcpyNodeSetParams1D", _copies),
    Update: NodeKind("hipGraphAddMemcpyNode1D", "hipGraphExecMemcpyNodeSetParams1D", _updates),
    HostCall: NodeKind(
        "hipGraphAddHostNode",
        "hipGraphExecHostNodeSetParams",
        prepare_host_calls,
        leads_into_arena=True,
        keeps_memory=True,
    ),
    Copy2D: NodeKind(*_KERNEL_NODE, prepare_copies, kernel_block, keeps_memory=True),
    Fill2D: NodeKind(*_KERNEL_NODE, prepare_fills, kernel_block, keeps_memory=True),
}

SWITCHABLE = NODE_KINDS.keys() - {HostCall}
"""Nodes that HIP can switch off. A host call that is off is a node that calls nothing."""


def node_kinds(fill_kernel: FillKernel | None) -> dict[type[Command], NodeKind]:
    """As `NODE_KINDS`; where a kernel fills, a fill is like a dispatch."""
    if fill_kernel is None:
        return NODE_KINDS

    def fills(nodes: PreparedNodes, commands: NDArray[np.intp]) -> Sequence[Prepared]:
        return _kernel_fills(nodes, commands, fill_kernel)

    kind = replace(NODE_KINDS[Dispatch], prepare=fills, leads_into_arena=False, keeps_memory=True)
    return {**NODE_KINDS, Fill: kind}


def _kernel_fills(nodes: PreparedNodes, commands: NDArray[np.intp], kernel: FillKernel) -> Sequence[Prepared]:
    targets, lengths = nodes.extents(commands, 0)
    patterns = nodes.form_facts("length")[nodes.arena.rows[commands]].tolist()
    values = nodes.arena.words_of(commands, WORD).tolist()
    rows = zip(targets.tolist(), lengths.tolist(), values, patterns, strict=True)
    blits = [
        fill(target, length, value.to_bytes(WORD, "little")[:size], kernel.most_lanes, WORKGROUP_SIZE)
        for target, length, value, size in rows
    ]
    blocks = nodes.keep(np.frombuffer(b"".join(blit.arguments for blit in blits), np.uint8))
    offsets = np.array([parameter.offset for parameter in kernel.export.parameters])
    starts = np.arange(len(blits)) * FILL_ARGUMENTS.size + blocks.ctypes.data
    pointers = nodes.keep(np.ascontiguousarray(starts[:, None] + offsets))
    tables = pointers.ctypes.data + np.arange(len(blits)) * pointers.strides[0]
    counts = np.ones((len(blits), 3), np.uint32)
    counts[:, 0] = [blit.lanes // WORKGROUP_SIZE for blit in blits]
    sizes = np.ones((len(blits), 3), np.uint32)
    sizes[:, 0] = WORKGROUP_SIZE
    return kernel_images(kernel.function, counts, sizes, np.zeros(len(blits), np.uint64), tables)
