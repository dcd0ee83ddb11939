"""What graphs tell: nodes, edges, roots, dependencies, parameters; and setting the parameters of every kind of node."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import handles, structure

from hipgraph_cb.abi.hip.structures import (
    DriverMemcpy3D,
    HostNodeParams,
    InstantiateParams,
    KernelNodeParams,
    Memcpy3DParams,
    MemsetParams,
)

DEVICE = 2


@pytest.fixture
def graph(raw):
    handle = raw.made("hipGraphCreate", 0)
    yield handle
    raw.hipGraphDestroy(handle)


@pytest.fixture
def block(program):
    return program.upload(np.arange(64, dtype=np.uint8))


@pytest.fixture
def diamond(raw, graph):
    """Four empty nodes: one, two behind it, one behind both."""
    first = raw.made("hipGraphAddEmptyNode", graph, 0, 0)
    middle = [raw.made("hipGraphAddEmptyNode", graph, handles(first), 1) for _ in range(2)]
    return first, *middle, raw.made("hipGraphAddEmptyNode", graph, handles(*middle), 2)


def listed(call, owner, room):
    """A list with room for so many: what is written, and the count."""
    out, count = (ctypes.c_size_t * max(1, room))(*[77] * max(1, room)), ctypes.c_size_t(room)
    assert call(owner, out, count) == 0
    return list(out)[:room], count.value


def test_lists_fill_the_room_there_is_and_clear_the_rest(raw, graph, diamond):
    first, left, right, last = diamond
    count = ctypes.c_size_t()
    assert raw.hipGraphGetNodes(graph, 0, count) == 0
    assert count.value == 4
    assert listed(raw.hipGraphGetNodes, graph, 6) == ([first, left, right, last, 0, 0], 4)
    assert listed(raw.hipGraphGetNodes, graph, 2) == ([first, left], 2)
    assert listed(raw.hipGraphGetRootNodes, graph, 2) == ([first, 0], 1)
    assert listed(raw.hipGraphNodeGetDependencies, last, 2) == ([left, right], 2)
    assert listed(raw.hipGraphNodeGetDependentNodes, first, 3) == ([left, right, 0], 2)
    assert listed(raw.hipGraphNodeGetDependencies, first, 1) == ([0], 0)


def test_edges_come_as_two_lists(raw, graph, diamond):
    first, left, right, last = diamond
    count = ctypes.c_size_t()
    assert raw.hipGraphGetEdges(graph, 0, 0, count) == 0
    assert count.value == 4
    sources, targets, count = (ctypes.c_size_t * 4)(), (ctypes.c_size_t * 4)(), ctypes.c_size_t(4)
    assert raw.hipGraphGetEdges(graph, sources, targets, count) == 0
    assert set(zip(sources, targets, strict=True)) == {(first, left), (first, right), (left, last), (right, last)}
    assert raw.hipGraphGetEdges(graph, sources, 0, count) == 1


def fill(block, value, size=8):
    return structure(MemsetParams, dst=block, value=value, elementSize=1, width=size, height=1)


def copy_box(to, source, size=8):
    ends = {"dstPtr": (to, size, size, 1), "srcPtr": (source, size, size, 1)}
    return structure(Memcpy3DParams, **ends, extent=(size, 1, 1), kind=3)


def driver_box(to, source, size=8):
    return structure(
        DriverMemcpy3D, dstMemoryType=DEVICE, srcMemoryType=DEVICE, dstDevice=to, srcDevice=source,
        WidthInBytes=size, Height=1, Depth=1,
    )  # fmt: skip


def launched(raw, program, executable, block):
    assert raw.hipGraphLaunch(executable, 0) == 0
    return program.download(block, 64, np.uint8).tolist()


def test_boxes_are_set_in_graphs_and_executable_graphs(raw, program, graph, block):
    context = raw.made("hipDevicePrimaryCtxRetain", 0)
    node = raw.made("hipGraphAddMemcpyNode", graph, 0, 0, copy_box(block + 8, block))
    assert raw.hipGraphMemcpyNodeSetParams(node, copy_box(block + 16, block)) == 0
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    expected = [*range(16), *range(8), *range(24, 64)]
    assert launched(raw, program, executable, block) == expected
    expected[24:32] = range(8)
    assert raw.hipGraphExecMemcpyNodeSetParams(executable, node, copy_box(block + 24, block)) == 0
    assert launched(raw, program, executable, block) == expected
    expected[32:40] = range(8)
    assert raw.hipDrvGraphExecMemcpyNodeSetParams(executable, node, driver_box(block + 32, block), context) == 0
    assert launched(raw, program, executable, block) == expected
    expected[40:48] = range(8)
    assert raw.hipDrvGraphMemcpyNodeSetParams(node, driver_box(block + 40, block)) == 0
    again = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert launched(raw, program, again, block) == expected
    assert raw.hipGraphMemcpyNodeSetParams1D(node, block + 48, block, 8, 3) == 0
    expected[48:56] = range(8)
    assert launched(raw, program, raw.made("hipGraphInstantiateWithFlags", graph, 0), block) == expected


def test_fills_are_set_by_the_driver_interface(raw, program, graph, block):
    context = raw.made("hipDevicePrimaryCtxRetain", 0)
    node = raw.made("hipDrvGraphAddMemsetNode", graph, 0, 0, fill(block, 1), context)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipDrvGraphExecMemsetNodeSetParams(executable, node, fill(block, 2), context) == 0
    assert launched(raw, program, executable, block)[:9] == [2] * 8 + [8]


def test_kernels_are_set(raw, program, graph):
    x, y = program.upload(np.ones(64, np.float32)), program.upload(np.zeros(64, np.float32))
    saxpy = int(program.function())

    def params(factor):
        made = program.saxpy(y, x, factor, 64)
        program.kept.append(made)
        return structure(
            KernelNodeParams, func=saxpy, gridDim=(1, 1, 1), blockDim=(64, 1, 1), kernelParams=made.address
        )

    node = raw.made("hipGraphAddKernelNode", graph, 0, 0, params(1.0))
    assert raw.hipGraphKernelNodeSetParams(node, params(5.0)) == 0
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert (program.download(y, 64) == 5).all()
    assert raw.hipGraphExecKernelNodeSetParams(executable, node, params(2.0)) == 0
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert (program.download(y, 64) == 7).all()


def test_host_functions_are_set_and_reported(raw, graph):
    seen = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)
    address = ctypes.cast(function, ctypes.c_void_p).value

    def params(argument):
        return structure(HostNodeParams, fn=address, userData=argument)

    node = raw.made("hipGraphAddHostNode", graph, 0, 0, params(1))
    assert raw.hipGraphHostNodeSetParams(node, params(2)) == 0
    reported = HostNodeParams()
    assert raw.hipGraphHostNodeGetParams(node, reported) == 0
    assert (reported.fn, reported.userData) == (address, 2)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert raw.hipGraphExecHostNodeSetParams(executable, node, params(3)) == 0
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert seen == [2, 3]


@pytest.mark.parametrize("kind", ["EventRecord", "EventWait"])
def test_events_of_nodes_are_set_and_reported(raw, graph, kind):
    events = [raw.made("hipEventCreate") for _ in range(3)]
    node = raw.made(f"hipGraphAdd{kind}Node", graph, 0, 0, events[0])
    assert raw.hipEventRecord(events[2], 0) == 0

    def reported():
        event = ctypes.c_size_t()
        assert getattr(raw, f"hipGraph{kind}NodeGetEvent")(node, event) == 0
        return event.value

    assert reported() == events[0]
    assert getattr(raw, f"hipGraph{kind}NodeSetEvent")(node, events[1]) == 0
    assert reported() == events[1]
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert getattr(raw, f"hipGraphExec{kind}NodeSetEvent")(executable, node, events[2]) == 0
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert raw.hipEventElapsedTime(ctypes.c_float(), events[2], events[2]) == 0
    assert raw.hipEventElapsedTime(ctypes.c_float(), events[1], events[1]) == 400
    assert getattr(raw, f"hipGraph{kind}NodeSetEvent")(node, 0x1234) == 400


def test_a_graph_waits_for_the_event_of_an_event_wait_node(raw, program, graph, block):
    import threading

    opened, event, stream = threading.Event(), raw.made("hipEventCreate"), raw.made("hipStreamCreateWithFlags", 1)
    held = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: opened.wait(20) and None)
    assert raw.hipLaunchHostFunc(stream, ctypes.cast(held, ctypes.c_void_p).value, 0) == 0
    assert raw.hipMemsetAsync(block, 1, 8, stream) == 0
    assert raw.hipEventRecord(event, stream) == 0
    wait = raw.made("hipGraphAddEventWaitNode", graph, 0, 0, event)
    raw.made("hipGraphAddMemsetNode", graph, handles(wait), 1, fill(block, 2))
    other = raw.made("hipStreamCreateWithFlags", 1)
    assert raw.hipGraphLaunch(raw.made("hipGraphInstantiateWithFlags", graph, 0), other) == 0
    assert raw.hipStreamQuery(other) == 600
    opened.set()
    assert raw.hipStreamSynchronize(other) == 0
    assert program.download(block, 8, np.uint8).tolist() == [2] * 8


def test_instantiation_by_a_structure_tells_its_result(raw, graph, diamond):
    params, executable = InstantiateParams(flags=8, result_out=9), ctypes.c_size_t()
    assert raw.hipGraphInstantiateWithParams(executable, graph, params) == 0
    assert (params.result_out, params.errNode_out) == (0, 0)
    assert executable.value
    assert raw.hipGraphAddDependencies(graph, handles(diamond[3]), handles(diamond[0]), 1) == 0
    assert raw.hipGraphInstantiateWithParams(executable, graph, params) == 1
    assert params.result_out == 1


def test_the_driver_interface_frees_graph_memory_too(raw, graph):
    from hipgraph_cb.abi.hip.structures import AllocateParams

    params = AllocateParams(bytesize=16)
    params.poolProps.allocType = params.poolProps.location.type = 1
    node = raw.made("hipGraphAddMemAllocNode", graph, 0, 0, params)
    raw.made("hipDrvGraphAddMemFreeNode", graph, handles(node), 1, params.dptr)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphUpload(executable, 0) == 0
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert raw.hipGraphExecDestroy(executable) == 0
