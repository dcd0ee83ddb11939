"""Launch attributes of kernel nodes and streams are kept and reported."""

from __future__ import annotations

import ctypes

import pytest
from support.hip_program import done

ACCESS_POLICY_WINDOW, COOPERATIVE, SYNCHRONIZATION_POLICY = 1, 2, 3


def value(number):
    made = (ctypes.c_int * 16)()
    made[0] = number
    return made


@pytest.fixture
def nodes(raw, hip, program):
    graph, saxpy = done(hip.hipGraphCreate(0)), program.function()
    params = program.kernel_params(saxpy, program.saxpy(0, 0, 0.0, 0))
    made = [int(done(hip.hipGraphAddKernelNode(graph, None, 0, params))) for _ in range(2)]
    yield int(graph), *made
    hip.hipGraphDestroy(graph)


def test_attributes_of_a_kernel_node_are_kept_copied_and_cloned(raw, nodes):
    graph, first, second = nodes
    reported = value(77)
    assert raw.hipGraphKernelNodeGetAttribute(first, COOPERATIVE, reported) == 0
    assert reported[0] == 0
    assert raw.hipGraphKernelNodeSetAttribute(first, COOPERATIVE, value(1)) == 0
    assert raw.hipGraphKernelNodeCopyAttributes(first, second) == 0
    twin = raw.made("hipGraphNodeFindInClone", second, raw.made("hipGraphClone", graph))
    for node in (first, second, twin):
        assert raw.hipGraphKernelNodeGetAttribute(node, COOPERATIVE, reported) == 0
        assert reported[0] == 1


def test_attributes_that_are_none_are_refused(raw, nodes):
    _, first, _ = nodes
    empty = raw.made("hipGraphAddEmptyNode", nodes[0], 0, 0)
    for attribute in (0, 4, 8, 99):
        assert raw.hipGraphKernelNodeSetAttribute(first, attribute, value(1)) == 1
    assert raw.hipGraphKernelNodeSetAttribute(empty, COOPERATIVE, value(1)) == 1
    assert raw.hipGraphKernelNodeCopyAttributes(first, empty) == 1


def test_attributes_of_a_stream_are_kept_and_copied(raw):
    streams = [raw.made("hipStreamCreate") for _ in range(2)]
    assert raw.hipStreamSetAttribute(streams[0], SYNCHRONIZATION_POLICY, value(2)) == 0
    assert raw.hipStreamCopyAttributes(streams[1], streams[0]) == 0
    reported = value(0)
    assert raw.hipStreamGetAttribute(streams[1], SYNCHRONIZATION_POLICY, reported) == 0
    assert reported[0] == 2
    assert raw.hipStreamSetAttribute(streams[0], COOPERATIVE, value(1)) == 1
    assert [raw.hipStreamDestroy(stream) for stream in streams] == [0, 0]
