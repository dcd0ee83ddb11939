"""Stream capture: what becomes a graph, and what spoils it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_program import code_of, done

GLOBAL, THREAD_LOCAL, RELAXED = range(3)


@pytest.fixture
def capture(hip):
    """A stream, and a function that begins a capture on it."""
    stream = done(hip.hipStreamCreate())
    modes = hip.hipStreamCaptureMode

    def begin(mode=GLOBAL):
        done(hip.hipStreamBeginCapture(stream, modes(mode)))
        return stream

    yield begin
    hip.hipStreamEndCapture(stream)
    hip.hipStreamDestroy(stream)


@pytest.fixture
def block(program):
    return program.upload(np.zeros(64, np.uint8))


def test_a_kernel_launch_is_captured_with_its_arguments(hip, program, capture):
    x, y = program.upload(np.ones(64, np.float32)), program.upload(np.zeros(64, np.float32))
    saxpy, arguments = program.function(), program.saxpy(y, x, 4.0, 64)
    stream = capture()
    done(program.launch(saxpy, arguments, stream=stream))
    graph = done(hip.hipStreamEndCapture(stream))
    arguments.values[2].value = 9.0
    done(hip.hipGraphLaunch(program.instantiate(graph), None))
    assert (program.download(y, 64) == 4).all()


def test_beginnings_and_ends_are_checked(hip, capture):
    modes = hip.hipStreamCaptureMode
    assert code_of(hip.hipStreamBeginCapture(None, modes(GLOBAL))) == 900
    stream = capture()
    assert code_of(hip.hipStreamBeginCapture(stream, modes(GLOBAL))) == 401
    done(hip.hipStreamEndCapture(stream))
    assert code_of(hip.hipStreamEndCapture(stream)) == 401
    library = ctypes.CDLL("libamdhip64.so")
    assert library.hipStreamBeginCapture(ctypes.c_void_p(int(stream)), 7) == 1


def test_an_event_recorded_in_a_capture_cannot_be_waited_for(hip, capture):
    event = done(hip.hipEventCreate())
    stream = capture()
    done(hip.hipEventRecord(event, stream))
    assert code_of(hip.hipEventSynchronize(event)) == 907
    assert code_of(hip.hipEventQuery(event)) == 907
    done(hip.hipStreamEndCapture(stream))


def test_a_capture_may_go_into_a_graph_that_exists(hip, program, block):
    graph, stream = done(hip.hipGraphCreate(0)), done(hip.hipStreamCreate())
    done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 1, 1, 8)))
    mode = hip.hipStreamCaptureMode(GLOBAL)
    done(hip.hipStreamBeginCaptureToGraph(stream, graph, None, None, 0, mode))
    done(hip.hipMemsetAsync(block + 8, 2, 8, stream))
    done(hip.hipStreamEndCapture(stream))
    done(hip.hipGraphLaunch(program.instantiate(graph), None))
    assert program.download(block, 16, np.uint8).tolist() == [1] * 8 + [2] * 8


def test_a_captured_launch_becomes_a_child_graph(hip, raw, program, capture, block):
    inner = done(hip.hipGraphCreate(0))
    done(hip.hipGraphAddMemsetNode(inner, None, 0, program.memset_params(block, 5, 1, 8)))
    executable = program.instantiate(inner)
    stream = capture()
    done(hip.hipMemsetAsync(block, 1, 64, stream))
    done(hip.hipGraphLaunch(executable, stream))
    done(hip.hipMemcpyDtoDAsync(block + 32, block, 8, stream))
    graph = done(hip.hipStreamEndCapture(stream))
    done(hip.hipGraphExecDestroy(executable))
    count = ctypes.c_size_t()
    assert raw.hipGraphGetNodes(int(graph), 0, count) == 0
    assert count.value == 3
    done(hip.hipGraphLaunch(program.instantiate(graph), None))
    expected = [5] * 8 + [1] * 24 + [5] * 8 + [1] * 24
    assert program.download(block, 64, np.uint8).tolist() == expected


def test_a_stream_that_is_destroyed_ends_its_capture(hip, block):
    stream = done(hip.hipStreamCreate())
    done(hip.hipStreamBeginCapture(stream, hip.hipStreamCaptureMode(GLOBAL)))
    assert code_of(hip.hipMemset(block, 1, 8)) == 906
    done(hip.hipStreamDestroy(stream))
    done(hip.hipMemset(block, 1, 8))


def test_a_graph_that_was_there_before_outlives_a_spoilt_capture(hip, raw, block, program):
    graph, stream = done(hip.hipGraphCreate(0)), done(hip.hipStreamCreate())
    mode = hip.hipStreamCaptureMode(GLOBAL)
    done(hip.hipStreamBeginCaptureToGraph(stream, graph, None, None, 0, mode))
    assert code_of(hip.hipStreamSynchronize(stream)) == 900
    assert code_of(hip.hipStreamEndCapture(stream)) == 901
    done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 1, 1, 8)))
    done(hip.hipGraphDestroy(graph))
    done(hip.hipStreamDestroy(stream))
