"""Handles of memory for other processes: whole allocations, attached in their own process only."""

from __future__ import annotations

import ctypes

import pytest
from support.hsa_client import out

INVALID_ARGUMENT, NOT_SUPPORTED = 0x1001, 47
Handle = ctypes.c_uint32 * 8


@pytest.fixture
def attach(client):
    def attach_memory(handle, size):
        address = ctypes.c_uint64()
        status = client.hsa.hsa_amd_ipc_memory_attach(handle, size, 0, None, ctypes.byref(address))
        return status, address.value

    return attach_memory


def test_memory_is_attached_at_its_own_address_and_detached_as_often(client, attach):
    address, handle = client.allocate(4096), Handle()
    assert client.hsa.hsa_amd_ipc_memory_create(address, 4096, handle) == 0
    assert attach(handle, 4096) == attach(handle, 4096) == (0, address)
    detach = client.hsa.hsa_amd_ipc_memory_detach
    assert [detach(address) for _ in range(3)] == [0, 0, INVALID_ARGUMENT]


def test_a_handle_is_of_a_whole_allocation_that_is_live(client, attach):
    handle, create = Handle(), client.hsa.hsa_amd_ipc_memory_create
    address = out(client.hsa.hsa_amd_memory_pool_allocate, client.pools[0], 4096, 0)
    for place, size in ((address, 100), (address + 64, 4096), (0, 4096), (address, 0)):
        assert create(place, size, handle) == INVALID_ARGUMENT
    assert attach(handle, 4096) == (INVALID_ARGUMENT, 0)
    assert create(address, 4096, handle) == 0
    assert attach(handle, 100) == (INVALID_ARGUMENT, 0)
    assert client.hsa.hsa_amd_memory_pool_free(address) == 0
    assert attach(handle, 4096) == (INVALID_ARGUMENT, 0)


def test_memory_of_another_process_is_refused_by_name(client, attach, library):
    address, handle = client.allocate(64), Handle()
    assert client.hsa.hsa_amd_ipc_memory_create(address, 64, handle) == 0
    handle[1] += 1
    assert attach(handle, 64) == (NOT_SUPPORTED, 0)
    assert library.fault_report() == (
        f"hsa_amd_ipc_memory_attach: the memory belongs to process {handle[1]}: memory of a virtual GPU is attached in "
        "its own process only; hsa_amd_vmem_export_shareable_handle shares memory between processes"
    )
