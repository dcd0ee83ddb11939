"""What a capture tells, joining it by hand, and the modes of a thread."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import handles

GLOBAL, THREAD_LOCAL, RELAXED = range(3)


@pytest.fixture
def stream(raw):
    made = raw.made("hipStreamCreate")
    yield made
    raw.hipStreamEndCapture(made, ctypes.c_size_t())
    raw.hipStreamDestroy(made)


@pytest.fixture
def block(program):
    return program.upload(np.zeros(64, np.uint8))


@pytest.mark.parametrize("suffix", ["", "_spt"])
def test_a_capture_has_a_number_a_graph_and_last_nodes(raw, stream, block, suffix):
    assert getattr(raw, "hipStreamBeginCapture" + suffix)(stream, GLOBAL) == 0
    assert raw.hipMemsetAsync(block, 1, 8, stream) == 0
    status, number = ctypes.c_int(), ctypes.c_ulonglong()
    assert getattr(raw, "hipStreamIsCapturing" + suffix)(stream, status) == 0
    assert status.value == 1
    assert getattr(raw, "hipStreamGetCaptureInfo" + suffix)(stream, status, number) == 0
    graph, ends, count, same = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_ulonglong()
    assert getattr(raw, "hipStreamGetCaptureInfo_v2" + suffix)(stream, status, same, graph, ends, count) == 0
    assert (status.value, count.value, same.value) == (1, 1, number.value)
    (last,) = (ctypes.c_size_t * 1).from_address(ends.value)
    captured = ctypes.c_size_t()
    assert getattr(raw, "hipStreamEndCapture" + suffix)(stream, captured) == 0
    assert captured.value == graph.value
    kind = ctypes.c_int()
    assert raw.hipGraphNodeGetType(last, kind) == 0
    assert kind.value == 2
    assert raw.hipStreamGetCaptureInfo_v2(stream, status, 0, 0, 0, 0) == 0
    assert status.value == 0
    assert raw.hipGraphDestroy(captured.value) == 0


def test_a_node_added_by_hand_becomes_what_the_capture_goes_on_from(raw, program, stream, block):
    assert raw.hipStreamBeginCapture(stream, GLOBAL) == 0
    graph = ctypes.c_size_t()
    assert raw.hipStreamGetCaptureInfo_v2(stream, ctypes.c_int(), 0, graph, 0, 0) == 0
    by_hand = raw.made("hipGraphAddEmptyNode", graph.value, 0, 0)
    assert raw.hipStreamUpdateCaptureDependencies(stream, handles(by_hand), 1, 1) == 0
    assert raw.hipStreamUpdateCaptureDependencies(stream, handles(by_hand), 1, 7) == 1
    assert raw.hipMemsetAsync(block, 1, 8, stream) == 0
    captured = ctypes.c_size_t()
    assert raw.hipStreamEndCapture(stream, captured) == 0
    count = ctypes.c_size_t()
    assert raw.hipGraphNodeGetDependentNodes(by_hand, 0, count) == 0
    assert count.value == 1
    assert raw.hipStreamUpdateCaptureDependencies(stream, 0, 0, 0) == 401


def test_a_thread_may_lift_the_ban_on_unsafe_calls_for_itself(raw, stream):
    mode = ctypes.c_int(RELAXED)
    assert raw.hipThreadExchangeStreamCaptureMode(mode) == 0
    assert mode.value == GLOBAL
    assert raw.hipStreamBeginCapture(stream, GLOBAL) == 0
    address = raw.made("hipMalloc", 8)
    assert raw.hipThreadExchangeStreamCaptureMode(mode) == 0
    assert mode.value == RELAXED
    captured = ctypes.c_size_t()
    assert raw.hipStreamEndCapture(stream, captured) == 0
    assert raw.hipFree(address) == 0
    assert raw.hipThreadExchangeStreamCaptureMode(ctypes.c_int(9)) == 1


@pytest.mark.parametrize("mode, code", [(GLOBAL, 900), (THREAD_LOCAL, 0), (RELAXED, 0)])
def test_an_unsafe_call_of_another_thread_spoils_a_global_capture_only(raw, stream, mode, code):
    import threading

    assert raw.hipStreamBeginCapture(stream, mode) == 0
    codes, out = [], ctypes.c_size_t()
    thread = threading.Thread(target=lambda: codes.append(raw.hipMalloc(out, 8)))
    thread.start()
    thread.join()
    assert codes == [code]
    captured = ctypes.c_size_t()
    assert raw.hipStreamEndCapture(stream, captured) == (901 if code else 0)
    if not code:
        assert raw.hipFree(out.value) == 0


def test_a_capture_that_is_not_relaxed_ends_on_its_thread(raw, stream):
    import threading

    assert raw.hipStreamBeginCapture(stream, GLOBAL) == 0
    codes = []
    thread = threading.Thread(target=lambda: codes.append(raw.hipStreamEndCapture(stream, ctypes.c_size_t())))
    thread.start()
    thread.join()
    assert codes == [908]
