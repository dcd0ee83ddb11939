"""Memory pools, copies, locked host memory, what a pointer is."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from support.devices import VIRTUAL_GPUS
from support.hsa_client import out

import hipgraph_cb.virtual.memory
from hipgraph_cb.abi.hsa.structures import PointerInfo

INVALID_ARGUMENT, INVALID_ALLOCATION, OUT_OF_RESOURCES = 0x1001, 0x1003, 0x1008
INVALID_MEMORY_POOL = 40
UNKNOWN, HSA, LOCKED = range(3)


def pool_info(client, pool, attribute, kind=ctypes.c_uint64):
    return out(client.hsa.hsa_amd_memory_pool_get_info, pool, attribute, kind=kind)


def test_the_pools_say_what_they_are(client):
    u32, boolean = ctypes.c_uint32, ctypes.c_bool
    gpu = [(pool_info(client, pool, 0, u32), pool_info(client, pool, 1, u32)) for pool in client.pools]
    assert gpu == [(0, 4), (0, 2), (3, 0)]  # global coarse-grained, global fine-grained, group
    cpu = client.iterate("hsa_amd_agent_iterate_memory_pools", client.cpu)
    assert [(pool_info(client, pool, 0, u32), pool_info(client, pool, 1, u32)) for pool in cpu] == [
        (0, 2),
        (0, 3),  # kernel arguments
        (0, 4),
    ]
    assert pool_info(client, client.pools[0], 2) == 16 << 30
    assert pool_info(client, client.pools[2], 2) == 65536
    assert [pool_info(client, pool, 5, boolean) for pool in client.pools] == [True, True, False]
    assert pool_info(client, client.pools[0], 6) == 4096


def test_fresh_memory_is_filled_so_that_a_wrong_program_looks_wrong(client):
    address = client.allocate(100)
    assert address % 4096 == 0
    assert set(client.read(address, 100, np.uint8)) == {0xCD}


@pytest.mark.parametrize("pool", [2], ids=["group"])
def test_local_memory_cannot_be_allocated(client, pool):
    address = ctypes.c_uint64()
    allocate = client.hsa.hsa_amd_memory_pool_allocate
    assert allocate(client.pools[pool], 4096, 0, ctypes.byref(address)) == INVALID_ALLOCATION


def test_bad_sizes_are_refused(client, monkeypatch):
    monkeypatch.setattr(hipgraph_cb.virtual.memory, "FILL_LIMIT", 4096)  # filling 8 GiB takes its time
    address = ctypes.c_uint64()
    allocate = client.hsa.hsa_amd_memory_pool_allocate
    assert allocate(client.pools[0], 0, 0, ctypes.byref(address)) == INVALID_ARGUMENT
    assert allocate(client.pools[0], 64, 0, None) == INVALID_ARGUMENT
    assert allocate(client.pools[0], 17 << 30, 0, ctypes.byref(address)) == INVALID_ALLOCATION
    assert allocate(1234, 64, 0, ctypes.byref(address)) == INVALID_MEMORY_POOL
    client.allocate(8 << 30)
    assert allocate(client.pools[0], 9 << 30, 0, ctypes.byref(address)) == OUT_OF_RESOURCES


def test_memory_is_freed_once_and_from_its_start(client, library):
    address = out(client.hsa.hsa_amd_memory_pool_allocate, client.pools[0], 64, 0)
    free = client.hsa.hsa_amd_memory_pool_free
    assert free(address + 8) == INVALID_ALLOCATION
    assert free(address) == 0
    assert free(address) == INVALID_ALLOCATION
    assert "which was freed" in library.fault_report()
    assert free(0) == 0


def test_a_callback_is_called_when_memory_is_freed(client):
    called = threading.Event()
    callback = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64)(
        lambda at, data: called.set() if (at, data) == (address, 3) else None
    )
    address = out(client.hsa.hsa_amd_memory_pool_allocate, client.pools[0], 64, 0)
    assert client.hsa.hsa_amd_register_deallocation_callback(address, callback, 3) == 0
    assert client.hsa.hsa_amd_memory_pool_free(address) == 0
    assert called.wait(10)


def test_regions_are_the_pools_by_their_older_name(client):
    regions = client.iterate("hsa_agent_iterate_regions", client.gpu)
    assert regions == client.pools
    assert out(client.hsa.hsa_region_get_info, regions[0], 2) == 16 << 30
    address = out(client.hsa.hsa_memory_allocate, regions[0], 64)
    assert client.hsa.hsa_memory_free(address) == 0


def test_a_copy_stays_inside_one_allocation(client, library):
    address, host = client.allocate(64), np.zeros(65, np.uint8)
    copy = client.hsa.hsa_memory_copy
    assert copy(address, host.ctypes.data, 64) == 0
    assert copy(address, host.ctypes.data, 65) == INVALID_ALLOCATION
    assert "1 of 65 bytes past its end" in library.fault_report()
    assert copy(host.ctypes.data, address, 65) == INVALID_ALLOCATION
    assert copy(address, None, 1) == INVALID_ARGUMENT
    assert copy(None, None, 0) == 0


def test_a_fill_writes_words(client):
    address = client.upload(np.zeros(6, np.uint32))
    assert client.hsa.hsa_amd_memory_fill(address + 4, 0x89ABCDEF, 4) == 0
    assert [hex(word) for word in client.read(address, 6, np.uint32)] == ["0x0", *["0x89abcdef"] * 4, "0x0"]
    assert client.hsa.hsa_amd_memory_fill(address + 4, 1, 6) == INVALID_ALLOCATION
    assert client.hsa.hsa_amd_memory_fill(address + 2, 1, 1) == INVALID_ARGUMENT


def test_an_asynchronous_copy_waits_for_its_signals(client):
    source, destination = client.upload(np.arange(8, dtype=np.int32)), client.allocate(32)
    first, second, done = client.signal(1), client.signal(1), client.signal(1)
    waits = (ctypes.c_uint64 * 2)(first, second)
    copy = client.hsa.hsa_amd_memory_async_copy
    assert copy(destination, client.gpu, source, client.gpu, 32, 2, waits, done) == 0
    client.hsa.hsa_signal_store_relaxed(first, 0)
    assert client.value(done) == 1
    client.hsa.hsa_signal_store_relaxed(second, 0)
    assert client.wait(done) == 0
    assert list(client.read(destination, 8, np.int32)) == list(range(8))


def test_an_asynchronous_copy_whose_memory_is_gone_makes_its_signal_negative(client):
    source, destination = client.allocate(32), client.allocate(32)
    gate, done = client.signal(1), client.signal(1)
    waits = (ctypes.c_uint64 * 1)(gate)
    copy = client.hsa.hsa_amd_memory_async_copy
    assert copy(destination, client.gpu, source, client.gpu, 32, 1, waits, done) == 0
    client._made.remove(("hsa_amd_memory_pool_free", source))
    client.hsa.hsa_amd_memory_pool_free(source)
    client.hsa.hsa_signal_store_relaxed(gate, 0)
    assert client.wait(done) == -1


def test_a_box_is_copied_row_by_row(client):
    source = np.arange(4 * 8 * 3, dtype=np.uint8)
    at, to, done = client.upload(source), client.upload(np.zeros(200, np.uint8)), client.signal()
    pitched = lambda base, pitch, size: (ctypes.c_uint64 * 3)(base, pitch, size)  # noqa: E731
    three = lambda *values: (ctypes.c_uint32 * 3)(*values)  # noqa: E731
    copy = client.hsa.hsa_amd_memory_async_copy_rect
    status = copy(
        pitched(to, 10, 50), three(1, 2, 0), pitched(at, 8, 32), three(3, 1, 1), three(4, 2, 2), client.gpu, 3, 0, None,
        done,
    )  # fmt: skip
    assert (status, client.wait(done)) == (0, 0)
    expected = np.zeros((4, 5, 10), np.uint8)
    expected[0:2, 2:4, 1:5] = source.reshape(3, 4, 8)[1:3, 1:3, 3:7]
    np.testing.assert_array_equal(client.read(to, 200, np.uint8).reshape(4, 5, 10), expected)


def test_times_of_a_copy_are_reported_where_copies_are_profiled(client):
    source, destination, done = client.allocate(32), client.allocate(32), client.signal(1)
    assert client.hsa.hsa_amd_profiling_async_copy_enable(1) == 0
    client.hsa.hsa_amd_memory_async_copy(destination, client.gpu, source, client.gpu, 32, 0, None, done)
    client.wait(done)
    times = (ctypes.c_uint64 * 2)()
    assert client.hsa.hsa_amd_profiling_get_async_copy_time(done, times) == 0
    assert 0 < times[0] <= times[1]
    assert client.hsa.hsa_amd_profiling_async_copy_enable(0) == 0


def info_of(client, address):
    info = PointerInfo(size=ctypes.sizeof(PointerInfo))
    agents, count = ctypes.c_uint64(), ctypes.c_uint32()
    room = (ctypes.c_uint64 * (1 + len(VIRTUAL_GPUS)))()
    allocate = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t)(lambda size: ctypes.addressof(room))
    result = client.hsa.hsa_amd_pointer_info(
        address, ctypes.byref(info), allocate, ctypes.byref(count), ctypes.byref(agents)
    )
    assert result == 0
    return info, list(room)[: count.value]


def test_a_pointer_into_a_pool_is_known(client):
    address = client.allocate(100)
    assert client.hsa.hsa_amd_pointer_info_set_userdata(address, 99) == 0
    info, agents = info_of(client, address + 50)
    assert (info.type, info.agentBaseAddress, info.sizeInBytes, info.userData) == (HSA, address, 100, 99)
    assert (info.agentOwner, info.global_flags, agents) == (client.gpu, 4, [client.gpu])


def test_access_of_other_agents_is_reported(client):
    host = client.iterate("hsa_amd_agent_iterate_memory_pools", client.cpu)[0]
    address = client.allocate(100, host)
    agents = (ctypes.c_uint64 * 1)(client.gpu)
    assert client.hsa.hsa_amd_agents_allow_access(1, agents, None, address) == 0
    assert info_of(client, address)[1] == [client.cpu, client.gpu]
    assert client.hsa.hsa_amd_agents_allow_access(1, agents, None, 4096) == INVALID_ALLOCATION
    assert client.hsa.hsa_amd_agents_allow_access(0, agents, None, address) == INVALID_ARGUMENT


def test_host_memory_is_locked_and_known_until_it_is_unlocked(client):
    host = np.zeros(1000, np.uint8)
    address = host.ctypes.data
    assert info_of(client, address)[0].type == UNKNOWN
    assert out(client.hsa.hsa_amd_memory_lock, address, 1000, None, 0) == address
    info, agents = info_of(client, address + 500)
    assert (info.type, info.sizeInBytes, set(agents)) == (LOCKED, 1000, {client.cpu, client.gpu, *client.others})
    assert client.hsa.hsa_amd_memory_unlock(address) == 0
    assert client.hsa.hsa_amd_memory_unlock(address) == INVALID_ARGUMENT
    assert info_of(client, address)[0].type == UNKNOWN


def test_the_link_from_an_agent_to_a_pool_is_reported(client):
    host = client.iterate("hsa_amd_agent_iterate_memory_pools", client.cpu)[0]
    info = client.hsa.hsa_amd_agent_memory_pool_get_info
    assert out(info, client.gpu, client.pools[0], 0, kind=ctypes.c_uint32) == 1  # allowed by default
    assert out(info, client.gpu, host, 0, kind=ctypes.c_uint32) == 2
    assert out(info, client.gpu, host, 1, kind=ctypes.c_uint32) == 1  # hops
    link = (ctypes.c_uint32 * 7)()
    assert info(client.gpu, host, 2, link) == 0
    assert (link[5], link[6]) == (2, 20)  # PCIe, distance
