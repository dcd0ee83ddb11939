"""Adding nodes to graphs, and reading and changing what they do."""

from __future__ import annotations

from dataclasses import replace

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import NodeKind
from hipgraph_cb.abi.hip.structures import DriverMemsetParams, HostNodeParams, KernelNodeParams, MemsetParams
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.copies import checked_node_copy
from hipgraph_cb.virtual.hip.api.fills import checked_fill_2d
from hipgraph_cb.virtual.hip.api.registration import handle_of_symbol
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import load_pointers, require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.executable_graph import ExecutableGraph
from hipgraph_cb.virtual.hip.objects.graph import Node, connect
from hipgraph_cb.virtual.hip.objects.kernels import KernelLaunch, make_launch
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.work import Copy, CopyBox, Empty, Fill, HostCall, RecordEvent, WaitEvent, Work


def add_node(
    runtime: HipRuntime, out: int, graph_handle: int, dependencies: int, dependency_count: int, work: Work
) -> Node:
    """Add a node and its edges.

    As by AMD's runtime, a bad dependency leaves the node in the graph, with its handle written and the edges made
    so far.
    """
    graph = runtime.graphs[graph_handle]
    node = graph.add(runtime, work)
    store_pointer(out, node.handle)
    for handle in load_pointers(dependencies, dependency_count):
        other = runtime.nodes.get(handle)
        require(other is not None and other.graph is graph and other is not node)
        if other is not None:
            require(node not in other.dependents)
            connect(other, node)
    return node


def check_add(runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int) -> None:
    """What every hipGraphAdd function checks first."""
    require(out and graph)
    require(not dependency_count or dependencies)
    _ = runtime.graphs[graph]


_ADD = (POINTER, HANDLE, POINTER, SIZE)


@api("hipGraphAddEmptyNode", *_ADD)
def graph_add_empty_node(runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    add_node(runtime, out, graph, dependencies, dependency_count, Empty())


# -- kernels -----------------------------------------------------------------------------------------------------------


def launch_of(runtime: HipRuntime, parameters: int) -> KernelLaunch:
    """What a hipKernelNodeParams asks for; its arguments are copied now."""
    require(parameters)
    given = KernelNodeParams.from_address(parameters)
    require(given.func)
    grid, block = given.gridDim.values, given.blockDim.values
    func = given.func
    if func in runtime.host_functions:
        func = handle_of_symbol(runtime, func)
    bad_shape = runtime.profile.bad_node_shape
    launch = make_launch(runtime, func, grid, block, given.sharedMemBytes, given.kernelParams, given.extra, bad_shape)
    return replace(launch, handle=given.func)


@api("hipGraphAddKernelNode", *_ADD, POINTER)
def graph_add_kernel_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, parameters: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    add_node(runtime, out, graph, dependencies, dependency_count, launch_of(runtime, parameters))


# -- memset ------------------------------------------------------------------------------------------------------------


def fill_of(
    runtime: HipRuntime, parameters: int, structure: type[MemsetParams] | type[DriverMemsetParams] = MemsetParams
) -> Fill:
    """What a hipMemsetParams, or the driver interface's structure, asks for."""
    require(parameters)
    given = structure.from_address(parameters)
    return checked_fill_2d(runtime, given.dst, given.pitch, given.value, given.elementSize, given.width, given.height)


@api("hipGraphAddMemsetNode", *_ADD, POINTER)
def graph_add_memset_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, parameters: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    add_node(runtime, out, graph, dependencies, dependency_count, fill_of(runtime, parameters))


# -- memcpy ------------------------------------------------------------------------------------------------------------


@api("hipGraphAddMemcpyNode1D", *_ADD, POINTER, POINTER, SIZE, INT)
def graph_add_memcpy_node_1d(
    runtime: HipRuntime,
    out: int,
    graph: int,
    dependencies: int,
    dependency_count: int,
    destination: int,
    source: int,
    size: int,
    direction: int,
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    copy = checked_node_copy(runtime, destination, source, size, direction)
    add_node(runtime, out, graph, dependencies, dependency_count, copy)


# -- host functions and events -----------------------------------------------------------------------------------------


def host_call_of(parameters: int) -> HostCall:
    """What a hipHostNodeParams asks for."""
    require(parameters)
    given = HostNodeParams.from_address(parameters)
    require(given.fn)
    return HostCall(given.fn, given.userData)


@api("hipGraphAddHostNode", *_ADD, POINTER)
def graph_add_host_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, parameters: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    add_node(runtime, out, graph, dependencies, dependency_count, host_call_of(parameters))


@api("hipGraphAddEventRecordNode", *_ADD, HANDLE)
def graph_add_event_record_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, event: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    require(event)
    add_node(runtime, out, graph, dependencies, dependency_count, RecordEvent(runtime.events[event]))


@api("hipGraphAddEventWaitNode", *_ADD, HANDLE)
def graph_add_event_wait_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, event: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    require(event)
    add_node(runtime, out, graph, dependencies, dependency_count, WaitEvent(runtime.events[event]))


# -- child graphs ------------------------------------------------------------------------------------------------------


@api("hipGraphAddChildGraphNode", *_ADD, HANDLE)
def graph_add_child_graph_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, child: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    require(child)
    inside = runtime.graphs[child].clone(runtime)
    node = add_node(runtime, out, graph, dependencies, dependency_count, ChildGraph())
    node.child = inside
    inside.owner = node


class ChildGraph(Empty):
    """The handle of a graph inside a node."""

    kind = NodeKind.GRAPH
    label = "child graph"


@api("hipGraphChildGraphNodeGetGraph", HANDLE, POINTER)
def graph_child_graph_node_get_graph(runtime: HipRuntime, handle: int, out: int) -> None:
    require(handle and out)
    child = runtime.nodes[handle].child
    if child is None:
        raise CallError(Code.INVALID_VALUE)
    store_pointer(out, child.handle)


# -- changing nodes of a graph, and of an executable graph -------------------------------------------------------------


def node_of(runtime: HipRuntime, handle: int, kind: NodeKind) -> Node:
    """The node behind a handle, if it is of this kind."""
    require(handle)
    node = runtime.nodes[handle]
    require(node.work.kind is kind)
    return node


@api("hipGraphKernelNodeSetParams", HANDLE, POINTER)
def graph_kernel_node_set_params(runtime: HipRuntime, handle: int, parameters: int) -> None:
    node = node_of(runtime, handle, NodeKind.KERNEL)
    node.work = launch_of(runtime, parameters)


@api("hipGraphMemsetNodeSetParams", HANDLE, POINTER)
def graph_memset_node_set_params(runtime: HipRuntime, handle: int, parameters: int) -> None:
    node = node_of(runtime, handle, NodeKind.MEMSET)
    node.work = fill_of(runtime, parameters)


@api("hipGraphMemsetNodeGetParams", HANDLE, POINTER)
def graph_memset_node_get_params(runtime: HipRuntime, handle: int, out: int) -> None:
    work = node_of(runtime, handle, NodeKind.MEMSET).work
    require(out and isinstance(work, Fill))
    if isinstance(work, Fill):
        target = MemsetParams.from_address(out)
        target.dst, target.value, target.elementSize = work.destination, work.value, work.element_size
        target.width, target.height, target.pitch = work.width, work.height, work.pitch


@api("hipGraphMemcpyNodeSetParams1D", HANDLE, POINTER, POINTER, SIZE, INT)
def graph_memcpy_node_set_params_1d(
    runtime: HipRuntime, handle: int, destination: int, source: int, size: int, direction: int
) -> None:
    node = node_of(runtime, handle, NodeKind.MEMCPY)
    require(source != destination)
    node.work = checked_node_copy(runtime, destination, source, size, direction)


@api("hipGraphHostNodeSetParams", HANDLE, POINTER)
def graph_host_node_set_params(runtime: HipRuntime, handle: int, parameters: int) -> None:
    node_of(runtime, handle, NodeKind.HOST).work = host_call_of(parameters)


@api("hipGraphHostNodeGetParams", HANDLE, POINTER)
def graph_host_node_get_params(runtime: HipRuntime, handle: int, out: int) -> None:
    work = node_of(runtime, handle, NodeKind.HOST).work
    require(out and isinstance(work, HostCall))
    if isinstance(work, HostCall):
        target = HostNodeParams.from_address(out)
        target.fn, target.userData = work.function, work.argument


def may_become(old: Work, new: Work) -> bool:
    """A node that is executable keeps the size of several rows that it fills, and the direction of its copy."""
    if isinstance(old, Fill) and isinstance(new, Fill) and (old.height > 1 or new.height > 1):
        return (old.width, old.height, old.element_size) == (new.width, new.height, new.element_size)
    if isinstance(old, (Copy, CopyBox)) and isinstance(new, (Copy, CopyBox)):
        return old.direction == new.direction
    return True


def place_in(runtime: HipRuntime, executable: int, handle: int, *kinds: NodeKind) -> tuple[ExecutableGraph, int]:
    """The executable graph and the index of the node in it; other nodes than those instantiated are refused."""
    require(executable and handle)
    graph = runtime.executable_graphs[executable]
    place = graph.place.get(handle)
    if place is None:
        raise CallError(Code.INVALID_VALUE)
    require(graph.works[place].kind in kinds)
    return graph, place


@api("hipGraphExecKernelNodeSetParams", HANDLE, HANDLE, POINTER)
def graph_exec_kernel_node_set_params(runtime: HipRuntime, executable: int, handle: int, parameters: int) -> None:
    graph, place = place_in(runtime, executable, handle, NodeKind.KERNEL)
    graph.replace(place, launch_of(runtime, parameters))
    if runtime.profile.loses_kernels_changed_while_off:
        graph.lose(place, is_lost=not graph.is_enabled[place])


@api("hipGraphExecMemsetNodeSetParams", HANDLE, HANDLE, POINTER)
def graph_exec_memset_node_set_params(runtime: HipRuntime, executable: int, handle: int, parameters: int) -> None:
    graph, place = place_in(runtime, executable, handle, NodeKind.MEMSET)
    new = fill_of(runtime, parameters)
    require(may_become(graph.works[place], new))
    graph.replace(place, new)


@api("hipGraphExecMemcpyNodeSetParams1D", HANDLE, HANDLE, POINTER, POINTER, SIZE, INT)
def graph_exec_memcpy_node_set_params_1d(
    runtime: HipRuntime, executable: int, handle: int, destination: int, source: int, size: int, direction: int
) -> None:
    graph, place = place_in(runtime, executable, handle, NodeKind.MEMCPY)
    old = graph.works[place]
    require(not isinstance(old, Copy) or old.direction == direction)
    graph.replace(place, checked_node_copy(runtime, destination, source, size, direction))


@api("hipGraphExecHostNodeSetParams", HANDLE, HANDLE, POINTER)
def graph_exec_host_node_set_params(runtime: HipRuntime, executable: int, handle: int, parameters: int) -> None:
    graph, place = place_in(runtime, executable, handle, NodeKind.HOST)
    graph.replace(place, host_call_of(parameters))


_SWITCHABLE = (NodeKind.KERNEL, NodeKind.MEMCPY, NodeKind.MEMSET)


def _switchable(runtime: HipRuntime, executable: int, handle: int) -> tuple[ExecutableGraph, int]:
    """Unlike for other changes, the node has to be in its graph still."""
    require(handle in runtime.nodes)
    return place_in(runtime, executable, handle, *_SWITCHABLE)


@api("hipGraphNodeSetEnabled", HANDLE, HANDLE, UINT)
def graph_node_set_enabled(runtime: HipRuntime, executable: int, handle: int, is_enabled: int) -> None:
    graph, place = _switchable(runtime, executable, handle)
    graph.switch(place, bool(is_enabled))


@api("hipGraphNodeGetEnabled", HANDLE, HANDLE, POINTER)
def graph_node_get_enabled(runtime: HipRuntime, executable: int, handle: int, out: int) -> None:
    require(out)
    graph, place = _switchable(runtime, executable, handle)
    store_int(out, int(graph.is_enabled[place]))
