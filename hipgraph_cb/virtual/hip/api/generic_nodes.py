"""hipGraphAddNode and its like: one structure for the parameters of every kind of node."""

from __future__ import annotations

from collections.abc import Callable

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import NodeKind
from hipgraph_cb.abi.hip.structures import MemcpyNodeParams, NodeParams
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.graph_memory import allocate_node_work, free_node_work
from hipgraph_cb.virtual.hip.api.graph_nodes import (
    add_node,
    check_add,
    fill_of,
    graph_add_child_graph_node,
    graph_exec_kernel_node_set_params,
    graph_exec_memset_node_set_params,
    host_call_of,
    launch_of,
    node_of,
    place_in,
)
from hipgraph_cb.virtual.hip.api.graph_update import graph_exec_child_graph_node_set_params
from hipgraph_cb.virtual.hip.api.memcpy_2d_3d import box_of_3d
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, SIZE, api
from hipgraph_cb.virtual.hip.native import load_pointer, require
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.work import Empty, RecordEvent, WaitEvent, Work

_INSIDE = NodeParams.inside.offset


def _record(runtime: HipRuntime, place: int) -> Work:
    return RecordEvent(runtime.events[load_pointer(place)])


def _wait(runtime: HipRuntime, place: int) -> Work:
    return WaitEvent(runtime.events[load_pointer(place)])


_WORKS: dict[int, Callable[[HipRuntime, int], Work]] = {
    NodeKind.KERNEL: launch_of,
    NodeKind.MEMCPY: lambda runtime, place: box_of_3d(runtime, place + MemcpyNodeParams.copyParams.offset),
    NodeKind.MEMSET: fill_of,
    NodeKind.HOST: lambda runtime, place: host_call_of(place),
    NodeKind.EMPTY: lambda runtime, place: Empty(),
    NodeKind.WAIT_EVENT: _wait,
    NodeKind.EVENT_RECORD: _record,
}
_CHANGEABLE = frozenset(_WORKS) - {NodeKind.EMPTY}


def _kind_of(parameters: int) -> NodeKind:
    require(parameters)
    number = NodeParams.from_address(parameters).type
    if number not in (*_WORKS, NodeKind.GRAPH, NodeKind.MEM_ALLOC, NodeKind.MEM_FREE):
        raise CallError(Code.INVALID_VALUE, f"nodes of type {number} cannot be made")
    return NodeKind(number)


@api("hipGraphAddNode", POINTER, HANDLE, POINTER, SIZE, POINTER)
def graph_add_generic_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, parameters: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    kind, place = _kind_of(parameters), parameters + _INSIDE
    if kind is NodeKind.GRAPH:
        graph_add_child_graph_node(runtime, out, graph, dependencies, dependency_count, load_pointer(place))
        return
    if kind is NodeKind.MEM_ALLOC:
        work: Work = allocate_node_work(runtime, runtime.graphs[graph], place)
    elif kind is NodeKind.MEM_FREE:
        work = free_node_work(runtime, runtime.graphs[graph], load_pointer(place))
    else:
        work = _WORKS[kind](runtime, place)
    add_node(runtime, out, graph, dependencies, dependency_count, work)


@api("hipGraphNodeSetParams", HANDLE, POINTER)
def graph_node_set_params(runtime: HipRuntime, handle: int, parameters: int) -> None:
    kind = _kind_of(parameters)
    require(kind in _CHANGEABLE)
    node = node_of(runtime, handle, kind)
    node.work = _WORKS[kind](runtime, parameters + _INSIDE)


@api("hipGraphExecNodeSetParams", HANDLE, HANDLE, POINTER)
def graph_exec_node_set_params(runtime: HipRuntime, executable: int, handle: int, parameters: int) -> None:
    kind, place = _kind_of(parameters), parameters + _INSIDE
    if kind is NodeKind.KERNEL:
        graph_exec_kernel_node_set_params(runtime, executable, handle, place)
    elif kind is NodeKind.MEMSET:
        graph_exec_memset_node_set_params(runtime, executable, handle, place)
    elif kind is NodeKind.GRAPH:
        graph_exec_child_graph_node_set_params(runtime, executable, handle, load_pointer(place))
    else:
        require(kind in _CHANGEABLE)
        graph, index = place_in(runtime, executable, handle, kind)
        graph.replace(index, _WORKS[kind](runtime, place))
