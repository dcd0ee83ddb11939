"""hipGraphDebugDotPrint: a graph as a DOT file, with the shapes and labels that AMD's runtime uses.

The flags are compared as a whole, as there. Where its output is not valid DOT, this one's is.
"""

from __future__ import annotations

from pathlib import Path

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import DebugDotFlag, NodeKind
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.copies import DIRECTION_NAMES
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import load_text, require
from hipgraph_cb.virtual.hip.objects.graph import Graph, Node
from hipgraph_cb.virtual.hip.objects.kernels import KernelLaunch
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.work import Copy, CopyBox, Fill, HostCall, Work

_SHAPES = {
    NodeKind.KERNEL: "octagon",
    NodeKind.MEMCPY: "trapezium",
    NodeKind.MEMSET: "invtrapezium",
    NodeKind.HOST: "rectangle",
}


@api("hipGraphDebugDotPrint", HANDLE, POINTER, UINT)
def graph_debug_dot_print(runtime: HipRuntime, handle: int, path: int, flags: int) -> None:
    require(handle and path)
    graph = runtime.graphs[handle]
    text = "\n".join(["digraph dot {", *_cluster(graph, flags), "}", ""])
    try:
        Path(load_text(path)).write_text(text)
    except OSError as error:
        raise CallError(Code.OPERATING_SYSTEM, str(error)) from error


def _cluster(graph: Graph, flags: int) -> list[str]:
    number = graph.number or graph.handle
    names = {node: f'"graph_{number}_node_{index}"' for index, node in enumerate(graph.nodes.values())}
    lines = [f"subgraph cluster_{number} {{", f'label="graph_{number}"graph[style="dashed"];']
    for index, (node, name) in enumerate(names.items()):
        style = "bold" if node.work.kind is NodeKind.KERNEL else "solid"
        shape = _SHAPES.get(node.work.kind, "rectangle")
        lines.append(f'{name}[style="{style}"shape="{shape}"label="{_label(index, node, flags)}"];')
    lines += [f"{names[node]} -> {names[other]};" for node in names for other in node.dependents]
    lines.append("}")
    for node in names:
        if node.child is not None:
            lines += _cluster(node.child, flags)
    return lines


def _label(index: int, node: Node, flags: int) -> str:
    title = _title(node.work)
    details = _details(node, flags)
    return rf"{index}\n{title}" + "".join(rf"\n{detail}" for detail in details)


def _title(work: Work) -> str:
    if isinstance(work, KernelLaunch):
        return work.function.name
    return {NodeKind.WAIT_EVENT: "EVENT_WAIT", NodeKind.GRAPH: "GRAPH"}.get(work.kind, work.kind.name)


def _details(node: Node, flags: int) -> list[str]:
    """What a label says beyond the node's kind; more of it with the flag of that kind, or with the verbose flag."""
    work = node.work
    if isinstance(work, Copy):
        lines = [f"({DIRECTION_NAMES[work.direction]},{work.size})"]
        more, asked = [f"{work.source:#x} to {work.destination:#x}"], DebugDotFlag.MEMCPY_NODE_PARAMS
    elif isinstance(work, CopyBox):
        lines = [f"({DIRECTION_NAMES[work.direction]},{work.width}x{work.height}x{work.depth})"]
        more = [f"{work.source:#x} pitch {work.source_pitch} to {work.destination:#x} pitch {work.destination_pitch}"]
        asked = DebugDotFlag.MEMCPY_NODE_PARAMS
    elif isinstance(work, Fill):
        lines = [f"({work.value},{work.width * work.element_size * work.height})"]
        more = [f"{work.destination:#x}, {work.height} rows of {work.width} x {work.element_size}, pitch {work.pitch}"]
        asked = DebugDotFlag.MEMSET_NODE_PARAMS
    elif isinstance(work, KernelLaunch):
        lines, asked = [], DebugDotFlag.KERNEL_NODE_PARAMS
        more = [f"grid {work.grid}, block {work.block}, {work.dynamic_lds} bytes of LDS"]
        if flags in (DebugDotFlag.VERBOSE, DebugDotFlag.KERNEL_NODE_ATTRIBUTES):
            lines = [f"attribute {number}: {value.hex()}" for number, value in node.attributes.items()]
    elif isinstance(work, HostCall):
        lines, more, asked = [], [f"{work.function:#x} with {work.argument:#x}"], DebugDotFlag.HOST_NODE_PARAMS
    else:
        return []
    return lines + more if flags in (DebugDotFlag.VERBOSE, asked) else lines
