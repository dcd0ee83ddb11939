"""Graphs: creating, asking, connecting, instantiating, launching."""

from __future__ import annotations

from collections import Counter
from itertools import count

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import InstantiateFlag, NodeKind
from hipgraph_cb.abi.hip.structures import InstantiateParams
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.copies import refuse_wrong_direction
from hipgraph_cb.virtual.hip.api.graph_nodes import ChildGraph
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, SIZE, UINT, UINT64, api
from hipgraph_cb.virtual.hip.native import (
    load_pointer,
    load_pointers,
    require,
    store_int,
    store_pointer,
    store_pointers,
)
from hipgraph_cb.virtual.hip.objects.executable_graph import ExecutableGraph
from hipgraph_cb.virtual.hip.objects.graph import Graph, Node, Possession, connect, hold, topological_order
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import Stream, note_wait
from hipgraph_cb.virtual.hip.objects.work import CopyBox, refuse_freed, refuse_freed_fills

_ALLOWED_FLAGS = (0, InstantiateFlag.AUTO_FREE_ON_LAUNCH, InstantiateFlag.USE_NODE_PRIORITY)
_graph_numbers = count(1)


@api("hipGraphCreate", POINTER, UINT)
def graph_create(runtime: HipRuntime, out: int, flags: int) -> None:
    require(out and flags == 0)
    graph = Graph()
    graph.number = next(_graph_numbers)
    graph.handle = runtime.graphs.add(graph)
    store_pointer(out, graph.handle)


@api("hipGraphDestroy", HANDLE, releases=True)
def graph_destroy(runtime: HipRuntime, handle: int) -> None:
    require(handle)
    graph = runtime.graphs.get(handle)
    require(graph is not None and graph.owner is None, Code.ILLEGAL_STATE)
    if graph is not None:
        graph.forget(runtime)


@api("hipGraphClone", POINTER, HANDLE)
def graph_clone(runtime: HipRuntime, out: int, handle: int) -> None:
    require(out and handle)
    graph = runtime.graphs[handle]
    require(not allocates(graph), Code.NOT_SUPPORTED, "a graph that allocates memory cannot be cloned")
    clone = graph.clone(runtime)
    clone.number = next(_graph_numbers)
    store_pointer(out, clone.handle)


@api("hipGraphNodeFindInClone", POINTER, HANDLE, HANDLE)
def graph_node_find_in_clone(runtime: HipRuntime, out: int, original: int, clone: int) -> None:
    require(out and original and clone)
    for node in runtime.graphs[clone].nodes.values():
        if node.original == original:
            return store_pointer(out, node.handle)
    raise CallError(Code.INVALID_VALUE)


# -- questions ---------------------------------------------------------------------------------------------------------


def _answer_list(out: int, count_out: int, values: list[int]) -> None:
    """The convention of all lists: without `out` the count, with it as many as there is room for, the rest NULL."""
    require(count_out)
    if not out:
        store_pointer(count_out, len(values))
        return
    room = load_pointer(count_out)
    store_pointers(out, values, room)
    store_pointer(count_out, min(room, len(values)))


@api("hipGraphGetNodes", HANDLE, POINTER, POINTER)
def graph_get_nodes(runtime: HipRuntime, handle: int, out: int, count_out: int) -> None:
    require(handle and count_out)
    order = topological_order(runtime.graphs[handle].nodes.values())
    if order is None:
        raise CallError(Code.INVALID_VALUE, "the graph has a cycle")
    _answer_list(out, count_out, [node.handle for node in order])


@api("hipGraphGetRootNodes", HANDLE, POINTER, POINTER)
def graph_get_root_nodes(runtime: HipRuntime, handle: int, out: int, count_out: int) -> None:
    require(handle and count_out)
    roots = [node.handle for node in runtime.graphs[handle].nodes.values() if not node.dependencies]
    _answer_list(out, count_out, roots)


@api("hipGraphGetEdges", HANDLE, POINTER, POINTER, POINTER)
def graph_get_edges(runtime: HipRuntime, handle: int, from_out: int, to_out: int, count_out: int) -> None:
    require(handle and count_out and bool(from_out) == bool(to_out))
    edges = [(node, other) for node in runtime.graphs[handle].nodes.values() for other in node.dependents]
    if not from_out:
        store_pointer(count_out, len(edges))
        return
    room = load_pointer(count_out)
    store_pointers(from_out, [source.handle for source, _ in edges], room)
    store_pointers(to_out, [target.handle for _, target in edges], room)
    store_pointer(count_out, min(room, len(edges)))


@api("hipGraphNodeGetDependencies", HANDLE, POINTER, POINTER)
def graph_node_get_dependencies(runtime: HipRuntime, handle: int, out: int, count_out: int) -> None:
    require(handle and count_out)
    _answer_list(out, count_out, [node.handle for node in runtime.nodes[handle].dependencies])


@api("hipGraphNodeGetDependentNodes", HANDLE, POINTER, POINTER)
def graph_node_get_dependent_nodes(runtime: HipRuntime, handle: int, out: int, count_out: int) -> None:
    require(handle and count_out)
    _answer_list(out, count_out, [node.handle for node in runtime.nodes[handle].dependents])


@api("hipGraphNodeGetType", HANDLE, POINTER)
def graph_node_get_type(runtime: HipRuntime, handle: int, out: int) -> None:
    require(handle and out)
    store_int(out, runtime.nodes[handle].work.kind)


# -- edges -------------------------------------------------------------------------------------------------------------


@api("hipGraphAddDependencies", HANDLE, POINTER, POINTER, SIZE)
def graph_add_dependencies(runtime: HipRuntime, handle: int, sources: int, targets: int, count_: int) -> None:
    """A cycle is accepted, as by AMD's runtime: asking for the nodes and instantiating refuse it."""
    for source, target in _pairs(runtime, handle, sources, targets, count_):
        require(source is not target and target not in source.dependents)
        connect(source, target)


@api("hipGraphRemoveDependencies", HANDLE, POINTER, POINTER, SIZE)
def graph_remove_dependencies(runtime: HipRuntime, handle: int, sources: int, targets: int, count_: int) -> None:
    for source, target in _pairs(runtime, handle, sources, targets, count_):
        require(target in source.dependents)
        source.dependents.remove(target)
        target.dependencies.remove(source)


def _pairs(runtime: HipRuntime, handle: int, sources: int, targets: int, count_: int) -> list[tuple[Node, Node]]:
    require(handle)
    graph = runtime.graphs[handle]
    if count_ == 0:
        return []
    require(sources and targets)
    pairs = zip(load_pointers(sources, count_), load_pointers(targets, count_), strict=True)
    nodes = [(runtime.nodes[source], runtime.nodes[target]) for source, target in pairs]
    require(all(node.graph is graph for pair in nodes for node in pair))
    return nodes


@api("hipGraphDestroyNode", HANDLE, releases=True)
def graph_destroy_node(runtime: HipRuntime, handle: int) -> None:
    require(handle)
    node = runtime.nodes[handle]
    node.graph.remove(runtime, node)


# -- executable graphs -------------------------------------------------------------------------------------------------


def allocates(graph: Graph) -> bool:
    """The graph has nodes that allocate or free memory."""
    return any(node.work.kind in (NodeKind.MEM_ALLOC, NodeKind.MEM_FREE) for node in graph.nodes.values())


def _instantiate(runtime: HipRuntime, out: int, handle: int, flags: int) -> None:
    require(out and handle)
    require(flags in _ALLOWED_FLAGS)
    graph = runtime.graphs[handle]
    if topological_order(graph.nodes.values()) is None:
        store_pointer(out, 0)
        raise CallError(Code.INVALID_VALUE, "the graph has a cycle")
    if allocates(graph):
        require(not graph.is_executable, Code.NOT_SUPPORTED, "a graph that allocates memory is instantiated once")
        graph.is_executable = True
    executable = ExecutableGraph(graph, flags)
    refuse_freed_fills(runtime, executable.works)
    executable.possessions = hold(_all_possessions(graph))
    store_pointer(out, runtime.executable_graphs.add(executable))


def _all_possessions(graph: Graph) -> Counter[Possession]:
    inside = [node.child for node in graph.nodes.values() if node.child is not None]
    return sum((_all_possessions(child) for child in inside), Counter(graph.possessions))


@api("hipGraphInstantiate", POINTER, HANDLE, POINTER, POINTER, SIZE)
def graph_instantiate(runtime: HipRuntime, out: int, handle: int, error_node: int, log: int, log_size: int) -> None:
    """The error node and the log are never written, as by AMD's runtime."""
    _instantiate(runtime, out, handle, 0)


@api("hipGraphInstantiateWithFlags", POINTER, HANDLE, UINT64)
def graph_instantiate_with_flags(runtime: HipRuntime, out: int, handle: int, flags: int) -> None:
    _instantiate(runtime, out, handle, flags)


@api("hipGraphInstantiateWithParams", POINTER, HANDLE, POINTER)
def graph_instantiate_with_params(runtime: HipRuntime, out: int, handle: int, parameters: int) -> None:
    require(parameters)
    given = InstantiateParams.from_address(parameters)
    require(given.flags in (*_ALLOWED_FLAGS, InstantiateFlag.UPLOAD))
    given.result_out = 1
    given.errNode_out = 0
    _instantiate(runtime, out, handle, given.flags & ~InstantiateFlag.UPLOAD)
    given.result_out = 0


@api("hipGraphExecDestroy", HANDLE, releases=True)
def graph_exec_destroy(runtime: HipRuntime, handle: int) -> None:
    """Launches that are under way go on: each holds what it needs."""
    require(handle)
    executable = runtime.executable_graphs.pop(handle)
    last = executable.last
    if executable.possessions and last is not None:
        runtime.gate.wait(lambda: last.is_done)
        note_wait(last.worker, [last])
    for possession, times in executable.possessions.items():
        possession.release(runtime, times)


@api("hipGraphExecGetFlags", HANDLE, POINTER)
def graph_exec_get_flags(runtime: HipRuntime, handle: int, out: int) -> None:
    require(handle and out)
    store_pointer(out, runtime.executable_graphs[handle].flags)


@api("hipGraphUpload", HANDLE, HANDLE)
def graph_upload(runtime: HipRuntime, handle: int, stream: int) -> None:
    require(handle)
    _ = runtime.executable_graphs[handle], runtime.stream(stream)


@api("hipGraphLaunch", HANDLE, HANDLE)
@api("hipGraphLaunch_spt", HANDLE, HANDLE)
def graph_launch(runtime: HipRuntime, handle: int, stream_handle: int) -> int:
    require(handle)
    executable = runtime.executable_graphs[handle]
    if not executable.works and not runtime.is_stream(stream_handle):
        return runtime.profile.launch_on_unknown_stream
    launch_on(runtime, executable, runtime.stream(stream_handle))
    return Code.SUCCESS


def launch_on(runtime: HipRuntime, executable: ExecutableGraph, stream: Stream) -> None:
    """One launch: behind what the stream holds, behind the launch of the same graph before, behind awaited events."""
    if stream.capture is not None:
        child = executable.as_graph(runtime)
        child.owner = stream.capture.add(runtime, stream, ChildGraph())
        child.owner.child = child
        return
    executable.prepare()
    for copy in executable.copies:
        refuse_freed(runtime, copy.source)
        refuse_freed(runtime, copy.destination)
        if isinstance(copy, CopyBox):
            refuse_wrong_direction(runtime, copy)
    before = executable.events_to_wait_for()
    if executable.last is not None:
        before.append(executable.last)
    executable.last = stream.enqueue(executable.launch(runtime, stream.gpu).step, "graph launch", before)
    if stream.gpu.worker.observer is not None:
        stream.gpu.worker.observer.launched(executable.last, executable.dependents)
    executable.record_events(executable.last)
