"""Memory that graphs allocate and free, and allocation in the order of a stream.

A graph's memory keeps its address: it lives from its allocation node to its free node, launch after launch.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import ClassVar

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import AllocationType, GraphMemoryAttribute, LocationType, MemoryType, NodeKind
from hipgraph_cb.abi.hip.structures import AllocateParams
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.graph_nodes import add_node, check_add, node_of
from hipgraph_cb.virtual.hip.api.memory import allocate_into
from hipgraph_cb.virtual.hip.api.pools import current_pool
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, api
from hipgraph_cb.virtual.hip.native import require, store_pointer
from hipgraph_cb.virtual.hip.objects.allocations import DeviceAllocation
from hipgraph_cb.virtual.hip.objects.gpu import Gpu
from hipgraph_cb.virtual.hip.objects.graph import Graph
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import Stream
from hipgraph_cb.virtual.hip.objects.submit import submit
from hipgraph_cb.virtual.memory import FRESH
from hipgraph_cb.virtual.worker import Operation


@dataclass(eq=False)
class GraphMemory:
    """One range of a graph's memory, held by the graphs and executable graphs that allocate it."""

    allocation: DeviceAllocation
    holders: int = 0
    was_allocated: bool = False

    def retain(self, count: int) -> None:
        self.holders += count

    def release(self, runtime: HipRuntime, count: int) -> None:
        """What a launch has allocated and nobody freed is the program's to free, as AMD's runtime has it."""
        self.holders -= count
        if self.holders:
            return
        del runtime.graph_memory[self.allocation.address]
        if not (self.was_allocated and runtime.allocations.is_registered(self.allocation)):
            runtime.allocations.forget(self.allocation)


@dataclass(frozen=True)
class Allocate:
    """Begins the life of a graph's memory."""

    memory: GraphMemory
    parameters: bytes
    kind: ClassVar[NodeKind] = NodeKind.MEM_ALLOC
    label: ClassVar[str] = "memory allocation node"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        allocation = self.memory.allocation
        with runtime.gate.lock:
            self.memory.was_allocated = True
            runtime.allocations.wake(allocation)
            _note_use(runtime, allocation.ordinal)
        runtime.memory.bytes(allocation.address, allocation.size)[:] = FRESH


@dataclass(frozen=True)
class Free:
    """Ends the life of memory when the stream or the graph gets there."""

    address: int
    kind: ClassVar[NodeKind] = NodeKind.MEM_FREE
    label: ClassVar[str] = "memory free node"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        with runtime.gate.lock:
            allocations = runtime.allocations
            allocation = allocations.find(self.address)
            if allocation is None or not allocations.is_registered(allocation):
                raise CallError(Code.INVALID_VALUE, f"freed twice: {runtime.memory.describe(self.address)}")
            if allocation.address in runtime.graph_memory:
                allocations.put_to_sleep(allocation)
            else:
                allocations.free(allocation)


def used_by_graphs(runtime: HipRuntime, ordinal: int) -> int:
    """Bytes of a device's graph memory that live now; what no launch has allocated yet does not count."""
    ranges = [memory.allocation for memory in runtime.graph_memory.values() if memory.was_allocated]
    return sum(each.size for each in ranges if each.ordinal == ordinal and runtime.allocations.is_registered(each))


def _note_use(runtime: HipRuntime, ordinal: int) -> None:
    """Memory in use was taken from the device, which gets it back by a trim."""
    used, meters = used_by_graphs(runtime, ordinal), runtime.graph_memory_meters
    for attribute in (
        GraphMemoryAttribute.USED_MEM_HIGH,
        GraphMemoryAttribute.RESERVED_MEM_CURRENT,
        GraphMemoryAttribute.RESERVED_MEM_HIGH,
    ):
        meters[ordinal, attribute] = max(meters.get((ordinal, attribute), 0), used)


def allocation_of(runtime: HipRuntime, graph: Graph, size: int, ordinal: int, parameters: bytes) -> Allocate:
    """New memory of a graph. It has an address from the start, so that other nodes can name it."""
    address = runtime.allocations.allocate(size, MemoryType.DEVICE, ordinal)
    allocation = runtime.allocations.find(address)
    if allocation is None:
        raise CallError(Code.UNKNOWN)
    memory = runtime.graph_memory[address] = GraphMemory(allocation)
    memory.retain(1)
    graph.possessions[memory] += 1
    return Allocate(memory, parameters)


def allocate_node_work(runtime: HipRuntime, graph: Graph, parameters: int) -> Allocate:
    """What a hipMemAllocNodeParams asks for; the address is written into it."""
    require(parameters)
    given = AllocateParams.from_address(parameters)
    location = given.poolProps.location
    require(
        given.bytesize and given.poolProps.allocType == AllocationType.PINNED and location.type == LocationType.DEVICE
    )
    require(0 <= location.id < len(runtime.gpus))
    given.dptr = 0
    work = allocation_of(runtime, graph, given.bytesize, location.id, b"")
    given.dptr = work.memory.allocation.address
    return Allocate(work.memory, bytes(given))


def free_node_work(runtime: HipRuntime, graph: Graph, address: int) -> Free:
    """A free node takes memory of a graph only, which has no free node yet."""
    require(address in runtime.graph_memory, note=f"{address:#x} is not memory of an allocation node")
    works = (node.work for node in graph.nodes.values())
    is_freed = any(isinstance(work, Free) and work.address == address for work in works)
    require(not is_freed, note=f"the graph frees {address:#x} already")
    return Free(address)


_ADD = (POINTER, HANDLE, POINTER, SIZE)


@api("hipGraphAddMemAllocNode", *_ADD, POINTER)
def graph_add_mem_alloc_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, parameters: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    work = allocate_node_work(runtime, runtime.graphs[graph], parameters)
    add_node(runtime, out, graph, dependencies, dependency_count, work)


@api("hipGraphMemAllocNodeGetParams", HANDLE, POINTER)
def graph_mem_alloc_node_get_params(runtime: HipRuntime, handle: int, out: int) -> None:
    work = node_of(runtime, handle, NodeKind.MEM_ALLOC).work
    require(out and isinstance(work, Allocate))
    if isinstance(work, Allocate):
        ctypes.memmove(out, work.parameters, len(work.parameters))


@api("hipGraphAddMemFreeNode", *_ADD, POINTER)
@api("hipDrvGraphAddMemFreeNode", *_ADD, POINTER)
def graph_add_mem_free_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, address: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    work = free_node_work(runtime, runtime.graphs[graph], address)
    add_node(runtime, out, graph, dependencies, dependency_count, work)


@api("hipGraphMemFreeNodeGetParams", HANDLE, POINTER)
def graph_mem_free_node_get_params(runtime: HipRuntime, handle: int, out: int) -> None:
    work = node_of(runtime, handle, NodeKind.MEM_FREE).work
    if isinstance(work, Free):
        store_pointer(out, work.address)


@api("hipDeviceGetGraphMemAttribute", INT, INT, POINTER)
def device_get_graph_mem_attribute(runtime: HipRuntime, ordinal: int, attribute: int, out: int) -> None:
    runtime.gpu_at(ordinal)
    require(out and attribute in tuple(GraphMemoryAttribute))
    if attribute == GraphMemoryAttribute.USED_MEM_CURRENT:
        store_pointer(out, used_by_graphs(runtime, ordinal))
    else:
        store_pointer(out, runtime.graph_memory_meters.get((ordinal, attribute), 0))


@api("hipDeviceSetGraphMemAttribute", INT, INT, POINTER)
def device_set_graph_mem_attribute(runtime: HipRuntime, ordinal: int, attribute: int, value: int) -> None:
    """The high-water marks can be set back to 0."""
    runtime.gpu_at(ordinal)
    require(
        value
        and attribute in (GraphMemoryAttribute.USED_MEM_HIGH, GraphMemoryAttribute.RESERVED_MEM_HIGH)
        and not ctypes.c_size_t.from_address(value).value
    )
    runtime.graph_memory_meters[ordinal, attribute] = 0


@api("hipDeviceGraphMemTrim", INT)
def device_graph_mem_trim(runtime: HipRuntime, ordinal: int) -> None:
    runtime.gpu_at(ordinal)
    runtime.graph_memory_meters[ordinal, GraphMemoryAttribute.RESERVED_MEM_CURRENT] = used_by_graphs(runtime, ordinal)


# -- in the order of a stream ------------------------------------------------------------------------------------------


def _allocate_on(runtime: HipRuntime, out: int, size: int, stream: Stream, pool: int) -> None:
    """Memory is there at once, for use behind this call on the stream; in a capture it becomes a node."""
    ordinal = runtime.pools[pool].ordinal
    if stream.capture is None or not size:
        allocate_into(runtime, out, size, ordinal, pool)
        return
    require(out)
    work = allocation_of(runtime, stream.capture.graph, size, ordinal, bytes(_parameters(size, ordinal)))
    submit(runtime, stream, work)
    store_pointer(out, work.memory.allocation.address)


def _parameters(size: int, ordinal: int) -> AllocateParams:
    made = AllocateParams(bytesize=size)
    made.poolProps.allocType = AllocationType.PINNED
    made.poolProps.location.type, made.poolProps.location.id = LocationType.DEVICE, ordinal
    return made


@api("hipMallocAsync", POINTER, SIZE, HANDLE)
def malloc_async(runtime: HipRuntime, out: int, size: int, stream_handle: int) -> None:
    stream = runtime.stream(stream_handle)
    _allocate_on(runtime, out, size, stream, current_pool(runtime, stream.gpu.ordinal))


@api("hipMallocFromPoolAsync", POINTER, SIZE, HANDLE, HANDLE)
def malloc_from_pool(runtime: HipRuntime, out: int, size: int, handle: int, stream_handle: int) -> None:
    _allocate_on(runtime, out, size, runtime.stream(stream_handle), handle)


@api("hipFreeAsync", POINTER, HANDLE)
def free_async(runtime: HipRuntime, address: int, stream_handle: int) -> None:
    """The memory ends when the stream gets there."""
    stream = runtime.stream(stream_handle)
    if not address:
        require(runtime.profile.frees_null_in_order)
        return
    allocation = runtime.allocations.find(address)
    if allocation is None or not runtime.allocations.is_registered(allocation):
        raise CallError(Code.INVALID_VALUE, f"not an allocation: {runtime.memory.describe(address)}")
    if stream.capture is not None:
        require(allocation.address in runtime.graph_memory, note="a capture frees memory that it allocated")
    submit(runtime, stream, Free(allocation.address))
