"""The ways to allocate, and what allocations tell about themselves."""

from __future__ import annotations

import ctypes

import pytest

HOST, DEVICE, MANAGED = 1, 2, 3
WAYS = {
    "hipMalloc": ((64,), "hipFree", DEVICE),
    "hipExtMallocWithFlags": ((64, 1), "hipFree", DEVICE),
    "hipMallocManaged": ((64, 1), "hipFree", HOST),
    "hipHostMalloc": ((64, 0), "hipHostFree", HOST),
    "hipHostAlloc": ((64, 0), "hipFreeHost", HOST),
    "hipMallocHost": ((64,), "hipHostFree", HOST),
    "hipMemAllocHost": ((64,), "hipFreeHost", HOST),
    "hipMallocAsync": ((64, 0), "hipFree", DEVICE),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_gives_memory_of_its_kind(raw, way):
    arguments, release, kind = WAYS[way]
    address = raw.made(way, *arguments)
    reported, size, base, length = ctypes.c_uint(), ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_size_t()
    assert raw.hipPointerGetAttribute(reported, 2, address + 10) == 0
    assert reported.value == kind
    assert raw.hipMemPtrGetInfo(address, size) == 0
    assert raw.hipMemGetAddressRange(base, length, address + 10) == 0
    assert (size.value, base.value, length.value) == (64, address, 64)
    assert ctypes.string_at(address, 64) == b"\xcd" * 64
    assert getattr(raw, release)(address) == 0
    assert raw.hipMemGetAddressRange(base, length, address) == 500


def test_rows_get_a_pitch(raw):
    address, pitch = ctypes.c_size_t(), ctypes.c_size_t()
    assert raw.hipMallocPitch(address, pitch, 100, 4) == 0
    assert pitch.value == 256
    assert raw.hipMemset2D(address.value, pitch.value, 0, 256, 4) == 0
    assert raw.hipFree(address.value) == 0


def test_device_memory_may_be_freed_as_host_memory(raw):
    address = raw.made("hipMalloc", 8)
    assert raw.hipHostFree(address) == 0
    assert raw.hipFree(address) == 1


def test_flags_are_checked(raw):
    out = ctypes.c_size_t()
    assert raw.hipExtMallocWithFlags(out, 8, 64) == 1
    assert raw.hipMallocManaged(out, 8, 3) == 1
    assert raw.hipMallocManaged(out, 0, 1) == 1
    assert raw.hipMalloc(0, 8) == 1


def test_pools_are_made_and_chosen(raw):
    properties = (ctypes.c_int * 22)(1, 0, 1, 0)
    pool, default = raw.made("hipMemPoolCreate", properties), raw.made("hipDeviceGetDefaultMemPool", 0)
    assert raw.hipDeviceSetMemPool(0, pool) == 0
    assert raw.made("hipDeviceGetMemPool", 0) == pool
    address = raw.made("hipMallocFromPoolAsync", 32, pool, 0)
    assert raw.hipFreeAsync(address, 0) == 0
    assert raw.hipMemPoolTrimTo(pool, 0) == 0
    assert raw.hipMemPoolDestroy(pool) == 0
    assert raw.made("hipDeviceGetMemPool", 0) == default
    assert raw.hipMemPoolTrimTo(pool, 0) == 1
    assert raw.hipMemPoolCreate(ctypes.c_size_t(), (ctypes.c_int * 22)(1, 0, 7, 0)) == 1
