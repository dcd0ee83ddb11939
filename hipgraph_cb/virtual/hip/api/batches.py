"""Batches of memory operations: values written and waited for, one after the other, on a stream or as a node."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import ClassVar

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import BatchOperation, NodeKind
from hipgraph_cb.abi.hip.structures import BatchMemoryOperation, BatchNodeParams
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.graph_nodes import add_node, check_add, node_of, place_in
from hipgraph_cb.virtual.hip.api.stream_values import WriteValue, check_value, wait_for_value
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import require
from hipgraph_cb.virtual.hip.objects.gpu import Gpu
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.submit import forbid_in_capture, submit
from hipgraph_cb.virtual.worker import Operation

_MOST = 256
_SIZES = {
    BatchOperation.WAIT_VALUE_32: 4,
    BatchOperation.WRITE_VALUE_32: 4,
    BatchOperation.WAIT_VALUE_64: 8,
    BatchOperation.WRITE_VALUE_64: 8,
}
_WAITS = (BatchOperation.WAIT_VALUE_32, BatchOperation.WAIT_VALUE_64)
_ORDER_ONLY = (BatchOperation.BARRIER, BatchOperation.FLUSH_REMOTE_WRITES)


def _operations(runtime: HipRuntime, count: int, address: int) -> list[BatchMemoryOperation]:
    """Those that write or wait; operations of a batch are in order here anyway."""
    require(address and 0 < count <= _MOST)
    given = [
        BatchMemoryOperation.from_buffer_copy(each) for each in (BatchMemoryOperation * count).from_address(address)
    ]
    require(all(each.operation in tuple(BatchOperation) for each in given))
    kept = [each for each in given if each.operation not in _ORDER_ONLY]
    for each in kept:
        check_value(runtime, each.address, _SIZES[BatchOperation(each.operation)])
    return kept


def _write_of(operation: BatchMemoryOperation) -> WriteValue:
    size = _SIZES[BatchOperation(operation.operation)]
    return WriteValue(operation.address, operation.value & ((1 << 8 * size) - 1), size)


@api("hipStreamBatchMemOp", HANDLE, UINT, POINTER, UINT)
def stream_batch_memory_operations(runtime: HipRuntime, handle: int, count: int, address: int, flags: int) -> None:
    require(flags == 0)
    operations, stream = _operations(runtime, count, address), runtime.stream(handle)
    forbid_in_capture(stream)
    for each in operations:
        size = _SIZES[BatchOperation(each.operation)]
        if each.operation in _WAITS:
            mask = (1 << 8 * size) - 1
            wait_for_value(runtime, stream, each.address, each.value & mask, each.flags, mask, size)
        else:
            submit(runtime, stream, _write_of(each))


@dataclass(frozen=True)
class BatchWrites:
    """The writes of a node, in their order."""

    writes: tuple[WriteValue, ...]
    parameters: bytes
    operations: bytes
    kind: ClassVar[NodeKind] = NodeKind.BATCH_MEM_OP
    label: ClassVar[str] = "batch of memory operations"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        for write in self.writes:
            write.run(runtime, gpu, operation)


def _batch_of(runtime: HipRuntime, parameters: int) -> BatchWrites:
    """What a hipBatchMemOpNodeParams asks for, copied. A graph runs as a whole, so it cannot wait inside."""
    require(parameters)
    given = BatchNodeParams.from_address(parameters)
    require(given.flags == 0)
    operations = _operations(runtime, given.count, given.paramArray)
    if any(each.operation in _WAITS for each in operations):
        raise CallError(Code.NOT_SUPPORTED, "a node of a graph of the virtual GPU cannot wait for a value in memory")
    listed = ctypes.string_at(given.paramArray, given.count * ctypes.sizeof(BatchMemoryOperation))
    return BatchWrites(tuple(_write_of(each) for each in operations), bytes(given), listed)


@api("hipGraphAddBatchMemOpNode", POINTER, HANDLE, POINTER, SIZE, POINTER)
def graph_add_batch_node(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int, parameters: int
) -> None:
    check_add(runtime, out, graph, dependencies, dependency_count)
    add_node(runtime, out, graph, dependencies, dependency_count, _batch_of(runtime, parameters))


@api("hipGraphBatchMemOpNodeGetParams", HANDLE, POINTER)
def graph_batch_node_get_params(runtime: HipRuntime, handle: int, out: int) -> None:
    """The list is the node's own copy."""
    node = node_of(runtime, handle, NodeKind.BATCH_MEM_OP)
    require(out)
    if isinstance(node.work, BatchWrites):
        node.shown = listed = ctypes.create_string_buffer(node.work.operations, len(node.work.operations))
        ctypes.memmove(out, node.work.parameters, len(node.work.parameters))
        BatchNodeParams.from_address(out).paramArray = ctypes.addressof(listed)


@api("hipGraphBatchMemOpNodeSetParams", HANDLE, POINTER)
def graph_batch_node_set_params(runtime: HipRuntime, handle: int, parameters: int) -> None:
    node_of(runtime, handle, NodeKind.BATCH_MEM_OP).work = _batch_of(runtime, parameters)


@api("hipGraphExecBatchMemOpNodeSetParams", HANDLE, HANDLE, POINTER)
def graph_exec_batch_node_set_params(runtime: HipRuntime, executable: int, handle: int, parameters: int) -> None:
    graph, place = place_in(runtime, executable, handle, NodeKind.BATCH_MEM_OP)
    graph.replace(place, _batch_of(runtime, parameters))
