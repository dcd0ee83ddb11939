"""What streams say about themselves, and the forms of stream calls per thread."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

NON_BLOCKING = 1


@pytest.mark.parametrize("suffix", ["", "_spt"])
def test_flags_priorities_and_device_are_reported(raw, suffix):
    flags, priority, device = ctypes.c_uint(9), ctypes.c_int(9), ctypes.c_int(9)
    for given, kept in ((-1, -1), (0, 0), (1, 1), (-5, -1), (5, 1)):
        stream = raw.made("hipStreamCreateWithPriority", NON_BLOCKING, given)
        assert getattr(raw, "hipStreamGetFlags" + suffix)(stream, flags) == 0
        assert getattr(raw, "hipStreamGetPriority" + suffix)(stream, priority) == 0
        assert raw.hipStreamGetDevice(stream, device) == 0
        assert (flags.value, priority.value, device.value) == (NON_BLOCKING, kept, 0)
        assert raw.hipGetStreamDeviceId(stream) == 0
        assert raw.hipStreamDestroy(stream) == 0
    assert raw.hipStreamCreateWithFlags(ctypes.c_size_t(), 2) == 1


def test_the_forms_per_thread_use_the_streams_of_the_thread(raw, program):
    block = program.upload(np.zeros(8, np.uint8))
    event, seen = raw.made("hipEventCreateWithFlags", 0), []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)
    own = 2  # hipStreamPerThread
    assert raw.hipMemsetAsync_spt(block, 4, 8, own) == 0
    assert raw.hipLaunchHostFunc_spt(own, ctypes.cast(function, ctypes.c_void_p).value, 6) == 0
    assert raw.hipEventRecord_spt(event, own) == 0
    assert raw.hipStreamWaitEvent_spt(own, event, 0) == 0
    assert raw.hipStreamSynchronize_spt(own) == 0
    assert raw.hipStreamQuery_spt(own) == 0
    assert raw.hipEventQuery(event) == 0
    assert seen == [6]
    assert (program.download(block, 8, np.uint8) == 4).all()
    assert raw.hipEventDestroy(event) == 0


def test_a_graph_is_launched_on_the_stream_of_the_thread(raw, program):
    graph, event = raw.made("hipGraphCreate", 0), raw.made("hipEventCreate")
    raw.made("hipGraphAddEventRecordNode", graph, 0, 0, event)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphLaunch_spt(executable, 2) == 0
    assert raw.hipStreamSynchronize(2) == 0
    assert raw.hipEventQuery(event) == 0


def test_events_take_flags_when_recorded(raw):
    event, other = raw.made("hipEventCreateWithFlags", 1), ctypes.c_size_t()
    assert raw.hipEventRecordWithFlags(event, 0, 1) == 0
    assert raw.hipEventRecordWithFlags(event, 0, 2) == 1
    assert raw.hipEventSynchronize(event) == 0
    assert raw.hipEventCreateWithFlags(other, 0x100) == 1
    assert raw.hipEventDestroy(event) == 0
    assert raw.hipEventRecord(event, 0) == 400


def test_a_context_and_a_device_wait_for_all_streams(raw, program):
    block = program.upload(np.zeros(8, np.uint8))
    streams = [raw.made("hipStreamCreateWithFlags", NON_BLOCKING) for _ in range(4)]
    for wait in (raw.hipCtxSynchronize, raw.hipDeviceSynchronize):
        for place, stream in enumerate(streams):
            assert raw.hipMemsetAsync(block + 2 * place, 7, 2, stream) == 0
        assert wait() == 0
        assert [raw.hipStreamQuery(stream) for stream in streams] == [0] * 4
    assert (program.download(block, 8, np.uint8) == 7).all()
    assert [raw.hipStreamDestroy(stream) for stream in streams] == [0] * 4
