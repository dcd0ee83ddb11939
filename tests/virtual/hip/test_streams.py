"""Streams and events: order, the null stream's rule, waiting, timing, faults."""

from __future__ import annotations

import ctypes
import threading
import time

import numpy as np
import pytest
from support.hip_program import code_of, done

NON_BLOCKING = 1
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@pytest.fixture
def streams(hip):
    made = [done(hip.hipStreamCreate()), done(hip.hipStreamCreateWithFlags(NON_BLOCKING))]
    yield made
    for stream in made:
        hip.hipStreamSynchronize(stream)
        hip.hipStreamDestroy(stream)


@pytest.fixture
def gate_function():
    """A host function that holds its stream until the event is set."""
    opened = threading.Event()
    function = HOST_FUNCTION(lambda _: opened.wait(20) and None)
    yield function, opened
    opened.set()


def host_function(hip, stream, function):
    return ctypes.CDLL("libamdhip64.so").hipLaunchHostFunc(
        ctypes.c_void_p(int(stream) if stream else 0), ctypes.cast(function, ctypes.c_void_p), None
    )


def test_a_query_tells_whether_the_stream_is_at_its_end(hip, streams, gate_function):
    function, opened = gate_function
    assert code_of(hip.hipStreamQuery(streams[0])) == 0
    assert host_function(hip, streams[0], function) == 0
    assert code_of(hip.hipStreamQuery(streams[0])) == 600
    opened.set()
    assert code_of(hip.hipStreamSynchronize(streams[0])) == 0
    assert code_of(hip.hipStreamQuery(streams[0])) == 0


def test_a_query_gives_the_worker_a_moment_and_tells_when_that_was_enough(hip, runtime, streams):
    deadline = time.monotonic() + 300
    waits = []

    def until_somebody_waits(_):
        while time.monotonic() < deadline and not waits:
            waits.extend([True] * runtime.machine.calls.sleepers)
            time.sleep(0)

    function = HOST_FUNCTION(until_somebody_waits)
    assert host_function(hip, streams[0], function) == 0
    while code_of(hip.hipStreamQuery(streams[0])) == 600:
        pass
    assert waits == [True]


def test_a_query_from_a_host_function_does_not_wait_for_itself(hip, streams):
    codes = []
    function = HOST_FUNCTION(lambda _: codes.append(code_of(hip.hipStreamQuery(streams[0]))))
    assert host_function(hip, streams[0], function) == 0
    done(hip.hipStreamSynchronize(streams[0]))
    assert codes == [600]


def test_the_null_stream_waits_for_blocking_streams_and_not_for_the_others(hip, streams, gate_function):
    function, opened = gate_function
    block = done(hip.hipMalloc(4))
    assert host_function(hip, streams[1], function) == 0
    done(hip.hipMemset(block, 0, 4))
    assert code_of(hip.hipStreamQuery(streams[1])) == 600
    opened.set()
    done(hip.hipStreamSynchronize(streams[1]))
    opened.clear()
    assert host_function(hip, streams[0], function) == 0
    done(hip.hipMemsetAsync(block, 1, 4, None))
    assert code_of(hip.hipStreamQuery(None)) == 600
    opened.set()
    done(hip.hipStreamSynchronize(None))
    assert code_of(hip.hipStreamQuery(streams[0])) == 0
    done(hip.hipFree(block))


@pytest.mark.parametrize("seed", range(8))
def test_a_blocking_stream_is_never_before_the_null_stream(hip, streams, gate_function, runtime, seed):
    function, opened = gate_function
    runtime.reseed(seed)
    order = []
    first, second = HOST_FUNCTION(lambda _: order.append(1)), HOST_FUNCTION(lambda _: order.append(2))
    assert host_function(hip, streams[1], function) == 0
    assert host_function(hip, None, first) == host_function(hip, streams[0], second) == 0
    opened.set()
    done(hip.hipDeviceSynchronize())
    assert order == [1, 2]


def test_a_stream_waits_for_the_event_of_another(hip, streams, gate_function):
    function, opened = gate_function
    order = []
    first, second = HOST_FUNCTION(lambda _: order.append(1)), HOST_FUNCTION(lambda _: order.append(2))
    event = done(hip.hipEventCreate())
    assert host_function(hip, streams[0], function) == host_function(hip, streams[0], first) == 0
    done(hip.hipEventRecord(event, streams[0]))
    done(hip.hipStreamWaitEvent(streams[1], event, 0))
    assert host_function(hip, streams[1], second) == 0
    assert code_of(hip.hipEventQuery(event)) == 600
    opened.set()
    done(hip.hipStreamSynchronize(streams[1]))
    assert order == [1, 2]
    assert code_of(hip.hipEventQuery(event)) == 0
    done(hip.hipEventDestroy(event))


def test_independent_streams_run_in_an_arbitrary_order(hip, gate_function):
    function, opened = gate_function
    order = []
    streams = [done(hip.hipStreamCreateWithFlags(NON_BLOCKING)) for _ in range(8)]
    functions = [HOST_FUNCTION(lambda _, index=index: order.append(index)) for index in range(8)]
    assert host_function(hip, streams[0], function) == 0
    for stream, each in zip(streams, functions, strict=True):
        assert host_function(hip, stream, each) == 0
    opened.set()
    done(hip.hipDeviceSynchronize())
    assert sorted(order) == list(range(8))
    assert order != list(range(8))
    for stream in streams:
        done(hip.hipStreamDestroy(stream))


def test_events_measure_the_time_between_them(hip, streams, gate_function):
    function, opened = gate_function
    start, stop = done(hip.hipEventCreate()), done(hip.hipEventCreate())
    assert code_of(hip.hipEventElapsedTime(start, stop)) == 400
    done(hip.hipEventRecord(start, streams[0]))
    assert host_function(hip, streams[0], function) == 0
    done(hip.hipEventRecord(stop, streams[0]))
    assert code_of(hip.hipEventElapsedTime(start, stop)) == 600
    threading.Timer(0.05, opened.set).start()
    done(hip.hipEventSynchronize(stop))
    assert 50 <= done(hip.hipEventElapsedTime(start, stop)) < 5000


def test_an_event_without_timing_has_no_elapsed_time(hip):
    event = done(hip.hipEventCreateWithFlags(2))
    done(hip.hipEventRecord(event, None))
    assert code_of(hip.hipEventElapsedTime(event, event)) == 400


def test_a_destroyed_stream_counts_as_one_of_a_destroyed_context(hip):
    stream = done(hip.hipStreamCreate())
    done(hip.hipStreamDestroy(stream))
    assert code_of(hip.hipStreamSynchronize(stream)) == 709
    assert code_of(hip.hipStreamDestroy(None)) == 400


def test_a_fault_fails_what_is_behind_it_is_reported_once_and_leaves_the_device_usable(hip, program, streams, runtime):
    n = 256
    x, y = program.upload(np.ones(n, np.float32)), program.upload(np.zeros(n, np.float32))
    saxpy = program.function()
    good, bad = program.saxpy(y, x, 2.0, n), program.saxpy(y, x + (1 << 30), 2.0, n)
    done(program.launch(saxpy, bad, block=256, stream=streams[0]))
    done(program.launch(saxpy, good, block=256, stream=streams[0]))
    assert code_of(hip.hipStreamSynchronize(streams[0])) == 700
    assert "kernel saxpy: memory access fault" in runtime.fault_report()
    assert "global_load_dword" in runtime.fault_report()
    assert (program.download(y, n) == 0).all()
    done(program.launch(saxpy, good, block=256, stream=streams[0]))
    done(hip.hipStreamSynchronize(streams[0]))
    assert (program.download(y, n) == 2).all()


def test_a_synchronous_copy_tells_a_fault_of_the_null_stream(hip, program):
    n = 64
    y = program.upload(np.zeros(n, np.float32))
    saxpy = program.function()
    done(program.launch(saxpy, program.saxpy(y, 0, 2.0, n)))
    host = np.empty(n, np.float32)
    assert code_of(hip.hipMemcpyDtoH(host, y, host.nbytes)) == 700
    assert code_of(hip.hipMemcpyDtoH(host, y, host.nbytes)) == 0
    assert (host == 0).all()
