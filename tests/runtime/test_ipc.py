"""Handles for other processes: the measured answers of AMD's runtimes, and the refusal of handles from elsewhere."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import RawLibrary

from hipgraph_cb.abi.hip.structures import IpcHandle

INVALID_VALUE, INVALID_CONFIGURATION, INVALID_CONTEXT, NOT_SUPPORTED = 1, 9, 201, 801
PROCESS = 4
"""Where the number of the process is in a handle."""


@pytest.fixture
def raw(profile):
    return RawLibrary()


@pytest.fixture
def opened(profile):
    """Opens a handle, which C passes by value; returns the code."""
    library = ctypes.CDLL("libamdhip64.so")

    def open_handle(function, handle, *more, out=True):
        native = library[function]
        native.argtypes = (ctypes.c_void_p, IpcHandle, *[ctypes.c_uint] * len(more))
        place = ctypes.c_size_t()
        return native(ctypes.byref(place) if out else None, handle, *more)

    return open_handle


def from_elsewhere(handle):
    other = IpcHandle.from_buffer_copy(handle)
    ctypes.c_uint32.from_address(ctypes.addressof(other) + PROCESS).value += 1
    return other


def test_memory_has_a_handle_that_its_own_process_does_not_open(raw, opened):
    address, handle = raw.made("hipMalloc", 4096), IpcHandle()
    assert raw.hipIpcGetMemHandle(handle, address) == raw.hipIpcGetMemHandle(handle, address + 64) == 0
    assert opened("hipIpcOpenMemHandle", handle, 1) == INVALID_CONTEXT
    for flags in (0, 2, 9):
        assert opened("hipIpcOpenMemHandle", handle, flags) == INVALID_VALUE
    assert opened("hipIpcOpenMemHandle", handle, 1, out=False) == INVALID_VALUE
    assert opened("hipIpcOpenMemHandle", IpcHandle(), 1) == INVALID_VALUE
    assert raw.hipIpcCloseMemHandle(address) == raw.hipIpcCloseMemHandle(0) == INVALID_VALUE
    assert raw.hipFree(address) == 0
    assert opened("hipIpcOpenMemHandle", handle, 1) == INVALID_CONTEXT


def test_memory_that_hip_does_not_know_has_no_handle(raw):
    handle = IpcHandle()
    assert raw.hipIpcGetMemHandle(handle, np.zeros(64, np.uint8)) == INVALID_VALUE
    assert raw.hipIpcGetMemHandle(0, raw.made("hipMalloc", 64)) == raw.hipIpcGetMemHandle(handle, 0) == INVALID_VALUE


def test_memory_of_another_process_is_refused_by_name(raw, opened, runtime):
    address, handle = raw.made("hipMalloc", 64), IpcHandle()
    assert raw.hipIpcGetMemHandle(handle, address) == raw.hipFree(address) == 0
    other = from_elsewhere(handle)
    assert opened("hipIpcOpenMemHandle", other, 1) == NOT_SUPPORTED
    process = ctypes.c_uint32.from_address(ctypes.addressof(other) + PROCESS).value
    assert runtime.fault_report() == (
        f"hipIpcOpenMemHandle: the memory belongs to process {process}, whose virtual GPU is another one; "
        "hipMemExportToShareableHandle shares memory between processes"
    )


def test_an_event_has_a_handle_if_it_was_made_for_several_processes(raw, opened):
    event, plain, handle = raw.made("hipEventCreateWithFlags", 6), raw.made("hipEventCreate"), IpcHandle()
    assert raw.hipIpcGetEventHandle(handle, event) == 0
    assert opened("hipIpcOpenEventHandle", handle) == INVALID_CONTEXT
    assert opened("hipIpcOpenEventHandle", from_elsewhere(handle)) == NOT_SUPPORTED
    assert opened("hipIpcOpenEventHandle", handle, out=False) == INVALID_VALUE
    assert opened("hipIpcOpenEventHandle", IpcHandle()) == INVALID_VALUE
    assert raw.hipIpcGetEventHandle(handle, plain) == INVALID_CONFIGURATION
    assert raw.hipIpcGetEventHandle(0, event) == raw.hipIpcGetEventHandle(handle, 0) == INVALID_VALUE
    assert raw.hipEventDestroy(event) == raw.hipEventDestroy(plain) == 0
