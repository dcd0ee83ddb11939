"""hipGraphExecUpdate: give an executable graph the parameters of another graph of the same form."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import GraphUpdateResult
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.graph_nodes import may_become
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, api
from hipgraph_cb.virtual.hip.native import require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.executable_graph import ExecutableGraph
from hipgraph_cb.virtual.hip.objects.graph import topological_order
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.work import refuse_freed_fills


@api("hipGraphExecUpdate", HANDLE, HANDLE, POINTER, POINTER)
def graph_exec_update(runtime: HipRuntime, handle: int, graph_handle: int, error_node: int, result: int) -> None:
    """Nodes are compared in topological order: by number, by type, and by the number of their dependencies.

    The error node is written when the update is refused.
    """
    require(handle and graph_handle and error_node and result)
    executable, graph = runtime.executable_graphs[handle], runtime.graphs[graph_handle]
    order = topological_order(graph.nodes.values())
    if order is None:
        raise CallError(Code.INVALID_VALUE)
    new = ExecutableGraph(graph, executable.flags)
    if len(order) != executable.node_count:
        _refuse(error_node, result, GraphUpdateResult.ERROR_TOPOLOGY_CHANGED, 0)
    for node, place, degree in zip(order, executable.places, executable.degrees, strict=True):
        if len(node.dependencies) != degree:
            _refuse(error_node, result, GraphUpdateResult.ERROR_TOPOLOGY_CHANGED, node.handle)
        if node.work.kind is not executable.kinds[place]:
            _refuse(error_node, result, GraphUpdateResult.ERROR_NODE_TYPE_CHANGED, node.handle)
    if len(new.works) != len(executable.works):
        _refuse(error_node, result, GraphUpdateResult.ERROR_TOPOLOGY_CHANGED, 0)
    for node, place in zip(order, executable.places, strict=True):
        if not may_become(executable.works[place], node.work):
            _refuse(error_node, result, GraphUpdateResult.ERROR_PARAMETERS_CHANGED, node.handle)
    refuse_freed_fills(runtime, new.works)
    executable.replace_all(new.works)
    store_int(result, GraphUpdateResult.SUCCESS)


@api("hipGraphExecChildGraphNodeSetParams", HANDLE, HANDLE, HANDLE)
def graph_exec_child_graph_node_set_params(runtime: HipRuntime, handle: int, node: int, child: int) -> None:
    """The graph inside has to be of the same form."""
    require(handle and node and child)
    executable, graph = runtime.executable_graphs[handle], runtime.graphs[child]
    require(node in executable.children and topological_order(graph.nodes.values()) is not None)
    is_same = executable.replace_child(node, ExecutableGraph(graph, 0))
    require(is_same, Code.UNKNOWN, "the child graph has another form")


def _refuse(error_node: int, result: int, reason: int, node: int) -> None:
    store_pointer(error_node, node)
    store_int(result, reason)
    raise CallError(Code.GRAPH_EXEC_UPDATE_FAILURE)
