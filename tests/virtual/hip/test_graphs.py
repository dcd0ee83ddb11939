"""Graphs: what is copied when, what is accepted, and what a launch does."""

from __future__ import annotations

import ctypes
import threading
from itertools import pairwise

import numpy as np
import pytest
from support.hip_program import code_of, done, handles


@pytest.fixture
def graph(hip):
    handle = done(hip.hipGraphCreate(0))
    yield handle
    hip.hipGraphDestroy(handle)


@pytest.fixture
def block(program):
    return program.upload(np.zeros(64, np.uint8))


def launch(hip, program, graph):
    executable = program.instantiate(graph)
    done(hip.hipGraphLaunch(executable, None))
    done(hip.hipDeviceSynchronize())
    return executable


def test_nodes_run_in_the_order_of_their_edges(hip, program, graph, block):
    previous = None
    for value in range(1, 30):
        params = program.memset_params(block, value, 1, 64)
        before = (None, 0) if previous is None else (handles(previous), 1)
        previous = done(hip.hipGraphAddMemsetNode(graph, *before, params))
    launch(hip, program, graph)
    assert (program.download(block, 64, np.uint8) == 29).all()


def test_nodes_without_edges_run_in_an_arbitrary_order(hip, program, graph, block):
    for value in range(1, 30):
        done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, value, 1, 1)))
    executable = program.instantiate(graph)
    last = set()
    for _ in range(20):
        done(hip.hipGraphLaunch(executable, None))
        last.add(int(program.download(block, 1, np.uint8)[0]))
    assert len(last) > 3


def test_the_parameters_of_an_executable_graph_can_be_changed(hip, program, graph, block):
    fill = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 3, 1, 64)))
    kind = hip.hipMemcpyKind.hipMemcpyDeviceToDevice
    copy = done(hip.hipGraphAddMemcpyNode1D(graph, handles(fill), 1, block + 32, block, 8, kind))
    executable = program.instantiate(graph)
    done(hip.hipGraphExecMemsetNodeSetParams(executable, fill, program.memset_params(block, 5, 1, 32)))
    done(hip.hipGraphExecMemcpyNodeSetParams1D(executable, copy, block + 40, block, 4, kind))
    done(hip.hipGraphLaunch(executable, None))
    assert program.download(block, 64, np.uint8).tolist() == [5] * 32 + [0] * 8 + [5] * 4 + [0] * 20


def test_a_memset_value_is_cut_to_its_element(hip, program, graph, block):
    done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block + 1, 0x12345678, 1, 4)))
    done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block + 9, 0x12345678, 2, 2)))
    launch(hip, program, graph)
    written = program.download(block, 16, np.uint8).tobytes()
    assert written == bytes([0, *[0x78] * 4, 0, 0, 0, 0, *[0x78, 0x56] * 2, 0, 0, 0])


def test_rows_of_wide_elements_are_filled_exactly(hip, program, graph, block):
    params = program.memset_params(block, 0x01020304, 4, width=2, height=3, pitch=16)
    done(hip.hipGraphAddMemsetNode(graph, None, 0, params))
    launch(hip, program, graph)
    row = [4, 3, 2, 1] * 2 + [0] * 8
    assert program.download(block, 64, np.uint8).tolist() == row * 3 + [0] * 16


H2H, H2D, D2H, D2D, DEFAULT = range(5)


def test_a_fault_in_a_graph_is_reported_by_the_next_wait(hip, program, graph, runtime):
    saxpy = program.function()
    y = program.upload(np.zeros(64, np.float32))
    bad = done(hip.hipGraphAddKernelNode(graph, None, 0, program.kernel_params(saxpy, program.saxpy(y, 0x10, 1.0, 64))))
    done(hip.hipGraphAddMemsetNode(graph, handles(bad), 1, program.memset_params(y, 1, 1, 4)))
    executable = program.instantiate(graph)
    done(hip.hipGraphLaunch(executable, None))
    assert code_of(hip.hipDeviceSynchronize()) == 700
    assert "kernel saxpy: memory access fault: 16 bytes after the null pointer" in runtime.fault_report()
    assert code_of(hip.hipDeviceSynchronize()) == 0
    assert (program.download(y, 64) == 0).all()


def test_a_launch_does_not_see_parameters_that_are_set_after_it(hip, program, graph, block):
    node = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 1, 1, 1)))
    second = done(hip.hipGraphCreate(0))
    copy_kind = hip.hipMemcpyKind.hipMemcpyDeviceToDevice
    executable = program.instantiate(graph)
    stream = done(hip.hipStreamCreate())
    for value in range(1, 20):
        done(hip.hipGraphExecMemsetNodeSetParams(executable, node, program.memset_params(block, value, 1, 1)))
        done(hip.hipGraphLaunch(executable, stream))
        done(hip.hipMemcpyDtoDAsync(block + value, block, 1, stream))
    done(hip.hipStreamSynchronize(stream))
    assert program.download(block, 20, np.uint8).tolist() == [19, *range(1, 20)]
    del second, copy_kind


def test_a_child_graph_is_cloned_when_it_is_added(hip, program, graph, block):
    child = done(hip.hipGraphCreate(0))
    done(hip.hipGraphAddMemsetNode(child, None, 0, program.memset_params(block, 1, 1, 8)))
    before = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 9, 1, 64)))
    node = done(hip.hipGraphAddChildGraphNode(graph, handles(before), 1, child))
    after = program.memset_params(block, 5, 1, 4)
    done(hip.hipGraphAddMemsetNode(graph, handles(node), 1, after))
    done(hip.hipGraphAddMemsetNode(child, None, 0, program.memset_params(block, 7, 1, 64)))
    launch(hip, program, graph)
    assert program.download(block, 64, np.uint8).tolist() == [5] * 4 + [1] * 4 + [9] * 56
    assert int(done(hip.hipGraphChildGraphNodeGetGraph(node))) != int(child)


def test_the_nodes_of_a_graph_and_other_streams_take_turns_in_an_arbitrary_order(hip, raw, program, graph):
    order, opened = [], threading.Event()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    held, note = kind(lambda _: opened.wait(20) and None), kind(order.append)
    note_address = ctypes.cast(note, ctypes.c_void_p).value
    before = (0, 0)
    for _ in range(20):
        params = (ctypes.c_size_t * 2)(note_address, 1)
        node = raw.made("hipGraphAddHostNode", int(graph), *before, params)
        before = handles(node), 1
    executable = program.instantiate(graph)
    streams = [done(hip.hipStreamCreateWithFlags(1)) for _ in range(3)]
    assert raw.hipLaunchHostFunc(int(streams[0]), ctypes.cast(held, ctypes.c_void_p).value, 0) == 0
    done(hip.hipGraphLaunch(executable, streams[1]))
    for _ in range(20):
        assert raw.hipLaunchHostFunc(int(streams[2]), note_address, 2) == 0
    opened.set()
    done(hip.hipDeviceSynchronize())
    assert sorted(order) == [1] * 20 + [2] * 20
    changes = sum(first != second for first, second in pairwise(order))
    assert changes > 5
    for stream in streams:
        done(hip.hipStreamDestroy(stream))
