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


def test_calls_become_nodes_in_order_and_do_not_run(hip, program, capture, block):
    stream = capture()
    for value in (1, 2, 3):
        done(hip.hipMemsetAsync(block, value, 4 * value, stream))
    graph = done(hip.hipStreamEndCapture(stream))
    assert (program.download(block, 64, np.uint8) == 0).all()
    executable = program.instantiate(graph)
    done(hip.hipGraphLaunch(executable, stream))
    done(hip.hipStreamSynchronize(stream))
    assert (program.download(block, 12, np.uint8) == 3).all()
    edges = ctypes.c_size_t()
    library = ctypes.CDLL("libamdhip64.so")
    assert library.hipGraphGetEdges(ctypes.c_void_p(int(graph)), None, None, ctypes.byref(edges)) == 0
    assert edges.value == 2


def test_a_kernel_launch_is_captured_with_its_arguments(hip, program, capture):
    x, y = program.upload(np.ones(64, np.float32)), program.upload(np.zeros(64, np.float32))
    saxpy, arguments = program.function(), program.saxpy(y, x, 4.0, 64)
    stream = capture()
    done(program.launch(saxpy, arguments, stream=stream))
    graph = done(hip.hipStreamEndCapture(stream))
    arguments.values[2].value = 9.0
    done(hip.hipGraphLaunch(program.instantiate(graph), None))
    assert (program.download(y, 64) == 4).all()


def test_streams_fork_and_join_by_events(hip, program, capture, block):
    other, fork, join = done(hip.hipStreamCreate()), done(hip.hipEventCreate()), done(hip.hipEventCreate())
    stream = capture()
    done(hip.hipMemsetAsync(block, 1, 64, stream))
    done(hip.hipEventRecord(fork, stream))
    done(hip.hipStreamWaitEvent(other, fork, 0))
    done(hip.hipMemsetAsync(block, 2, 8, other))
    done(hip.hipMemsetAsync(block + 32, 3, 8, stream))
    done(hip.hipEventRecord(join, other))
    done(hip.hipStreamWaitEvent(stream, join, 0))
    done(hip.hipMemcpyDtoDAsync(block + 48, block, 8, stream))
    graph = done(hip.hipStreamEndCapture(stream))
    done(hip.hipGraphLaunch(program.instantiate(graph), None))
    expected = [2] * 8 + [1] * 24 + [3] * 8 + [1] * 8 + [2] * 8 + [1] * 8
    assert program.download(block, 64, np.uint8).tolist() == expected
    done(hip.hipStreamDestroy(other))


def test_a_fork_that_is_not_joined_is_refused(hip, capture, block):
    other, fork = done(hip.hipStreamCreate()), done(hip.hipEventCreate())
    stream = capture()
    done(hip.hipEventRecord(fork, stream))
    done(hip.hipStreamWaitEvent(other, fork, 0))
    done(hip.hipMemsetAsync(block, 2, 8, other))
    assert code_of(hip.hipStreamEndCapture(other)) == 903
    assert code_of(hip.hipStreamEndCapture(stream)) == 904
    assert code_of(hip.hipStreamSynchronize(other)) == 0
    done(hip.hipStreamDestroy(other))


def test_beginnings_and_ends_are_checked(hip, capture):
    modes = hip.hipStreamCaptureMode
    assert code_of(hip.hipStreamBeginCapture(None, modes(GLOBAL))) == 900
    stream = capture()
    assert code_of(hip.hipStreamBeginCapture(stream, modes(GLOBAL))) == 401
    done(hip.hipStreamEndCapture(stream))
    assert code_of(hip.hipStreamEndCapture(stream)) == 401
    library = ctypes.CDLL("libamdhip64.so")
    assert library.hipStreamBeginCapture(ctypes.c_void_p(int(stream)), 7) == 1


def test_a_wait_spoils_the_capture(hip, capture):
    stream = capture()
    assert code_of(hip.hipStreamSynchronize(stream)) == 900
    assert [int(part) for part in hip.hipStreamIsCapturing(stream)] == [0, 2]
    assert code_of(hip.hipStreamEndCapture(stream)) == 901
    assert [int(part) for part in hip.hipStreamIsCapturing(stream)] == [0, 0]


@pytest.mark.parametrize("mode, code, end", [(GLOBAL, 900, 901), (THREAD_LOCAL, 900, 901), (RELAXED, 0, 0)])
def test_an_allocation_spoils_a_capture_that_is_not_relaxed(hip, capture, mode, code, end):
    stream = capture(mode)
    assert code_of(hip.hipMalloc(16)) == code
    assert code_of(hip.hipStreamEndCapture(stream)) == end


def test_a_copy_on_the_null_stream_spoils_even_a_relaxed_capture(hip, capture, block):
    stream = capture(RELAXED)
    assert code_of(hip.hipMemcpyDtoH(np.zeros(4, np.uint8), block, 4)) == 906
    assert code_of(hip.hipStreamEndCapture(stream)) == 901


def test_after_a_spoilt_capture_the_stream_can_be_captured_again(hip, capture, block):
    stream = capture()
    hip.hipStreamSynchronize(stream)
    hip.hipStreamEndCapture(stream)
    capture()
    done(hip.hipMemsetAsync(block, 1, 1, stream))
    done(hip.hipStreamEndCapture(stream))


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
