"""What an address is, and what programs advise about managed memory."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_program import done

from hipgraph_cb.abi.hip.structures import MemoryLocation

CONTEXT, MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER = 1, 2, 3, 4
SYNC_MEMOPS, IS_MANAGED, ORDINAL, RANGE_START, RANGE_SIZE = 6, 8, 9, 11, 12
READ_MOSTLY, PREFERRED_LOCATION, ACCESSED_BY, LAST_PREFETCH, COHERENCY = 1, 2, 3, 4, 100


@pytest.fixture
def managed(raw):
    address = raw.made("hipMallocManaged", 4096, 1)
    yield address
    raw.hipFree(address)


def attribute(raw, which, address, kind=ctypes.c_size_t):
    value = kind(0)
    assert raw.hipPointerGetAttribute(value, which, address) == 0
    return value.value


def test_attributes_of_a_device_pointer(raw, program):
    block = program.upload(np.zeros(64, np.uint8))
    assert attribute(raw, MEMORY_TYPE, block + 8, ctypes.c_uint) == 2
    assert attribute(raw, DEVICE_POINTER, block + 8) == block + 8
    host = ctypes.c_size_t(9)
    assert raw.hipPointerGetAttribute(host, HOST_POINTER, block + 8) == 1
    assert host.value == 0
    assert attribute(raw, RANGE_START, block + 8) == block
    assert attribute(raw, RANGE_SIZE, block + 8) == 64
    assert attribute(raw, IS_MANAGED, block, ctypes.c_ubyte) == 0
    assert attribute(raw, ORDINAL, block, ctypes.c_int) == 0
    assert attribute(raw, CONTEXT, block) == raw.made("hipDevicePrimaryCtxRetain", 0)
    assert raw.hipPointerGetAttribute(ctypes.c_size_t(), 99, block) == 1
    assert raw.hipPointerGetAttribute(ctypes.c_size_t(), MEMORY_TYPE, np.zeros(4)) == 1


def test_several_attributes_at_once(raw, program):
    block = program.upload(np.zeros(64, np.uint8))
    start, size = ctypes.c_size_t(), ctypes.c_size_t()
    places = (ctypes.c_void_p * 2)(ctypes.addressof(start), ctypes.addressof(size))
    assert raw.hipDrvPointerGetAttributes(2, (ctypes.c_int * 2)(RANGE_START, RANGE_SIZE), places, block + 60) == 0
    assert (start.value, size.value) == (block, 64)


def test_one_attribute_can_be_set(raw, program):
    block = program.upload(np.zeros(64, np.uint8))
    for number in (1, 0):
        assert raw.hipPointerSetAttribute(ctypes.c_int(number), SYNC_MEMOPS, block) == 0
        assert attribute(raw, SYNC_MEMOPS, block, ctypes.c_ubyte) == number
    assert raw.hipPointerSetAttribute(ctypes.c_int(1), MEMORY_TYPE, block) == 1


def test_managed_memory_is_one_address_for_host_and_kernels(raw, program, managed):
    floats = np.ctypeslib.as_array((ctypes.c_float * 64).from_address(managed))
    floats[:] = 1
    done(program.launch(program.function(), program.saxpy(managed, managed, 2.0, 64)))
    assert raw.hipDeviceSynchronize() == 0
    assert (floats == 3).all()
    assert attribute(raw, HOST_POINTER, managed) == attribute(raw, DEVICE_POINTER, managed) == managed
    assert attribute(raw, IS_MANAGED, managed, ctypes.c_ubyte) == 1


def range_attribute(raw, which, address, room=4):
    values = (ctypes.c_int * (room // 4))()
    assert raw.hipMemRangeGetAttribute(values, room, which, address, 4096) == 0
    return list(values)


def test_advice_is_kept(raw, managed):
    assert range_attribute(raw, PREFERRED_LOCATION, managed) == [-2]
    assert raw.hipMemAdvise(managed, 4096, 3, 0) == 0
    assert raw.hipMemAdvise(managed, 4096, 1, 0) == 0
    assert raw.hipMemAdvise(managed, 4096, 5, -1) == 0
    assert range_attribute(raw, PREFERRED_LOCATION, managed) == [0]
    assert range_attribute(raw, READ_MOSTLY, managed) == [1]
    assert range_attribute(raw, ACCESSED_BY, managed, 8) == [-1, -2]
    assert raw.hipMemAdvise(managed, 4096, 2, 0) == 0
    assert range_attribute(raw, READ_MOSTLY, managed) == [0]
    assert raw.hipMemAdvise(managed, 4096, 100, 0) == 0
    assert range_attribute(raw, COHERENCY, managed) == [1]
    assert raw.hipMemPrefetchAsync(managed, 4096, 0, 0) == 0
    assert range_attribute(raw, LAST_PREFETCH, managed) == [0]


def test_several_range_attributes_at_once(raw, managed):
    first, second = ctypes.c_int(), ctypes.c_int()
    places = (ctypes.c_void_p * 2)(ctypes.addressof(first), ctypes.addressof(second))
    kinds = (ctypes.c_int * 2)(READ_MOSTLY, LAST_PREFETCH)
    assert raw.hipMemRangeGetAttributes(places, (ctypes.c_size_t * 2)(4, 4), kinds, 2, managed, 4096) == 0
    assert (first.value, second.value) == (0, -2)


def test_advice_is_for_managed_memory_and_places_that_exist(raw, program, managed):
    block = program.upload(np.zeros(64, np.uint8))
    assert raw.hipMemAdvise(block, 64, 1, 0) == 1
    assert raw.hipMemAdvise(managed, 4097, 1, 0) == 1
    assert raw.hipMemAdvise(managed, 4096, 9, 0) == 1
    assert raw.hipMemAdvise(managed, 4096, 3, 64) == 101
    assert raw.hipMemPrefetchAsync(managed, 4096, 64, 0) == 101
    assert raw.hipStreamAttachMemAsync(0, managed, 0, 4) == 0
    assert raw.hipStreamAttachMemAsync(0, managed, 100, 4) == 1


def test_places_may_be_named_by_a_structure(raw, managed):
    library, place = ctypes.CDLL("libamdhip64.so"), ctypes.c_size_t(managed)
    host, device = MemoryLocation(2, 0), MemoryLocation(1, 0)
    assert library.hipMemAdvise_v2(place, ctypes.c_size_t(4096), 3, host) == 0
    assert range_attribute(raw, PREFERRED_LOCATION, managed) == [-1]
    assert library.hipMemPrefetchAsync_v2(place, ctypes.c_size_t(4096), device, 0, None) == 0
    assert range_attribute(raw, LAST_PREFETCH, managed) == [0]
    assert library.hipMemPrefetchAsync_v2(place, ctypes.c_size_t(4096), MemoryLocation(1, 64), 0, None) == 101
