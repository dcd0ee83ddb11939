"""Memory that graphs allocate and free, and allocation in the order of a stream."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import handles, structure
from support.hip_program import code_of, done

from hipgraph_cb.abi.hip.structures import AllocateParams, MemsetParams


def allocation(size, kind=1, location=1, ordinal=0):
    params = AllocateParams(bytesize=size)
    params.poolProps.allocType = kind
    params.poolProps.location.type, params.poolProps.location.id = location, ordinal
    return params


@pytest.fixture
def graph(raw):
    handle = raw.made("hipGraphCreate", 0)
    yield handle
    raw.hipGraphDestroy(handle)


def add_allocation(raw, graph, size=64):
    params = allocation(size)
    node = raw.made("hipGraphAddMemAllocNode", graph, 0, 0, params)
    return node, params.dptr


def add_fill(raw, graph, before, address, value, size=64):
    params = structure(MemsetParams, dst=address, value=value, elementSize=1, width=size, height=1, pitch=size)
    return raw.made("hipGraphAddMemsetNode", graph, handles(before), 1, params)


def used(raw, attribute=0):
    value = ctypes.c_size_t()
    assert raw.hipDeviceGetGraphMemAttribute(0, attribute, value) == 0
    return value.value


def test_the_same_address_lives_from_node_to_node_in_every_launch(raw, graph, program):
    result = program.upload(np.zeros(64, np.uint8))
    node, address = add_allocation(raw, graph)
    fill = add_fill(raw, graph, node, address, 7)
    copy = raw.made("hipGraphAddMemcpyNode1D", graph, handles(fill), 1, result, address, 64, 3)
    raw.made("hipGraphAddMemFreeNode", graph, handles(copy), 1, address)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    for _ in range(3):
        assert raw.hipMemset(result, 0, 64) == 0
        assert raw.hipGraphLaunch(executable, 0) == 0
        assert (program.download(result, 64, np.uint8) == 7).all()
        assert used(raw) == 0
    assert used(raw, 1) >= 64
    assert raw.hipGraphExecDestroy(executable) == 0


def test_what_is_read_before_it_is_written_is_not_what_the_last_launch_wrote(raw, graph, program):
    result = program.upload(np.zeros(64, np.uint8))
    node, address = add_allocation(raw, graph)
    copy = raw.made("hipGraphAddMemcpyNode1D", graph, handles(node), 1, result, address, 64, 3)
    fill = add_fill(raw, graph, copy, address, 7)
    raw.made("hipGraphAddMemFreeNode", graph, handles(fill), 1, address)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    for _ in range(2):
        assert raw.hipGraphLaunch(executable, 0) == 0
        assert (program.download(result, 64, np.uint8) == 0xCD).all()
    assert raw.hipGraphExecDestroy(executable) == 0


def test_an_access_behind_the_free_node_is_a_fault(raw, graph, runtime):
    node, address = add_allocation(raw, graph)
    free = raw.made("hipGraphAddMemFreeNode", graph, handles(node), 1, address)
    add_fill(raw, graph, free, address, 7)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert raw.hipDeviceSynchronize() == 700
    assert "which was freed" in runtime.fault_report()
    assert raw.hipGraphExecDestroy(executable) == 0


def test_memory_that_no_node_frees_is_the_programs_to_free(raw, graph, program, hip):
    node, address = add_allocation(raw, graph)
    add_fill(raw, graph, node, address, 9)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert (program.download(address, 64, np.uint8) == 9).all()
    assert raw.hipGraphExecDestroy(executable) == 0
    assert used(raw) == 64
    assert raw.hipFree(address) == 0
    assert used(raw) == 0


def test_memory_that_was_never_launched_ends_with_its_graph(raw, hip):
    before = done(hip.hipMemGetInfo())
    graph = raw.made("hipGraphCreate", 0)
    add_allocation(raw, graph, 1 << 20)
    assert done(hip.hipMemGetInfo())[0] == before[0] - (1 << 20)
    assert raw.hipGraphDestroy(graph) == 0
    assert done(hip.hipMemGetInfo()) == before


def test_an_executable_graph_keeps_the_memory_of_its_graph(raw, program):
    graph = raw.made("hipGraphCreate", 0)
    result = program.upload(np.zeros(8, np.uint8))
    node, address = add_allocation(raw, graph)
    fill = add_fill(raw, graph, node, address, 4)
    copy = raw.made("hipGraphAddMemcpyNode1D", graph, handles(fill), 1, result, address, 8, 3)
    raw.made("hipGraphAddMemFreeNode", graph, handles(copy), 1, address)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphDestroy(graph) == 0
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert (program.download(result, 8, np.uint8) == 4).all()
    assert raw.hipGraphExecDestroy(executable) == 0


def test_parameters_are_checked_and_reported(raw, graph, program):
    node = ctypes.c_size_t()
    for bad in (allocation(0), allocation(64, kind=0), allocation(64, location=0)):
        assert raw.hipGraphAddMemAllocNode(node, graph, 0, 0, bad) == 1
    assert raw.hipGraphAddMemAllocNode(node, graph, 0, 0, allocation(64, ordinal=64)) == 1
    handle, address = add_allocation(raw, graph, 48)
    reported, freed = AllocateParams(), ctypes.c_size_t()
    assert raw.hipGraphMemAllocNodeGetParams(handle, reported) == 0
    assert (reported.bytesize, reported.dptr) == (48, address)
    free = raw.made("hipGraphAddMemFreeNode", graph, handles(handle), 1, address)
    assert raw.hipGraphMemFreeNodeGetParams(free, freed) == 0
    assert freed.value == address
    other = program.upload(np.zeros(8, np.uint8))
    assert raw.hipGraphAddMemFreeNode(node, graph, 0, 0, other) == 1


def test_high_water_marks_are_set_back_to_nothing_only(raw):
    assert raw.hipDeviceSetGraphMemAttribute(0, 1, ctypes.c_size_t(0)) == 0
    assert used(raw, 1) == 0
    assert raw.hipDeviceSetGraphMemAttribute(0, 1, ctypes.c_size_t(5)) == 1
    assert raw.hipDeviceSetGraphMemAttribute(0, 0, ctypes.c_size_t(0)) == 1
    assert raw.hipDeviceGraphMemTrim(0) == 0


def test_a_captured_allocation_becomes_nodes(raw, program):
    result = program.upload(np.zeros(16, np.uint8))
    stream = raw.made("hipStreamCreate")
    assert raw.hipStreamBeginCapture(stream, 2) == 0
    address = raw.made("hipMallocAsync", 16, stream)
    assert raw.hipMemsetAsync(address, 6, 16, stream) == 0
    assert raw.hipMemcpyDtoDAsync(result, address, 16, stream) == 0
    assert raw.hipFreeAsync(address, stream) == 0
    graph = ctypes.c_size_t()
    assert raw.hipStreamEndCapture(stream, graph) == 0
    executable = raw.made("hipGraphInstantiateWithFlags", graph.value, 0)
    for _ in range(2):
        assert raw.hipGraphLaunch(executable, stream) == 0
    assert raw.hipStreamSynchronize(stream) == 0
    assert (program.download(result, 16, np.uint8) == 6).all()
    for function, handle in (("hipGraphExecDestroy", executable), ("hipGraphDestroy", graph.value)):
        assert getattr(raw, function)(handle) == 0
    assert raw.hipStreamDestroy(stream) == 0


def test_a_range_is_freed_once_in_a_stream(raw, hip, runtime):
    stream = raw.made("hipStreamCreate")
    address = raw.made("hipMallocAsync", 16, stream)
    assert raw.hipFreeAsync(address, stream) == 0
    assert raw.hipStreamSynchronize(stream) == 0
    assert raw.hipFreeAsync(address, stream) == 1
    assert code_of(hip.hipFree(address)) == 1
    assert raw.hipStreamDestroy(stream) == 0


def test_memory_that_a_launch_left_alive_is_fresh_in_the_next_one(raw, graph, program):
    result = program.upload(np.zeros(64, np.uint8))
    node, address = add_allocation(raw, graph)
    copy = raw.made("hipGraphAddMemcpyNode1D", graph, handles(node), 1, result, address, 64, 3)
    add_fill(raw, graph, copy, address, 7)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    for _ in range(2):
        assert raw.hipGraphLaunch(executable, 0) == 0
        assert (program.download(result, 64, np.uint8) == 0xCD).all()
    assert (program.download(address, 64, np.uint8) == 7).all()
    assert raw.hipGraphExecDestroy(executable) == 0
    assert raw.hipFree(address) == 0
