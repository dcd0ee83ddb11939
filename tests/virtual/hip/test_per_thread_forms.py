"""The forms whose default stream is the calling thread's own, and rows of wide elements."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import structure

from hipgraph_cb.abi.hip.structures import Extent, Memcpy3DParams, Memcpy3DPeerParams, PitchedPointer


@pytest.fixture
def blocks(program):
    data = np.arange(256, dtype=np.uint8)
    return program.upload(np.zeros(256, np.uint8)), program.upload(data)


def expected_rows(width, height, target_pitch, source_pitch):
    rows = np.zeros(256, np.uint8)
    for y in range(height):
        rows[y * target_pitch : y * target_pitch + width] = np.arange(width) + y * source_pitch
    return rows


@pytest.mark.parametrize("form", ["hipMemcpy2D_spt", "hipMemcpy2DAsync_spt"])
def test_rows_are_copied(raw, program, blocks, form):
    stream = [0] if "Async" in form else []
    assert getattr(raw, form)(blocks[0], 16, blocks[1], 32, 10, 4, 3, *stream) == 0
    assert raw.hipStreamSynchronize_spt(2) == 0
    assert (program.download(blocks[0], 256, np.uint8) == expected_rows(10, 4, 16, 32)).all()


@pytest.mark.parametrize("form", ["hipMemcpy3D_spt", "hipMemcpy3DAsync_spt", "hipMemcpy3DPeer", "hipMemcpy3DPeerAsync"])
def test_boxes_are_copied(raw, program, blocks, form):
    kind = Memcpy3DPeerParams if "Peer" in form else Memcpy3DParams
    params = structure(kind, dstPtr=(blocks[0], 16, 10, 4), srcPtr=(blocks[1], 32, 10, 4), extent=(10, 4, 1))
    if kind is Memcpy3DParams:
        params.kind = 3
    stream = [0] if "Async" in form else []
    assert getattr(raw, form)(params, *stream) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert (program.download(blocks[0], 256, np.uint8) == expected_rows(10, 4, 16, 32)).all()


@pytest.mark.parametrize("form", ["hipMemset2D_spt", "hipMemset2DAsync_spt"])
def test_rows_are_filled(raw, program, blocks, form):
    stream = [0] if "Async" in form else []
    assert getattr(raw, form)(blocks[0], 16, 5, 10, 4, *stream) == 0
    assert raw.hipDeviceSynchronize() == 0
    rows = program.download(blocks[0], 256, np.uint8).reshape(16, 16)
    assert (rows[:4, :10] == 5).all()
    assert rows.sum() == 5 * 40


@pytest.mark.parametrize("form", ["hipMemset3D_spt", "hipMemset3DAsync_spt", "hipMemset3DAsync"])
def test_boxes_are_filled(raw, program, blocks, form):
    stream = [ctypes.c_void_p(0)] if "Async" in form else []
    native = getattr(ctypes.CDLL("libamdhip64.so"), form)
    assert native(PitchedPointer(blocks[0], 16, 10, 4), 3, Extent(10, 2, 2), *stream) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert program.download(blocks[0], 256, np.uint8).sum() == 3 * 40


@pytest.mark.parametrize("bits, value", [(8, 0xAB), (16, 0xABCD), (32, 0xABCDEF01)])
@pytest.mark.parametrize("form", ["", "Async"])
def test_rows_of_wide_elements_are_filled_exactly(raw, program, blocks, bits, value, form):
    stream = [0] if form else []
    assert getattr(raw, f"hipMemsetD2D{bits}{form}")(blocks[0], 32, value, 3, 4, *stream) == 0
    assert raw.hipDeviceSynchronize() == 0
    rows = program.download(blocks[0], 256, np.uint8).reshape(8, 32)
    size = bits // 8
    assert (rows[:4, : 3 * size] == list(value.to_bytes(size, "little")) * 3).all()
    assert (rows[:4, 3 * size :] == 0).all()
    assert (rows[4:] == 0).all()


def test_memory_for_boxes_and_rows_has_a_pitch(raw, hip):
    native = ctypes.CDLL("libamdhip64.so").hipMalloc3D
    pointer = PitchedPointer()
    assert native(ctypes.byref(pointer), Extent(100, 3, 2)) == 0
    assert (pointer.pitch, pointer.xsize, pointer.ysize) == (256, 100, 3)
    assert raw.hipMemset(pointer.ptr, 0, 256 * 6) == 0
    assert raw.hipMemset(pointer.ptr, 0, 256 * 6 + 1) == 1
    assert raw.hipFree(pointer.ptr) == 0
    address, pitch = ctypes.c_size_t(), ctypes.c_size_t()
    assert raw.hipMemAllocPitch(address, pitch, 100, 3, 4) == 0
    assert pitch.value == 256
    assert raw.hipMemAllocPitch(address, pitch, 100, 3, 5) == 1
    assert raw.hipFree(address.value) == 0


def test_pools_tell_who_may_reach_them(raw):
    pool = raw.made("hipDeviceGetDefaultMemPool", 0)
    location, flags = (ctypes.c_int * 2)(1, 0), ctypes.c_int()
    assert raw.hipMemPoolGetAccess(flags, pool, location) == 0
    assert flags.value == 3
    assert raw.hipMemPoolSetAccess(pool, (ctypes.c_int * 3)(1, 0, 3), 1) == 0
    assert raw.hipMemPoolSetAccess(pool, (ctypes.c_int * 3)(1, 0, 0), 1) == 1
    assert raw.made("hipMemGetDefaultMemPool", location, 1) == raw.made("hipMemGetMemPool", location, 1) == pool
    assert raw.hipMemSetMemPool(location, 1, pool) == 0
