"""Every form of hipMemcpy and hipMemset does the same to the bytes: synchronous, asynchronous, per thread, by kind."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from support.hip_callers import structure

from hipgraph_cb.abi.hip.structures import DriverMemcpy2D, DriverMemcpy3D, Memcpy3DParams

H2D, D2H, D2D, DEFAULT = 1, 2, 3, 4
SIZE = 48
DEVICE = 2


@pytest.fixture
def data():
    return np.random.default_rng(5).integers(0, 256, SIZE, np.uint8)


@pytest.fixture
def stream(raw):
    made = raw.made("hipStreamCreate")
    yield made
    assert raw.hipStreamDestroy(made) == 0


UPLOADS = {
    "hipMemcpy": lambda raw, to, data, s: raw.hipMemcpy(to, data, SIZE, H2D),
    "hipMemcpy_spt": lambda raw, to, data, s: raw.hipMemcpy_spt(to, data, SIZE, DEFAULT),
    "hipMemcpyAsync": lambda raw, to, data, s: raw.hipMemcpyAsync(to, data, SIZE, H2D, s),
    "hipMemcpyAsync_spt": lambda raw, to, data, s: raw.hipMemcpyAsync_spt(to, data, SIZE, H2D, s),
    "hipMemcpyWithStream": lambda raw, to, data, s: raw.hipMemcpyWithStream(to, data, SIZE, H2D, s),
    "hipMemcpyHtoD": lambda raw, to, data, s: raw.hipMemcpyHtoD(to, data, SIZE),
    "hipMemcpyHtoDAsync": lambda raw, to, data, s: raw.hipMemcpyHtoDAsync(to, data, SIZE, s),
    "hipMemcpy2DAsync": lambda raw, to, data, s: raw.hipMemcpy2DAsync(to, 16, data, 16, 16, 3, H2D, s),
}


@pytest.mark.parametrize("form", UPLOADS)
def test_bytes_go_to_the_device(raw, program, data, stream, form):
    target = program.upload(np.zeros(SIZE, np.uint8))
    assert UPLOADS[form](raw, target, data, stream) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert (program.download(target, SIZE, np.uint8) == data).all()


DOWNLOADS = {
    "hipMemcpy": lambda raw, to, source, s: raw.hipMemcpy(to, source, SIZE, D2H),
    "hipMemcpyAsync": lambda raw, to, source, s: raw.hipMemcpyAsync(to, source, SIZE, D2H, s),
    "hipMemcpyAsync_spt": lambda raw, to, source, s: raw.hipMemcpyAsync_spt(to, source, SIZE, D2H, s),
    "hipMemcpyDtoH": lambda raw, to, source, s: raw.hipMemcpyDtoH(to, source, SIZE),
    "hipMemcpyDtoHAsync": lambda raw, to, source, s: raw.hipMemcpyDtoHAsync(to, source, SIZE, s),
}


@pytest.mark.parametrize("form", DOWNLOADS)
def test_bytes_come_from_the_device(raw, program, data, stream, form):
    source, host = program.upload(data), np.zeros(SIZE, np.uint8)
    assert DOWNLOADS[form](raw, host, source, stream) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert (host == data).all()


def _rows(kind, to, source, **more):
    return structure(
        kind, dstMemoryType=DEVICE, srcMemoryType=DEVICE, dstDevice=to, srcDevice=source, dstPitch=16, srcPitch=16,
        WidthInBytes=16, Height=3, **more,
    )  # fmt: skip


def _plane(to, source):
    return _rows(DriverMemcpy2D, to, source)


def _box(to, source):
    return structure(Memcpy3DParams, dstPtr=(to, 16, 16, 3), srcPtr=(source, 16, 16, 3), extent=(16, 3, 1), kind=D2D)


MOVES = {
    "hipMemcpyDtoD": lambda raw, to, source, s: raw.hipMemcpyDtoD(to, source, SIZE),
    "hipMemcpyDtoDAsync": lambda raw, to, source, s: raw.hipMemcpyDtoDAsync(to, source, SIZE, s),
    "hipMemcpyPeer": lambda raw, to, source, s: raw.hipMemcpyPeer(to, 0, source, 0, SIZE),
    "hipMemcpyPeerAsync": lambda raw, to, source, s: raw.hipMemcpyPeerAsync(to, 0, source, 0, SIZE, s),
    "hipMemcpyParam2DAsync": lambda raw, to, source, s: raw.hipMemcpyParam2DAsync(_plane(to, source), s),
    "hipDrvMemcpy2DUnaligned": lambda raw, to, source, s: raw.hipDrvMemcpy2DUnaligned(_plane(to, source)),
    "hipDrvMemcpy3DAsync": lambda raw, to, source, s: raw.hipDrvMemcpy3DAsync(
        _rows(DriverMemcpy3D, to, source, Depth=1), s
    ),
    "hipMemcpy3DAsync": lambda raw, to, source, s: raw.hipMemcpy3DAsync(_box(to, source), s),
}


@pytest.mark.parametrize("form", MOVES)
def test_bytes_go_from_place_to_place(raw, program, data, stream, form):
    source, target = program.upload(data), program.upload(np.zeros(SIZE, np.uint8))
    assert MOVES[form](raw, target, source, stream) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert (program.download(target, SIZE, np.uint8) == data).all()


def test_a_peer_has_to_exist(raw, program, data):
    source = program.upload(data)
    assert raw.hipMemcpyPeer(source, 0, source, 64, SIZE) == 101
    assert raw.hipMemcpyPeerAsync(source, 64, source, 0, SIZE, 0) == 101


FILLS = {
    "hipMemset": (1, 0x1AB, lambda raw, to, value, count, s: raw.hipMemset(to, value, count)),
    "hipMemset_spt": (1, 0x1AB, lambda raw, to, value, count, s: raw.hipMemset_spt(to, value, count)),
    "hipMemsetAsync": (1, 0x1AB, lambda raw, to, value, count, s: raw.hipMemsetAsync(to, value, count, s)),
    "hipMemsetAsync_spt": (1, 0x1AB, lambda raw, to, value, count, s: raw.hipMemsetAsync_spt(to, value, count, s)),
    "hipMemsetD8": (1, 0xAB, lambda raw, to, value, count, s: raw.hipMemsetD8(to, value, count)),
    "hipMemsetD8Async": (1, 0xAB, lambda raw, to, value, count, s: raw.hipMemsetD8Async(to, value, count, s)),
    "hipMemsetD16": (2, 0xABCD, lambda raw, to, value, count, s: raw.hipMemsetD16(to, value, count)),
    "hipMemsetD16Async": (2, 0xABCD, lambda raw, to, value, count, s: raw.hipMemsetD16Async(to, value, count, s)),
    "hipMemsetD32": (4, 0xABCDEF12, lambda raw, to, value, count, s: raw.hipMemsetD32(to, value, count)),
    "hipMemsetD32Async": (4, 0xABCDEF12, lambda raw, to, value, count, s: raw.hipMemsetD32Async(to, value, count, s)),
    "hipMemset2DAsync": (1, 0xAB, lambda raw, to, value, count, s: raw.hipMemset2DAsync(to, count, value, count, 1, s)),
}


@pytest.mark.parametrize("form", FILLS)
def test_elements_are_filled_and_no_byte_more(raw, program, stream, form):
    size, value, fill = FILLS[form]
    target = program.upload(np.zeros(SIZE, np.uint8))
    assert fill(raw, target, value, 5, stream) == 0
    assert raw.hipDeviceSynchronize() == 0
    element = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    assert program.download(target, SIZE, np.uint8).tobytes() == (element * 5).ljust(SIZE, b"\0")
    assert fill(raw, target, value, 0, stream) == 0
    assert fill(raw, target, value, SIZE // size + 1, stream) == 1


@pytest.mark.parametrize("form", ["hipMemcpyToSymbolAsync", "hipMemcpyToSymbolAsync_spt"])
def test_variables_are_written_and_read_in_a_stream(raw, registered, stream, form):
    assert getattr(raw, form)(registered["counter"], ctypes.c_uint(1234), 4, 0, H2D, stream) == 0
    for back in ("hipMemcpyFromSymbolAsync", "hipMemcpyFromSymbolAsync_spt"):
        value = ctypes.c_uint()
        assert getattr(raw, back)(value, registered["counter"], 4, 0, D2H, stream) == 0
        assert raw.hipStreamSynchronize(stream) == 0
        assert value.value == 1234


def test_pageable_memory_is_read_at_the_call(raw, program, stream):
    target, data = program.upload(np.zeros(8, np.uint8)), np.ones(8, np.uint8)
    opened = threading.Event()
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: opened.wait(20) and None)
    assert raw.hipLaunchHostFunc(stream, ctypes.cast(function, ctypes.c_void_p).value, 0) == 0
    assert raw.hipMemcpyAsync(target, data, 8, H2D, stream) == 0
    data[:] = 2
    opened.set()
    assert raw.hipStreamSynchronize(stream) == 0
    assert (program.download(target, 8, np.uint8) == 1).all()


def test_pinned_memory_is_read_when_the_copy_runs_so_a_program_that_does_not_wait_shows_itself(raw, program, stream):
    pinned, target = raw.made("hipHostMalloc", 8, 0), program.upload(np.zeros(8, np.uint8))
    opened = threading.Event()
    held = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: opened.wait(20) and None)
    ctypes.memset(pinned, 1, 8)
    assert raw.hipLaunchHostFunc(stream, ctypes.cast(held, ctypes.c_void_p).value, 0) == 0
    assert raw.hipMemcpyAsync(target, pinned, 8, H2D, stream) == 0
    ctypes.memset(pinned, 2, 8)
    opened.set()
    assert raw.hipStreamSynchronize(stream) == 0
    assert (program.download(target, 8, np.uint8) == 2).all()
    assert raw.hipHostFree(pinned) == 0


def test_a_kernel_that_uses_freed_memory_is_reported_and_the_bytes_are_poison(raw, program, runtime):
    x, y = program.upload(np.ones(64, np.float32)), program.upload(np.zeros(64, np.float32))
    saxpy, arguments = program.function(), program.saxpy(y, x, 1.0, 64)
    assert raw.hipFree(x) == 0
    assert ctypes.string_at(x, 256) == b"\xdd" * 256
    assert raw.hipModuleLaunchKernel(int(saxpy), 1, 1, 1, 64, 1, 1, 0, 0, arguments.table, 0) == 0
    assert raw.hipDeviceSynchronize() == 700
    assert "which was freed" in runtime.fault_report()
    assert (program.download(y, 64) == 0).all()


def test_memory_freed_under_pending_work_waits_for_the_work(raw, program, stream):
    target = program.upload(np.zeros(8, np.uint8))
    block = raw.made("hipMalloc", 8)
    for _ in range(10):
        assert raw.hipMemsetAsync(block, 3, 8, stream) == 0
        assert raw.hipMemcpyDtoDAsync(target, block, 8, stream) == 0
    assert raw.hipFree(block) == 0
    assert raw.hipStreamQuery(stream) == 0
    assert (program.download(target, 8, np.uint8) == 3).all()
