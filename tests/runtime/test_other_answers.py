"""Captures, events, devices, launches and occupancy: the measured answers of AMD's runtimes."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import RawLibrary

GLOBAL, RELAXED = 0, 2
SET = 1


@pytest.fixture
def raw(profile):
    return RawLibrary()


@pytest.fixture
def stream(raw):
    made = raw.made("hipStreamCreate")
    yield made
    raw.hipStreamDestroy(made)


def ended(raw, stream):
    return raw.hipStreamEndCapture(stream, ctypes.c_size_t())


@pytest.mark.parametrize("mode", [GLOBAL, RELAXED])
def test_the_null_stream_may_not_be_asked_while_a_blocking_stream_is_captured(raw, stream, mode):
    out, number = ctypes.c_int(9), ctypes.c_size_t()
    assert raw.hipStreamBeginCapture(stream, mode) == 0
    assert raw.hipStreamIsCapturing(0, out) == 906
    assert raw.hipStreamGetCaptureInfo(0, out, number) == 906
    assert raw.hipStreamGetCaptureInfo_v2(0, out, number, 0, 0, 0) == 906
    assert ended(raw, stream) == 0


@pytest.mark.parametrize("mode", [GLOBAL, RELAXED])
def test_an_asynchronous_fill_on_the_null_stream_leaves_captures_alone(raw, stream, block, mode):
    assert raw.hipStreamBeginCapture(stream, mode) == 0
    assert raw.hipMemsetAsync(block, 7, 4, 0) == 0
    assert ended(raw, stream) == 0
    assert raw.hipStreamBeginCapture(stream, mode) == 0
    assert raw.hipMemset(block, 7, 4) == 906
    assert ended(raw, stream) == 901


def test_waiting_for_another_stream_spoils_a_global_capture(raw, stream):
    other = raw.made("hipStreamCreate")
    assert raw.hipStreamBeginCapture(stream, GLOBAL) == 0
    assert raw.hipStreamSynchronize(other) == 900
    assert ended(raw, stream) == 901
    assert raw.hipStreamDestroy(other) == 0


def test_registering_host_memory_spoils_a_global_capture(raw, stream):
    host = np.zeros(64, np.uint8)
    assert raw.hipStreamBeginCapture(stream, GLOBAL) == 0
    assert (raw.hipHostRegister(host, 64, 0), raw.hipHostUnregister(host)) == (900, 900)
    assert ended(raw, stream) == 901
    assert raw.hipStreamBeginCapture(stream, RELAXED) == 0
    assert (raw.hipHostRegister(host, 64, 0), raw.hipHostUnregister(host)) == (0, 0)
    assert ended(raw, stream) == 0


@pytest.mark.parametrize("mode", [GLOBAL, RELAXED])
def test_a_callback_was_captured_in_6_4(raw, profile, stream, mode):
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *reported: None)
    assert raw.hipStreamBeginCapture(stream, mode) == 0
    added = raw.hipStreamAddCallback(stream, ctypes.cast(callback, ctypes.c_void_p).value, 0, 0)
    assert (added, ended(raw, stream)) == {"6.4": (0, 0), "7.2": (900, 901)}[profile]


@pytest.mark.parametrize("question", ["hipEventQuery", "hipEventSynchronize"])
def test_asking_an_event_spoils_a_global_capture_since_7_2(raw, profile, stream, question):
    event = raw.made("hipEventCreate")
    for mode, expected in ((GLOBAL, {"6.4": (0, 0), "7.2": (900, 901)}[profile]), (RELAXED, (0, 0))):
        assert raw.hipStreamBeginCapture(stream, mode) == 0
        assert (getattr(raw, question)(event), ended(raw, stream)) == expected
    assert raw.hipEventDestroy(event) == 0


def test_dropped_nodes_need_not_be_joined(raw, stream, block):
    other, event = raw.made("hipStreamCreate"), raw.made("hipEventCreate")
    assert raw.hipStreamBeginCapture(stream, GLOBAL) == 0
    first = (ctypes.c_size_t * 1)()
    status, count, graph = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_size_t()
    shown = ctypes.c_size_t()
    assert raw.hipMemsetAsync(block, 1, 4, stream) == 0
    assert raw.hipStreamGetCaptureInfo_v2(stream, status, 0, graph, shown, count) == 0
    first[0] = ctypes.c_size_t.from_address(shown.value).value
    assert raw.hipEventRecord(event, stream) == raw.hipStreamWaitEvent(other, event, 0) == 0
    assert raw.hipMemsetAsync(block, 2, 4, other) == raw.hipEventRecord(event, other) == 0
    assert raw.hipStreamWaitEvent(stream, event, 0) == raw.hipMemsetAsync(block, 3, 4, stream) == 0
    assert raw.hipStreamUpdateCaptureDependencies(stream, first, 1, SET) == 0
    assert ended(raw, stream) == 0
    assert raw.hipStreamDestroy(other) == raw.hipEventDestroy(event) == 0


NULL_HANDLES = {
    "hipStreamDestroy": (400, 0),
    "hipEventDestroy": (400, 0),
    "hipEventQuery": (400, 0),
    "hipEventSynchronize": (400, 0),
    "hipModuleLaunchKernel": (400, *[0] * 11),
}


@pytest.mark.parametrize("function", NULL_HANDLES)
def test_null_is_an_invalid_handle(raw, function):
    expected, *arguments = NULL_HANDLES[function]
    assert getattr(raw, function)(*arguments) == expected


def test_the_end_of_no_capture_without_a_place_for_its_graph(raw, profile):
    assert raw.hipStreamEndCapture(0, 0) == {"6.4": 1, "7.2": 401}[profile]


def test_a_destroyed_stream_is_reported(raw):
    stream = raw.made("hipStreamCreate")
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda argument: None)
    assert raw.hipStreamDestroy(stream) == 0
    assert raw.hipLaunchHostFunc(stream, ctypes.cast(function, ctypes.c_void_p).value, 0) == 709
    assert raw.hipStreamBeginCapture(stream, GLOBAL) == 709
    assert ended(raw, stream) == 709


@pytest.mark.parametrize("flags, expected", [(0, 0), (2, 0), (4, 1), (6, 0), (7, 0), (8, 1)])
def test_an_event_between_processes_keeps_no_time(raw, flags, expected):
    out = ctypes.c_size_t()
    assert raw.hipEventCreateWithFlags(out, flags) == expected
    assert not out.value or raw.hipEventDestroy(out.value) == 0


LIMITS = {
    "6.4": [(0, 1024), (215, 1024), (0, 8 << 20), (1, 8 << 20)],
    "7.2": [(0, 1024), (215, 1024), (0, 8 << 20), (215, 8 << 20)],
}


def test_limits_of_a_device(raw, profile):
    out = ctypes.c_size_t()
    assert [(raw.hipDeviceGetLimit(out, limit), out.value) for limit in range(4)] == LIMITS[profile]


ATTRIBUTES = {32: (0, 0), 42: (0, 0), 53: (0, 0), 55: (1, -7), 77: (1, -7), 80: (1, -7), 93: (1, -7), 10000: (1, -7)}


def test_attributes_that_do_not_depend_on_the_device(raw, profile):
    for attribute, expected in (ATTRIBUTES | {92: {"6.4": (1, -7), "7.2": (0, 0)}[profile]}).items():
        out = ctypes.c_int(-7)
        assert (raw.hipDeviceGetAttribute(out, attribute, 0), out.value) == expected, attribute
    flags = ctypes.c_uint()
    assert (raw.hipGetDeviceFlags(flags), flags.value) == (0, 1)
    assert raw.hipDeviceDisablePeerAccess(0) == 101
    assert raw.hipDeviceGetPCIBusId(ctypes.create_string_buffer(64), 5, 0) == 1


def test_error_texts_by_version(raw, profile):
    library = ctypes.CDLL("libamdhip64.so")
    library.hipGetErrorName.restype = library.hipGetErrorString.restype = ctypes.c_char_p
    reported = [(library.hipGetErrorName(code), library.hipGetErrorString(code)) for code in (1054, 911)]
    later = (b"hipErrorInvalidChannelDescriptor", b"invalid resource description of texture passed to the api")
    expected = (b"hipErrorUnknown", b"unknown error") if profile == "6.4" else later
    assert reported == [(b"hipErrorTbd", b"unknown error"), expected]


BLOCKS = {1: 32, 64: 32, 65: 16, 128: 16, 256: 8, 512: 4, 1024: 2, 2048: 0}


def test_occupancy_counts_waves(raw, saxpy):
    out, grid = ctypes.c_int(), ctypes.c_int()
    question = raw.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor
    for block, expected in BLOCKS.items():
        assert (question(out, saxpy, block, 0), out.value) == (0, expected)
        assert (question(out, saxpy, block, 16384), out.value) == (0, min(4, expected))
    best = raw.hipModuleOccupancyMaxPotentialBlockSize
    for limit, expected in ((0, (608, 1024)), (100, (4864, 128)), (2048, (608, 1024)), (-1, (608, 1024))):
        assert best(grid, out, saxpy, 0, limit) == 0
        assert (grid.value, out.value) == expected
    assert best(grid, out, saxpy, 70000, 0) == 0
    assert (grid.value, out.value) == (0, 1024)


def test_what_a_function_tells(raw, saxpy):
    out = ctypes.c_int(-7)
    assert (raw.hipFuncGetAttribute(out, 2, saxpy), out.value) == (0, -1)
    assert raw.hipFuncGetAttributes(ctypes.create_string_buffer(64), saxpy) == 13
    assert [raw.hipFuncSetAttribute(saxpy, attribute, 1024) for attribute in (0, 8, 9, 12)] == [0, 0, 1, 1]


def test_names_may_not_be_empty(raw, module):
    out = ctypes.c_size_t()
    assert raw.hipModuleGetGlobal(out, ctypes.c_size_t(), module, b"") == 1
    assert raw.hipModuleLoad(out, b"") == 1


def test_a_launch_without_arguments_is_refused_before_its_shape(raw, saxpy):
    assert raw.hipModuleLaunchKernel(saxpy, 1, 1, 1, 512, 1, 1, 0, 0, 0, 0) == 1


def test_attributes_are_copied_between_kernels(raw, profile, graph, block, params):
    fill = raw.made("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block))
    assert raw.hipGraphKernelNodeCopyAttributes(0, fill) == {"6.4": 201, "7.2": 1}[profile]
