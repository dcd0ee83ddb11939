"""One structure for every kind of node: adding, changing, and changing in executable graphs."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import handles, structure

from hipgraph_cb.abi.hip.structures import (
    AllocateParams,
    KernelNodeParams,
    Memcpy3DParams,
    MemcpyNodeParams,
    MemsetParams,
    NodeParams,
)

KERNEL, MEMCPY, MEMSET, HOST, GRAPH, EMPTY, WAIT_EVENT, EVENT_RECORD = range(8)
MEM_ALLOC, MEM_FREE = 10, 11


def generic(kind, inside=b""):
    params = NodeParams(type=kind)
    data = bytes(inside)
    ctypes.memmove(ctypes.addressof(params) + NodeParams.inside.offset, data, len(data))
    return params


def handle(number):
    return ctypes.c_size_t(number)


@pytest.fixture
def graph(raw):
    made = raw.made("hipGraphCreate", 0)
    yield made
    raw.hipGraphDestroy(made)


@pytest.fixture
def block(program):
    return program.upload(np.zeros(64, np.uint8))


def fill(block, value, size=64):
    return generic(MEMSET, structure(MemsetParams, dst=block, value=value, elementSize=1, width=size, height=1))


def test_the_structure_is_as_large_as_that_of_hip_python(hip):
    assert ctypes.sizeof(NodeParams) == hip.hipGraphNodeParams().c_sizeof()
    assert ctypes.sizeof(AllocateParams) == hip.hipMemAllocNodeParams().c_sizeof()
    assert ctypes.sizeof(MemcpyNodeParams) == hip.hipMemcpyNodeParams().c_sizeof()


def test_nodes_of_every_kind_can_be_added(raw, program, graph, block, hip):
    copy = structure(Memcpy3DParams, dstPtr=(block + 32, 8, 8, 1), srcPtr=(block, 8, 8, 1), extent=(8, 1, 1), kind=3)
    seen = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)
    host = (ctypes.c_size_t * 2)(ctypes.cast(function, ctypes.c_void_p).value, 5)
    event, child = raw.made("hipEventCreate"), raw.made("hipGraphCreate", 0)
    arguments = program.saxpy(block, block, 0.0, 0)
    kernel = structure(
        KernelNodeParams, func=int(program.function()), gridDim=(1, 1, 1), blockDim=(64, 1, 1),
        kernelParams=arguments.address,
    )  # fmt: skip
    allocation = AllocateParams(bytesize=16)
    allocation.poolProps.allocType = allocation.poolProps.location.type = 1
    given = [
        fill(block, 3),
        generic(MEMCPY, MemcpyNodeParams(copyParams=copy)),
        generic(HOST, host),
        generic(EMPTY),
        generic(EVENT_RECORD, handle(event)),
        generic(WAIT_EVENT, handle(event)),
        generic(GRAPH, handle(child)),
        generic(KERNEL, kernel),
        generic(MEM_ALLOC, allocation),
    ]
    nodes = []
    for params in given:
        before = (handles(*nodes[-1:]), 1) if nodes else (0, 0)
        nodes.append(raw.made("hipGraphAddNode", graph, *before, params))
    address = AllocateParams.from_buffer_copy(bytes(given[-1].inside)).dptr
    assert address
    nodes.append(raw.made("hipGraphAddNode", graph, handles(nodes[-1]), 1, generic(MEM_FREE, handle(address))))
    kinds = []
    for node in nodes:
        kind = ctypes.c_int()
        assert raw.hipGraphNodeGetType(node, kind) == 0
        kinds.append(kind.value)
    assert kinds == [MEMSET, MEMCPY, HOST, EMPTY, EVENT_RECORD, WAIT_EVENT, GRAPH, KERNEL, MEM_ALLOC, MEM_FREE]
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert seen == [5]
    assert program.download(block, 64, np.uint8).tolist() == [3] * 64
    assert raw.hipGraphExecDestroy(executable) == 0


def test_a_kind_that_is_none_is_refused(raw, graph):
    node = ctypes.c_size_t()
    assert [raw.hipGraphAddNode(node, graph, 0, 0, generic(kind)) for kind in (8, 14, 99)] == [1, 1, 1]
    assert raw.hipGraphAddNode(node, graph, 0, 0, 0) == 1


def test_a_node_keeps_its_kind_when_it_is_changed(raw, program, graph, block):
    node = raw.made("hipGraphAddNode", graph, 0, 0, fill(block, 3))
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphNodeSetParams(node, fill(block, 4)) == 0
    assert raw.hipGraphNodeSetParams(node, generic(EMPTY)) == 1
    assert raw.hipGraphExecNodeSetParams(executable, node, fill(block, 5, 8)) == 0
    assert raw.hipGraphExecNodeSetParams(executable, node, generic(HOST, (ctypes.c_size_t * 2)(1, 0))) == 1
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert program.download(block, 9, np.uint8).tolist() == [5] * 8 + [0]
    again = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphLaunch(again, 0) == 0
    assert program.download(block, 9, np.uint8).tolist() == [4] * 9
    for made in (executable, again):
        assert raw.hipGraphExecDestroy(made) == 0


def test_a_child_graph_is_replaced_by_one_of_the_same_form(raw, program, graph, block):
    def child(value, count):
        made, nodes = raw.made("hipGraphCreate", 0), []
        for index in range(count):
            before = (handles(*nodes[-1:]), 1) if nodes else (0, 0)
            nodes.append(raw.made("hipGraphAddNode", made, *before, fill(block + 8 * index, value, 8)))
        return made

    first = raw.made("hipGraphAddNode", graph, 0, 0, fill(block, 9))
    node = raw.made("hipGraphAddChildGraphNode", graph, handles(first), 1, child(1, 2))
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphExecChildGraphNodeSetParams(executable, node, child(2, 2)) == 0
    assert raw.hipGraphExecNodeSetParams(executable, node, generic(GRAPH, handle(child(3, 3)))) == 999
    assert raw.hipGraphExecChildGraphNodeSetParams(executable, first, child(2, 2)) == 1
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert program.download(block, 24, np.uint8).tolist() == [2] * 16 + [9] * 8
    assert raw.hipGraphExecDestroy(executable) == 0
