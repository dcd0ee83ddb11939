"""Allocations, pools, graph memory and pointers: the measured answers of AMD's runtimes."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import RawLibrary, handles

from hipgraph_cb.abi.hip.structures import AllocateParams, PointerAttributes, PoolProperties

UNTOUCHED = 0x5555555555555555
CONTEXT, MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, P2P, SYNC, BUFFER_ID, IS_MANAGED, ORDINAL, IPC = range(1, 11)
RANGE_START, RANGE_SIZE, MAPPED, HANDLE_TYPES, RDMA, ACCESS, MEMPOOL = range(11, 18)


@pytest.fixture
def raw(profile):
    return RawLibrary()


def pool_properties(ordinal=0, kind=1):
    made = PoolProperties(allocType=kind)
    made.location.type, made.location.id = 1, ordinal
    return made


def asked(raw, attribute, address):
    """The code, and eight bytes that held 0x55 before."""
    out = ctypes.c_size_t(UNTOUCHED)
    return raw.hipPointerGetAttribute(out, attribute, address), out.value


def low(value, size):
    """A value of so many bytes written over the bytes that were there."""
    mask = (1 << 8 * size) - 1
    return UNTOUCHED & ~mask | value & mask


def test_pageable_memory_is_unregistered(raw):
    host, reported = np.zeros(64, np.uint8), PointerAttributes()
    ctypes.memset(ctypes.addressof(reported), 0x55, ctypes.sizeof(reported))
    assert raw.hipPointerGetAttributes(reported, host) == 0
    fields = (
        reported.type,
        reported.device,
        reported.devicePointer,
        reported.hostPointer,
        reported.isManaged,
        reported.allocationFlags,
    )
    assert fields == (0, -2, 0, 0, 0, 0)


def test_managed_memory_is_made_without_flags_and_counts_as_host_memory(raw):
    address, reported = raw.made("hipMallocManaged", 64, 1), PointerAttributes()
    assert raw.hipPointerGetAttributes(reported, address) == 0
    assert (reported.type, reported.isManaged, reported.allocationFlags) == (3, 1, 0)
    assert asked(raw, MEMORY_TYPE, address) == (0, low(1, 4))
    assert raw.hipFree(address) == 0


@pytest.mark.parametrize("attribute", [P2P, HANDLE_TYPES, RDMA, MEMPOOL])
def test_attributes_that_are_not_supported_of_any_memory(raw, attribute):
    device = raw.made("hipMalloc", 64)
    for address in (device, np.zeros(64, np.uint8)):
        assert asked(raw, attribute, address) == (801, UNTOUCHED)
    assert raw.hipFree(device) == 0


PAGEABLE = {
    CONTEXT: (1, UNTOUCHED),
    MEMORY_TYPE: (1, low(0, 4)),
    DEVICE_POINTER: (1, 0),
    HOST_POINTER: (1, 0),
    SYNC: (1, low(0, 1)),
    IS_MANAGED: (1, low(0, 1)),
    ORDINAL: (1, low(-2, 4)),
    RANGE_START: (1, 0),
    RANGE_SIZE: (1, 0),
    MAPPED: (1, low(0, 1)),
    ACCESS: (0, low(0, 4)),
}


@pytest.mark.parametrize("attribute", PAGEABLE)
def test_what_is_written_of_pageable_memory(raw, attribute):
    assert asked(raw, attribute, np.zeros(64, np.uint8)) == PAGEABLE[attribute]


def test_attributes_of_device_memory(raw, profile):
    address = raw.made("hipMalloc", 64)
    assert asked(raw, HOST_POINTER, address) == (1, 0)
    assert asked(raw, SYNC, address) == (0, low(0, 1))
    assert asked(raw, ACCESS, address) == (0, low(0, 4))
    assert asked(raw, IPC, address) == {"6.4": (801, UNTOUCHED), "7.2": (0, low(1, 4))}[profile]
    assert raw.hipFree(address) == 0


def test_pinned_memory_has_no_context(raw, profile):
    address = raw.made("hipHostMalloc", 64, 0)
    assert asked(raw, CONTEXT, address) == (1, UNTOUCHED)
    assert asked(raw, IPC, address) == {"6.4": (801, UNTOUCHED), "7.2": (0, low(0, 4))}[profile]
    assert raw.hipHostFree(address) == 0


@pytest.mark.parametrize("flags, expected", [(0, 0), (1, 0), (2, 1), (3, 0), (4, 0), (5, 1), (8, 1)])
def test_flags_of_device_memory(raw, flags, expected):
    out = ctypes.c_size_t()
    assert raw.hipExtMallocWithFlags(out, 16, flags) == expected
    assert not out.value or raw.hipFree(out.value) == 0


@pytest.mark.parametrize("flags, expected", [(0x40000000, 0), (0x80000000, 0), (0xC0000000, 1)])
def test_host_memory_is_not_coherent_and_non_coherent(raw, flags, expected):
    out = ctypes.c_size_t()
    assert raw.hipHostMalloc(out, 16, flags) == expected
    assert not out.value or raw.hipHostFree(out.value) == 0


def test_registered_memory_may_be_registered_again_and_tells_no_flags(raw):
    host, flags = np.zeros(8192, np.uint8), ctypes.c_uint(99)
    assert [raw.hipHostRegister(host, 8192, 0) for _ in range(2)] == [0, 0]
    assert (raw.hipHostGetFlags(flags, host), flags.value) == (1, 99)
    assert [raw.hipHostUnregister(host) for _ in range(2)] == [0, 713]


def pool_meter(raw, pool, attribute):
    out = ctypes.c_size_t()
    assert raw.hipMemPoolGetAttribute(pool, attribute, out) == 0
    return out.value


def test_a_pool_counts_what_came_from_it(raw):
    pool, stream = raw.made("hipMemPoolCreate", pool_properties()), raw.made("hipStreamCreate")
    device = raw.made("hipMalloc", 4096)
    address = raw.made("hipMallocFromPoolAsync", 1000, pool, stream)
    assert [pool_meter(raw, pool, each) for each in (5, 7)] == [1000, 1000]
    assert raw.hipFreeAsync(address, stream) == raw.hipStreamSynchronize(stream) == 0
    assert [pool_meter(raw, pool, each) for each in (5, 7, 8)] == [0, 0, 1000]
    one, nothing = ctypes.c_size_t(1), ctypes.c_size_t(0)
    assert [raw.hipMemPoolSetAttribute(pool, each, one) for each in range(4, 9)] == [0, 1, 1, 1, 1]
    assert [raw.hipMemPoolSetAttribute(pool, each, nothing) for each in (6, 8)] == [0, 0]
    assert pool_meter(raw, pool, 8) == 0
    assert raw.hipMemPoolCreate(ctypes.c_size_t(), pool_properties(ordinal=9)) == 1
    assert raw.hipMemPoolDestroy(pool) == raw.hipStreamDestroy(stream) == raw.hipFree(device) == 0


def test_null_is_freed_in_order_since_7_2(raw, profile):
    assert raw.hipFreeAsync(0, 0) == {"6.4": 1, "7.2": 0}[profile]


@pytest.fixture
def allocating(raw):
    """A graph with an allocation of 1024 bytes and the node that frees it: graph, allocation node, address."""
    graph = raw.made("hipGraphCreate", 0)
    given = AllocateParams(pool_properties(), 0, 0, 1024, 0)
    node = raw.made("hipGraphAddMemAllocNode", graph, 0, 0, given)
    raw.made("hipGraphAddMemFreeNode", graph, handles(node), 1, given.dptr)
    yield graph, node, given.dptr
    assert raw.hipGraphDestroy(graph) == 0


def test_a_graph_frees_its_memory_once_and_is_neither_cloned_nor_instantiated_twice(raw, allocating):
    graph, node, address = allocating
    assert raw.hipGraphAddMemFreeNode(ctypes.c_size_t(), graph, handles(node), 1, address) == 1
    assert raw.hipGraphClone(ctypes.c_size_t(), graph) == 801
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphInstantiateWithFlags(ctypes.c_size_t(), graph, 0) == 801
    assert raw.hipGraphExecDestroy(executable) == 0


def graph_meters(raw):
    values = []
    for attribute in range(4):
        out = ctypes.c_size_t()
        assert raw.hipDeviceGetGraphMemAttribute(0, attribute, out) == 0
        values.append(out.value)
    return values


def test_graph_memory_counts_from_the_first_launch_and_is_kept_until_a_trim(raw, allocating):
    assert raw.hipDeviceGraphMemTrim(0) == 0
    for attribute in (1, 3):
        assert raw.hipDeviceSetGraphMemAttribute(0, attribute, ctypes.c_size_t(0)) == 0
    assert graph_meters(raw) == [0, 0, 0, 0]
    executable = raw.made("hipGraphInstantiateWithFlags", allocating[0], 0)
    for _ in range(2):
        assert raw.hipGraphLaunch(executable, 0) == raw.hipDeviceSynchronize() == 0
        assert graph_meters(raw) == [0, 1024, 1024, 1024]
    assert raw.hipDeviceGraphMemTrim(0) == 0
    assert graph_meters(raw) == [0, 1024, 0, 1024]
    assert raw.hipGraphExecDestroy(executable) == 0


def test_copies_between_pageable_memory_have_a_kind_that_says_so(raw):
    device, host = raw.made("hipMalloc", 1024), np.zeros(1024, np.uint8)
    other = host.ctypes.data + 64
    for kind in (0, 1, 2, 3, 4, 1024):
        copies = (device, host), (host, device), (device, device + 512), (host, other)
        codes = [raw.hipMemcpy(*copy, 16, kind) for copy in copies]
        assert codes == [0, 0, 0, 0 if kind in (0, 4) else 1]
    rows = [raw.hipMemcpy2D(device, 64, host, 64, 32, 4, kind) for kind in (-1, 0, 1, 2, 3, 4, 5, 99)]
    assert rows == [21, 0, 0, 1, 1, 0, 21, 21]
    assert raw.hipFree(device) == 0
