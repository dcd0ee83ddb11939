"""Memcpy nodes of boxes, the driver interface's nodes, and the parameters that nodes return."""

from __future__ import annotations

import ctypes

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import NodeKind
from hipgraph_cb.abi.hip.structures import (
    SIZE_OF_3D,
    SIZE_OF_DRIVER_3D,
    DriverMemsetParams,
    KernelNodeParams,
    Memcpy3DParams,
    MemsetParams,
)
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.graph_nodes import add_node, check_add, fill_of, may_become, node_of, place_in
from hipgraph_cb.virtual.hip.api.memcpy_2d_3d import box_of_3d, box_of_driver_3d
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, SIZE, api
from hipgraph_cb.virtual.hip.native import require, store_pointer
from hipgraph_cb.virtual.hip.objects.graph import Node
from hipgraph_cb.virtual.hip.objects.kernels import KernelLaunch
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.work import Copy, CopyBox, Fill, RecordEvent, WaitEvent

_ADD = (POINTER, HANDLE, POINTER, SIZE)


# -- kernels -----------------------------------------------------------------------------------------------------------


@api("hipGraphKernelNodeGetParams", HANDLE, POINTER)
def graph_kernel_node_get_params(runtime: HipRuntime, handle: int, out: int) -> None:
    """The pointers lead into the node's own copies of its arguments."""
    node = node_of(runtime, handle, NodeKind.KERNEL)
    require(out)
    launch = node.work
    if not isinstance(launch, KernelLaunch):
        raise CallError(Code.INVALID_VALUE)
    target = KernelNodeParams.from_address(out)
    target.func = launch.handle
    target.gridDim.x, target.gridDim.y, target.gridDim.z = launch.grid
    target.blockDim.x, target.blockDim.y, target.blockDim.z = launch.block
    target.sharedMemBytes = launch.dynamic_lds
    target.kernelParams = _argument_table(node, launch)
    target.extra = 0


def _argument_table(node: Node, launch: KernelLaunch) -> int:
    block = ctypes.create_string_buffer(launch.arguments, max(1, len(launch.arguments)))
    parameters = launch.function.export.stated_layout.parameters
    base = ctypes.addressof(block)
    table = (ctypes.c_size_t * max(1, len(parameters)))(*[base + parameter.offset for parameter in parameters])
    node.shown = (block, table)
    return ctypes.addressof(table)


# -- memcpy nodes of boxes ---------------------------------------------------------------------------------------------


@api("hipGraphAddMemcpyNode", *_ADD, POINTER)
def graph_add_memcpy_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, parameters: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    add_node(runtime, out, graph, dependencies, dependency_count, box_of_3d(runtime, parameters))


@api("hipGraphMemcpyNodeSetParams", HANDLE, POINTER)
def graph_memcpy_node_set_params(runtime: HipRuntime, handle: int, parameters: int) -> None:
    node_of(runtime, handle, NodeKind.MEMCPY).work = box_of_3d(runtime, parameters)


@api("hipGraphMemcpyNodeGetParams", HANDLE, POINTER)
def graph_memcpy_node_get_params(runtime: HipRuntime, handle: int, out: int) -> None:
    work = node_of(runtime, handle, NodeKind.MEMCPY).work
    require(out)
    ctypes.memset(out, 0, SIZE_OF_3D)
    if isinstance(work, CopyBox) and len(work.parameters) == SIZE_OF_3D:
        ctypes.memmove(out, work.parameters, SIZE_OF_3D)
    elif isinstance(work, Copy) and runtime.profile.copy_params_of_1d_nodes:
        target = Memcpy3DParams.from_address(out)
        for side, address in ((target.dstPtr, work.destination), (target.srcPtr, work.source)):
            side.ptr, side.pitch, side.xsize, side.ysize = address, work.size, work.size, 1
        target.extent.width, target.extent.height, target.extent.depth = work.size, 1, 1
        target.kind = work.direction


@api("hipGraphExecMemcpyNodeSetParams", HANDLE, HANDLE, POINTER)
def graph_exec_memcpy_node_set_params(runtime: HipRuntime, executable: int, handle: int, parameters: int) -> None:
    graph, place = place_in(runtime, executable, handle, NodeKind.MEMCPY)
    box = box_of_3d(runtime, parameters)
    require(may_become(graph.works[place], box))
    graph.replace(place, box)


# -- the driver interface ----------------------------------------------------------------------------------------------


def _driver_fill(runtime: HipRuntime, parameters: int) -> Fill:
    """A fill by the structure that the driver interface of the version takes."""
    has_its_own = runtime.profile.driver_fill_has_its_own_structure
    return fill_of(runtime, parameters, DriverMemsetParams if has_its_own else MemsetParams)


@api("hipDrvGraphAddMemcpyNode", *_ADD, POINTER, HANDLE)
def driver_graph_add_memcpy_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, parameters: int, context: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    require(context)
    add_node(runtime, out, graph, dependencies, dependency_count, box_of_driver_3d(runtime, parameters))


@api("hipDrvGraphAddMemsetNode", *_ADD, POINTER, HANDLE)
def driver_graph_add_memset_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, parameters: int, context: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    add_node(runtime, out, graph, dependencies, dependency_count, _driver_fill(runtime, parameters))


@api("hipDrvGraphMemcpyNodeGetParams", HANDLE, POINTER)
def driver_graph_memcpy_node_get_params(runtime: HipRuntime, handle: int, out: int) -> None:
    work = node_of(runtime, handle, NodeKind.MEMCPY).work
    require(out and isinstance(work, CopyBox) and len(work.parameters) == SIZE_OF_DRIVER_3D)
    if isinstance(work, CopyBox):
        ctypes.memmove(out, work.parameters, SIZE_OF_DRIVER_3D)


@api("hipDrvGraphMemcpyNodeSetParams", HANDLE, POINTER)
def driver_graph_memcpy_node_set_params(runtime: HipRuntime, handle: int, parameters: int) -> None:
    node_of(runtime, handle, NodeKind.MEMCPY).work = box_of_driver_3d(runtime, parameters)


@api("hipDrvGraphExecMemcpyNodeSetParams", HANDLE, HANDLE, POINTER, HANDLE)
def driver_graph_exec_memcpy_node_set_params(
    runtime: HipRuntime, executable: int, handle: int, parameters: int, context: int
) -> None:
    graph, place = place_in(runtime, executable, handle, NodeKind.MEMCPY)
    graph.replace(place, box_of_driver_3d(runtime, parameters))


@api("hipDrvGraphExecMemsetNodeSetParams", HANDLE, HANDLE, POINTER, HANDLE)
def driver_graph_exec_memset_node_set_params(
    runtime: HipRuntime, executable: int, handle: int, parameters: int, context: int
) -> None:
    graph, place = place_in(runtime, executable, handle, NodeKind.MEMSET)
    graph.replace(place, _driver_fill(runtime, parameters))


# -- events ------------------------------------------------------------------------------------------------------------


@api("hipGraphEventRecordNodeGetEvent", HANDLE, POINTER)
def graph_event_record_node_get_event(runtime: HipRuntime, handle: int, out: int) -> None:
    work = node_of(runtime, handle, NodeKind.EVENT_RECORD).work
    if isinstance(work, RecordEvent):
        store_pointer(out, work.event.handle)


@api("hipGraphEventWaitNodeGetEvent", HANDLE, POINTER)
def graph_event_wait_node_get_event(runtime: HipRuntime, handle: int, out: int) -> None:
    work = node_of(runtime, handle, NodeKind.WAIT_EVENT).work
    if isinstance(work, WaitEvent):
        store_pointer(out, work.event.handle)


@api("hipGraphEventRecordNodeSetEvent", HANDLE, HANDLE)
def graph_event_record_node_set_event(runtime: HipRuntime, handle: int, event: int) -> None:
    require(event)
    node_of(runtime, handle, NodeKind.EVENT_RECORD).work = RecordEvent(runtime.events[event])


@api("hipGraphEventWaitNodeSetEvent", HANDLE, HANDLE)
def graph_event_wait_node_set_event(runtime: HipRuntime, handle: int, event: int) -> None:
    require(event)
    node_of(runtime, handle, NodeKind.WAIT_EVENT).work = WaitEvent(runtime.events[event])


@api("hipGraphExecEventRecordNodeSetEvent", HANDLE, HANDLE, HANDLE)
def graph_exec_event_record_node_set_event(runtime: HipRuntime, executable: int, handle: int, event: int) -> None:
    require(event)
    graph, place = place_in(runtime, executable, handle, NodeKind.EVENT_RECORD)
    graph.replace(place, RecordEvent(runtime.events[event]))


@api("hipGraphExecEventWaitNodeSetEvent", HANDLE, HANDLE, HANDLE)
def graph_exec_event_wait_node_set_event(runtime: HipRuntime, executable: int, handle: int, event: int) -> None:
    require(event)
    graph, place = place_in(runtime, executable, handle, NodeKind.WAIT_EVENT)
    graph.replace(place, WaitEvent(runtime.events[event]))
