"""Batches of memory operations, on streams and as nodes of graphs."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from hipgraph_cb.abi.hip.structures import BatchMemoryOperation, BatchNodeParams

WAIT_32, WRITE_32, WAIT_64, WRITE_64, BARRIER = 1, 2, 4, 5, 6
EQUAL = 1


@pytest.fixture
def block(program):
    return program.upload(np.zeros(4, np.uint32))


def batch(*operations):
    return (BatchMemoryOperation * len(operations))(*[BatchMemoryOperation(*each) for each in operations])


def node_params(operations):
    return BatchNodeParams(0, len(operations), ctypes.addressof(operations), 0)


def test_the_structures_are_as_long_as_those_of_the_header():
    assert (ctypes.sizeof(BatchMemoryOperation), ctypes.sizeof(BatchNodeParams)) == (48, 32)


def test_a_stream_writes_and_waits_in_order(raw, program, block):
    stream, other = raw.made("hipStreamCreateWithFlags", 1), raw.made("hipStreamCreateWithFlags", 1)
    waits = batch((WAIT_32, block, 7, EQUAL), (BARRIER,), (WRITE_64, block + 8, 1 << 40, 0))
    assert raw.hipStreamBatchMemOp(stream, len(waits), waits, 0) == 0
    assert raw.hipStreamQuery(stream) == 600
    writes = batch((WRITE_32, block, (1 << 32) + 7, 0))
    assert raw.hipStreamBatchMemOp(other, 1, writes, 0) == 0
    assert raw.hipStreamSynchronize(stream) == 0
    assert program.download(block, 4, np.uint32).tolist() == [7, 0, 0, 256]
    assert raw.hipStreamDestroy(stream) == raw.hipStreamDestroy(other) == 0


def test_a_node_writes_what_it_was_given_when_it_was_made(raw, program, block):
    graph, operations = raw.made("hipGraphCreate", 0), batch((WRITE_32, block, 5, 0), (WRITE_32, block + 4, 6, 0))
    node = raw.made("hipGraphAddBatchMemOpNode", graph, 0, 0, node_params(operations))
    operations[0].value = 99
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert program.download(block, 4, np.uint32).tolist() == [5, 6, 0, 0]
    reported = BatchNodeParams()
    assert raw.hipGraphBatchMemOpNodeGetParams(node, reported) == 0
    assert (reported.count, BatchMemoryOperation.from_address(reported.paramArray).value) == (2, 5)
    assert raw.hipGraphExecBatchMemOpNodeSetParams(executable, node, node_params(operations)) == 0
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert program.download(block, 4, np.uint32).tolist() == [99, 6, 0, 0]
    assert raw.hipGraphBatchMemOpNodeSetParams(node, node_params(operations)) == 0
    kind = ctypes.c_int()
    assert (raw.hipGraphNodeGetType(node, kind), kind.value) == (0, 14)
    assert raw.hipGraphExecDestroy(executable) == raw.hipGraphDestroy(graph) == 0


def test_what_is_no_batch_is_refused(raw, block):
    good = batch((WRITE_32, block, 1, 0))
    assert raw.hipStreamBatchMemOp(0, 0, good, 0) == raw.hipStreamBatchMemOp(0, 1, 0, 0) == 1
    assert raw.hipStreamBatchMemOp(0, 257, good, 0) == raw.hipStreamBatchMemOp(0, 1, good, 1) == 1
    assert raw.hipStreamBatchMemOp(0, 1, batch((9, block, 1, 0)), 0) == 1
    assert raw.hipStreamBatchMemOp(0, 1, batch((WRITE_32, block + 1, 1, 0)), 0) == 1


def test_a_node_cannot_wait(raw, block):
    graph = raw.made("hipGraphCreate", 0)
    waits = batch((WAIT_32, block, 7, EQUAL))
    assert raw.hipGraphAddBatchMemOpNode(ctypes.c_size_t(), graph, 0, 0, node_params(waits)) == 801
    assert raw.hipGraphDestroy(graph) == 0
