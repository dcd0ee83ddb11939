"""Stream capture: what spoils it, and by which codes that is reported."""

from __future__ import annotations

import numpy as np
import pytest

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
MODES = (GLOBAL, THREAD_LOCAL, RELAXED)
each_mode = pytest.mark.parametrize("mode", MODES, ids=["global", "thread-local", "relaxed"])


@pytest.fixture
def streams(hip):
    made = [hip.done("hipStreamCreate") for _ in range(2)]
    yield made
    for stream in made:
        hip.hipStreamEndCapture(stream)
        hip.hipStreamDestroy(stream)


@pytest.fixture
def events(hip):
    made = [hip.done("hipEventCreate") for _ in range(2)]
    yield made
    for event in made:
        hip.hipEventDestroy(event)


@each_mode
def test_calls_become_nodes_and_do_not_run(hip, streams, block, read, run, mode):
    stream = streams[0]
    hip.done("hipStreamBeginCapture", stream, mode)
    for value in (1, 2, 3):
        hip.done("hipMemsetAsync", block, value, 4 * value, stream)
    graph = hip.done("hipStreamEndCapture", stream)
    assert read(block, 12) == [0] * 12
    assert hip.node_count(graph) == (0, 3)
    run(graph)
    assert read(block, 12) == [3] * 12
    hip.done("hipGraphDestroy", graph)


@each_mode
def test_streams_fork_and_join_by_events(hip, streams, events, block, read, run, mode):
    stream, other = streams
    hip.done("hipStreamBeginCapture", stream, mode)
    hip.done("hipMemsetAsync", block, 1, 64, stream)
    hip.done("hipEventRecord", events[0], stream)
    hip.done("hipStreamWaitEvent", other, events[0], 0)
    hip.done("hipMemsetAsync", block, 2, 8, other)
    hip.done("hipMemsetAsync", block + 32, 3, 8, stream)
    hip.done("hipEventRecord", events[1], other)
    hip.done("hipStreamWaitEvent", stream, events[1], 0)
    hip.done("hipMemcpyDtoDAsync", block + 48, block, 8, stream)
    assert [hip.done("hipStreamIsCapturing", each) for each in streams] == [1, 1]
    graph = hip.done("hipStreamEndCapture", stream)
    assert [hip.done("hipStreamIsCapturing", each) for each in streams] == [0, 0]
    run(graph)
    assert read(block, 64) == [2] * 8 + [1] * 24 + [3] * 8 + [1] * 8 + [2] * 8 + [1] * 8
    hip.done("hipGraphDestroy", graph)


@each_mode
def test_a_wait_is_forbidden_and_spoils_the_capture(hip, streams, mode):
    hip.done("hipStreamBeginCapture", streams[0], mode)
    assert hip.hipStreamSynchronize(streams[0])[0] == 900
    assert hip.done("hipStreamIsCapturing", streams[0]) == 2
    assert hip.hipStreamEndCapture(streams[0]) == (901, 0)


@pytest.mark.parametrize("mode, code, end", [(GLOBAL, 900, 901), (THREAD_LOCAL, 900, 901), (RELAXED, 0, 0)])
def test_an_allocation_spoils_a_capture_unless_it_is_relaxed(hip, streams, mode, code, end):
    hip.done("hipStreamBeginCapture", streams[0], mode)
    assert hip.hipMalloc(16)[0] == code
    assert hip.hipStreamEndCapture(streams[0])[0] == end


def test_a_copy_on_the_null_stream_spoils_even_a_relaxed_capture(hip, streams, block):
    hip.done("hipStreamBeginCapture", streams[0], RELAXED)
    assert hip.hipMemcpyDtoH(np.zeros(4, np.uint8), block, 4)[0] == 906
    assert hip.hipStreamEndCapture(streams[0]) == (901, 0)


@each_mode
def test_modules_may_be_loaded_meanwhile(hip, streams, mode):
    from pathlib import Path

    kernels = Path(__file__).resolve().parents[1] / "fixtures" / "corpus" / "clang" / "k_cl.gfx942.hsaco"
    hip.done("hipStreamBeginCapture", streams[0], mode)
    module = hip.done("hipModuleLoadData", kernels.read_bytes())
    graph = hip.done("hipStreamEndCapture", streams[0])
    hip.done("hipGraphDestroy", graph)
    hip.done("hipModuleUnload", module)


def test_the_null_stream_cannot_be_captured(hip):
    assert hip.hipStreamBeginCapture(0, GLOBAL)[0] == 900


def test_a_mode_that_is_none_is_refused(hip, streams):
    if hip.name == "hip-python":
        with pytest.raises(ValueError, match="7 is not a valid hipStreamCaptureMode"):
            hip.hipStreamBeginCapture(streams[0], 7)
    else:
        assert hip.hipStreamBeginCapture(streams[0], 7)[0] == 1


@each_mode
def test_a_fork_has_to_be_joined(hip, streams, events, block, mode):
    stream, other = streams
    hip.done("hipStreamBeginCapture", stream, mode)
    hip.done("hipEventRecord", events[0], stream)
    hip.done("hipStreamWaitEvent", other, events[0], 0)
    hip.done("hipMemsetAsync", block, 2, 8, other)
    assert hip.hipStreamEndCapture(stream) == (904, 0)


@each_mode
def test_a_fork_is_ended_on_its_first_stream_or_spoilt(hip, streams, events, mode):
    stream, other = streams
    hip.done("hipStreamBeginCapture", stream, mode)
    hip.done("hipEventRecord", events[0], stream)
    hip.done("hipStreamWaitEvent", other, events[0], 0)
    assert hip.hipStreamEndCapture(other)[0] == 903
    assert hip.hipStreamEndCapture(stream) == (901, 0)


def test_what_was_not_begun_cannot_be_ended(hip, streams):
    assert hip.hipStreamEndCapture(streams[0])[0] == 401


def test_after_a_spoilt_capture_the_stream_can_be_captured_again(hip, streams, block):
    """AMD's runtime keeps stale last nodes and answers 1, then 904; that is not copied."""
    hip.done("hipStreamBeginCapture", streams[0], GLOBAL)
    hip.hipStreamSynchronize(streams[0])
    hip.hipStreamEndCapture(streams[0])
    hip.done("hipStreamBeginCapture", streams[0], GLOBAL)
    hip.done("hipMemsetAsync", block, 1, 1, streams[0])
    graph = hip.done("hipStreamEndCapture", streams[0])
    assert hip.node_count(graph) == (0, 1)
    hip.done("hipGraphDestroy", graph)
