"""Virtual memory of HSA: what hsa_amd_vmem_* do, and that kernels and copies reach what is mapped."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest
from support.child import environment
from support.hsa_client import dispatch, out

from hipgraph_cb.abi.hsa.structures import PointerInfo
from hipgraph_cb.virtual.physical_memory import PhysicalMemory

PAGE = 4096
INVALID_ARGUMENT, INVALID_ALLOCATION, INVALID_AGENT, OUT_OF_RESOURCES = 0x1001, 0x1003, 0x1004, 0x1008
RESOURCE_FREE, INCOMPATIBLE_ARGUMENTS = 0x100A, 0x100D
NONE, READ_ONLY, READ_WRITE = 0, 1, 3
GRID, WORKGROUP = (1024, 1, 1), (256, 1, 1)


class Access(ctypes.Structure):
    _fields_ = (("permission", ctypes.c_uint32), ("agent", ctypes.c_uint64))


@pytest.fixture
def vmem(client):
    return VirtualMemory(client)


class VirtualMemory:
    """The functions with their arguments in order; what answers with a status raises nothing."""

    def __init__(self, client):
        self.client, self.hsa = client, client.hsa

    def reserve(self, size, wanted=0, alignment=0):
        address = ctypes.c_uint64()
        reserve = self.hsa.hsa_amd_vmem_address_reserve_align
        assert reserve(ctypes.byref(address), size, wanted, alignment, 0) == 0
        return address.value

    def create(self, size, kind=1):
        return out(self.hsa.hsa_amd_vmem_handle_create, self.client.pools[0], size, kind, 0)

    def map(self, address, size, handle, offset=0):
        return self.hsa.hsa_amd_vmem_map(address, size, offset, handle, 0)

    def allow(self, address, size, permission=READ_WRITE, agent=None):
        access = Access(permission, self.client.gpu if agent is None else agent)
        return self.hsa.hsa_amd_vmem_set_access(address, size, ctypes.byref(access), 1)

    def access(self, address, agent=None):
        permission = ctypes.c_uint32(99)
        agent = self.client.gpu if agent is None else agent
        status = self.hsa.hsa_amd_vmem_get_access(address, ctypes.byref(permission), agent)
        return status, permission.value

    def mapped(self, size):
        """An address with memory of its own, which the GPU may access, and its handle."""
        address, handle = self.reserve(size), self.create(size)
        assert self.map(address, size, handle) == 0
        assert self.allow(address, size) == 0
        return address, handle


def test_the_system_says_that_it_is_there(client):
    assert out(client.hsa.hsa_system_get_info, 0x205, kind=ctypes.c_uint8) == 1


def test_a_kernel_reads_and_writes_across_mappings_and_what_is_mapped_twice(client, module, queue, vmem):
    address, one, other = vmem.reserve(4 * PAGE), vmem.create(PAGE), vmem.create(PAGE)
    for place, handle in enumerate((one, other, one)):
        assert vmem.map(address + place * PAGE, PAGE, handle) == 0
    assert vmem.allow(address, 3 * PAGE) == 0
    x = np.arange(2048, dtype=np.float32)
    assert client.hsa.hsa_memory_copy(address, x.ctypes.data, x.nbytes) == 0
    y = client.upload(np.ones(2048, np.float32))
    kernarg = module.kernargs("saxpy", (2048, 1, 1), WORKGROUP, "QQfI", address, y, 2.0, 2048)
    done = client.signal()
    queue.submit(dispatch(kernarg, (2048, 1, 1), WORKGROUP, **module.kernel("saxpy"), completion=done))
    assert client.wait(done) == 0
    assert client.read(address, 2048, np.float32).tolist() == (x + 2).tolist()
    assert client.read(address + 2 * PAGE, 1024, np.float32).tolist() == (x[:1024] + 2).tolist()


def test_a_kernel_faults_where_access_was_not_given_or_nothing_is_mapped(client, module, vmem, library):
    address, handle = vmem.reserve(2 * PAGE), vmem.create(PAGE)
    assert vmem.map(address, PAGE, handle) == 0
    for place, text in ((0, "where access was not given"), (PAGE, "where nothing is mapped")):
        queue = client.queue()
        kernarg = module.kernargs("saxpy", GRID, WORKGROUP, "QQfI", address + place, address + place, 2.0, 8)
        queue.submit(dispatch(kernarg, GRID, WORKGROUP, **module.kernel("saxpy")))
        assert queue.wait_for_error()[0] == 43
        assert text in library.fault_report()


def test_memory_is_filled_and_copied_where_it_is_mapped(client, vmem):
    address, _ = vmem.mapped(PAGE)
    assert set(client.read(address, PAGE, np.uint8)) == {0xCD}
    assert client.hsa.hsa_amd_memory_fill(address, 0x01020304, 4) == 0
    done, target = client.signal(), client.allocate(16)
    copy = client.hsa.hsa_amd_memory_async_copy
    assert copy(target, client.gpu, address, client.gpu, 16, 0, None, done) == 0
    assert client.wait(done) == 0
    assert client.read(target, 4, np.uint32).tolist() == [0x01020304] * 4
    assert client.hsa.hsa_amd_memory_fill(address + PAGE - 4, 0, 2) == INVALID_ALLOCATION


def test_memory_is_released_after_its_last_mapping(client, vmem):
    before = out(client.hsa.hsa_agent_get_info, client.gpu, 0xA015)
    address, handle = vmem.mapped(PAGE)
    assert out(client.hsa.hsa_agent_get_info, client.gpu, 0xA015) == before - PAGE
    release, unmap = client.hsa.hsa_amd_vmem_handle_release, client.hsa.hsa_amd_vmem_unmap
    assert release(handle) == 0
    assert release(handle) == INVALID_ALLOCATION
    assert out(client.hsa.hsa_agent_get_info, client.gpu, 0xA015) == before - PAGE
    assert unmap(address, PAGE) == 0
    assert out(client.hsa.hsa_agent_get_info, client.gpu, 0xA015) == before
    assert unmap(address, PAGE) == INVALID_ALLOCATION
    assert vmem.map(address, PAGE, handle) == INVALID_ARGUMENT


def test_a_range_is_freed_whole_and_when_nothing_is_mapped_in_it(client, vmem, library):
    address, _ = vmem.mapped(PAGE)
    free = client.hsa.hsa_amd_vmem_address_free
    assert free(address, PAGE) == RESOURCE_FREE
    assert client.hsa.hsa_amd_vmem_unmap(address, PAGE) == 0
    assert free(address, 2 * PAGE) == INVALID_ARGUMENT
    assert free(address + 8, PAGE) == INVALID_ALLOCATION
    assert library.fault_report() == f"hsa_amd_vmem_address_free: no reserved range starts at {address + 8:#x}"
    assert free(address, PAGE) == 0
    assert free(address, PAGE) == INVALID_ALLOCATION


def test_addresses_are_aligned_as_they_are_asked_for(client, vmem):
    assert vmem.reserve(PAGE, alignment=1 << 21) % (1 << 21) == 0
    address = vmem.reserve(2 * PAGE)
    assert client.hsa.hsa_amd_vmem_address_free(address, 2 * PAGE) == 0
    assert vmem.reserve(2 * PAGE, wanted=address) == address
    assert vmem.reserve(2 * PAGE, wanted=address) != address
    reserve, place = client.hsa.hsa_amd_vmem_address_reserve_align, ctypes.byref(ctypes.c_uint64())
    for size, alignment in ((0, 0), (100, 0), (PAGE, 3 * PAGE), (PAGE, 64)):
        assert reserve(place, size, 0, alignment, 0) == INVALID_ARGUMENT
    assert reserve(None, PAGE, 0, 0, 0) == INVALID_ARGUMENT
    assert reserve(place, 1 << 50, 0, 0, 0) == OUT_OF_RESOURCES


def test_memory_is_created_of_whole_pages_of_a_pool_with_room(client, vmem):
    create, place = client.hsa.hsa_amd_vmem_handle_create, ctypes.byref(ctypes.c_uint64())
    pool = client.pools[0]
    assert create(pool, 100, 1, 0, place) == INVALID_ARGUMENT
    assert create(pool, 0, 1, 0, place) == INVALID_ARGUMENT
    assert create(pool, PAGE, 2, 0, place) == INVALID_ARGUMENT
    assert create(99, PAGE, 1, 0, place) == INVALID_ARGUMENT
    assert create(client.pools[2], PAGE, 1, 0, place) == INVALID_ALLOCATION
    assert create(pool, 17 << 30, 1, 0, place) == OUT_OF_RESOURCES


def test_mapping_needs_a_free_part_of_one_reserved_range_and_so_much_memory(client, vmem):
    address, handle = vmem.reserve(4 * PAGE), vmem.create(2 * PAGE)
    assert vmem.map(address + PAGE, 2 * PAGE, handle) == 0
    for place, size, offset in ((0, 2, 0), (2, 1, 0), (3, 2, 0), (0, 1, 2), (3, 1, 2)):
        assert vmem.map(address + place * PAGE, size * PAGE, handle, offset * PAGE) == INVALID_ARGUMENT
    assert vmem.map(address, 100, handle) == INVALID_ARGUMENT
    assert vmem.map(address, PAGE, 99) == INVALID_ARGUMENT
    assert vmem.map(client.allocate(PAGE), PAGE, handle) == INVALID_ARGUMENT
    assert vmem.map(address + 3 * PAGE, PAGE, handle, PAGE) == 0


def test_access_is_kept_for_each_agent_and_each_mapping(client, vmem):
    address, handle = vmem.reserve(3 * PAGE), vmem.create(PAGE)
    assert vmem.access(address) == (INVALID_ALLOCATION, NONE)
    for place in range(2):
        assert vmem.map(address + place * PAGE, PAGE, handle) == 0
    assert vmem.access(address) == (0, NONE)
    assert vmem.allow(address + PAGE, PAGE, READ_ONLY) == 0
    assert (vmem.access(address), vmem.access(address + PAGE + 8)) == ((0, NONE), (0, READ_ONLY))
    assert vmem.allow(address, 2 * PAGE, NONE) == 0
    assert vmem.access(address + PAGE) == (0, NONE)
    assert vmem.access(address, client.cpu) == (INVALID_AGENT, NONE)
    assert vmem.allow(address, 3 * PAGE) == INVALID_ALLOCATION
    assert vmem.allow(address, 4 * PAGE) == INVALID_ARGUMENT
    assert vmem.allow(address, PAGE, 4) == INVALID_ARGUMENT
    assert vmem.allow(address, PAGE, agent=99) == INVALID_AGENT


def test_allowing_agents_reaches_the_mappings_behind_too(client, vmem):
    address, handle = vmem.reserve(2 * PAGE), vmem.create(PAGE)
    for place in range(2):
        assert vmem.map(address + place * PAGE, PAGE, handle) == 0
    agents = (ctypes.c_uint64 * 1)(client.gpu)
    assert client.hsa.hsa_amd_agents_allow_access(1, agents, None, address) == 0
    assert vmem.access(address + PAGE) == (0, READ_WRITE)


def test_a_handle_is_found_by_its_address_and_says_what_it_is(client, vmem):
    address, handle = vmem.mapped(PAGE)
    retain = client.hsa.hsa_amd_vmem_retain_alloc_handle
    again, pool, kind = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint32()
    assert retain(ctypes.byref(again), address) == 0
    assert again.value == handle
    assert retain(ctypes.byref(again), address + 8) == INVALID_ALLOCATION
    properties = client.hsa.hsa_amd_vmem_get_alloc_properties_from_handle
    assert properties(handle, ctypes.byref(pool), ctypes.byref(kind)) == 0
    assert (pool.value, kind.value) == (client.pools[0], 1)
    release = client.hsa.hsa_amd_vmem_handle_release
    assert [release(handle) for _ in range(3)] == [0, 0, INVALID_ALLOCATION]


def test_exported_memory_is_imported_as_the_handle_that_it_has(client, vmem):
    _, handle = vmem.mapped(PAGE)
    descriptor, again = ctypes.c_int(), ctypes.c_uint64()
    assert client.hsa.hsa_amd_vmem_export_shareable_handle(ctypes.byref(descriptor), handle, 0) == 0
    import_handle = client.hsa.hsa_amd_vmem_import_shareable_handle
    assert import_handle(descriptor, ctypes.byref(again)) == 0
    assert again.value == handle
    os.close(descriptor.value)
    assert import_handle(descriptor, ctypes.byref(again)) == INCOMPATIBLE_ARGUMENTS


def test_a_pointer_into_a_mapped_or_reserved_range_says_so(client, vmem):
    address = vmem.reserve(4 * PAGE)
    handle = vmem.create(PAGE)
    assert vmem.map(address + PAGE, PAGE, handle) == 0
    found = []
    for place in (8, PAGE + 8):
        info = PointerInfo(size=ctypes.sizeof(PointerInfo))
        assert client.hsa.hsa_amd_pointer_info(address + place, ctypes.byref(info), None, None, None) == 0
        found.append((info.type, info.hostBaseAddress, info.sizeInBytes, info.agentOwner))
    assert found == [(5, address, 4 * PAGE, 0), (6, address + PAGE, PAGE, client.gpu)]


def test_the_last_shut_down_gives_everything_back(client, vmem, library):
    memory = library.machine.memory
    address, _ = vmem.mapped(PAGE)
    library.runtime.virtual_memory.release_all()
    assert memory.find(address) is None
    assert "which was freed" in memory.describe(address)
    assert not library.runtime.virtual_memory.handles()


def test_a_sealed_file_of_another_process_is_imported_as_memory_of_the_first_gpu(client, vmem):
    theirs = PhysicalMemory.create(PAGE, 5, PAGE)
    shared, handle, pool, kind = theirs.exported(), ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_int()
    assert client.hsa.hsa_amd_vmem_import_shareable_handle(shared, ctypes.byref(handle)) == 0
    properties = client.hsa.hsa_amd_vmem_get_alloc_properties_from_handle
    assert properties(handle.value, ctypes.byref(pool), ctypes.byref(kind)) == 0
    assert pool.value == client.pools[0]
    address = vmem.reserve(PAGE)
    assert vmem.map(address, PAGE, handle.value) == vmem.allow(address, PAGE) == 0
    assert set(client.read(address, PAGE, np.uint8)) == {5}
    os.close(shared)
    theirs.close()


WRITER = """
import ctypes, sys
from support.hsa_client import Client
from hipgraph_cb.virtual.install import install_hsa
install_hsa(["gfx942"])
client = Client()
handle, address, access = ctypes.c_uint64(), ctypes.c_uint64(), (ctypes.c_uint64 * 2)(3, client.gpu)
hsa = client.hsa
assert hsa.hsa_amd_vmem_import_shareable_handle(int(sys.argv[1]), ctypes.byref(handle)) == 0
assert hsa.hsa_amd_vmem_address_reserve(ctypes.byref(address), 4096, 0, 0) == 0
assert hsa.hsa_amd_vmem_map(address.value, 4096, 0, handle.value, 0) == 0
assert hsa.hsa_amd_vmem_set_access(address.value, 4096, access, 1) == 0
assert hsa.hsa_amd_memory_fill(address.value, 7, 1024) == 0
"""


@pytest.mark.long
def test_another_process_writes_to_memory_that_was_exported(client, vmem):
    address, handle = vmem.mapped(PAGE)
    descriptor = ctypes.c_int()
    assert client.hsa.hsa_amd_vmem_export_shareable_handle(ctypes.byref(descriptor), handle, 0) == 0
    shared = descriptor.value
    subprocess.run([sys.executable, "-c", WRITER, str(shared)], env=environment(), pass_fds=[shared], check=True)
    os.close(shared)
    assert set(client.read(address, 1024, np.uint32)) == {7}
