"""Virtual memory: reserving addresses, memory without an address, mapping it, giving access, sharing it."""

from __future__ import annotations

from hipgraph_cb.abi.hsa.attributes import AccessPermission
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import MemoryAccess
from hipgraph_cb.virtual.hsa.function_table import HANDLE, INT, POINTER, SIZE, UINT64, api
from hipgraph_cb.virtual.hsa.native import require, store_u32, store_u64
from hipgraph_cb.virtual.hsa.objects.pool_memory import GRANULE, MemoryOfPool
from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime

_MEMORY_TYPES = (0, 1)  # none, pinned


@api("hsa_amd_vmem_address_reserve", POINTER, SIZE, UINT64, UINT64)
def address_reserve(runtime: HsaRuntime, out: int, size: int, wanted: int, flags: int) -> None:
    address_reserve_align(runtime, out, size, wanted, 0, flags)


@api("hsa_amd_vmem_address_reserve_align", POINTER, SIZE, UINT64, UINT64, UINT64)
def address_reserve_align(runtime: HsaRuntime, out: int, size: int, wanted: int, alignment: int, flags: int) -> None:
    """The flag that says that no GPU will reach the range changes nothing here."""
    alignment = alignment or GRANULE
    require(out and size and size % GRANULE == 0)
    require(alignment >= GRANULE and not alignment & (alignment - 1))
    store_u64(out, runtime.virtual_memory.reserve(size, alignment, wanted))


@api("hsa_amd_vmem_address_free", POINTER, SIZE, releases=True)
def address_free(runtime: HsaRuntime, address: int, size: int) -> None:
    require(address and size)
    runtime.virtual_memory.free(address, size)


@api("hsa_amd_vmem_handle_create", HANDLE, SIZE, INT, UINT64, POINTER)
def handle_create(runtime: HsaRuntime, pool_handle: int, size: int, kind: int, flags: int, out: int) -> None:
    require(out and size and kind in _MEMORY_TYPES)
    require(pool_handle in runtime.pools and size % GRANULE == 0)
    pool = runtime.pools[pool_handle]
    require(pool.is_allocatable, Status.INVALID_ALLOCATION, "this pool is local memory of workgroups")
    runtime.check_room(pool, size)
    store_u64(out, runtime.virtual_memory.create(MemoryOfPool(pool, kind), size))


@api("hsa_amd_vmem_handle_release", HANDLE, releases=True)
def handle_release(runtime: HsaRuntime, handle: int) -> None:
    runtime.virtual_memory.release(handle)


@api("hsa_amd_vmem_map", POINTER, SIZE, SIZE, HANDLE, UINT64)
def vmem_map(runtime: HsaRuntime, address: int, size: int, offset: int, handle: int, flags: int) -> None:
    require(address and size)
    require(all(number % GRANULE == 0 for number in (address, size, offset)))
    runtime.virtual_memory.map(address, size, offset, handle)


@api("hsa_amd_vmem_unmap", POINTER, SIZE, releases=True)
def vmem_unmap(runtime: HsaRuntime, address: int, size: int) -> None:
    require(address and size)
    runtime.virtual_memory.unmap(address, size)


@api("hsa_amd_vmem_set_access", POINTER, SIZE, POINTER, SIZE)
def vmem_set_access(runtime: HsaRuntime, address: int, size: int, descriptions: int, count: int) -> None:
    """Whether an agent may write is kept and not looked at: what may be accessed may be written."""
    require(address and size and descriptions and count)
    given = (MemoryAccess * count).from_address(descriptions)
    permissions = [(runtime.agent(each.agent_handle).handle, each.permissions) for each in given]
    require(all(permission in tuple(AccessPermission) for _, permission in permissions))
    reservation = runtime.virtual_memory.reservation(address)
    require(reservation is not None and reservation.holds(address, size))
    runtime.virtual_memory.set_access(runtime.virtual_memory.chain(address, size), permissions)


@api("hsa_amd_vmem_get_access", POINTER, POINTER, HANDLE)
def vmem_get_access(runtime: HsaRuntime, address: int, out: int, agent_handle: int) -> None:
    require(address and out)
    store_u32(out, AccessPermission.NONE)
    mapped = runtime.virtual_memory.find(address)
    require(mapped is not None, Status.INVALID_ALLOCATION, f"nothing is mapped at {address:#x}")
    agent = runtime.agent(agent_handle)
    require(agent.gpu is not None, Status.INVALID_AGENT, "what is asked is a GPU's access")
    store_u32(out, mapped.permissions.get(agent.handle, AccessPermission.NONE) if mapped else 0)


@api("hsa_amd_vmem_export_shareable_handle", POINTER, HANDLE, UINT64)
def export_shareable_handle(runtime: HsaRuntime, out: int, handle: int, flags: int) -> None:
    """A file descriptor, which other processes with virtual GPUs may import."""
    require(out)
    store_u32(out, runtime.virtual_memory.memory(handle).physical.exported())


@api("hsa_amd_vmem_import_shareable_handle", INT, POINTER)
def import_shareable_handle(runtime: HsaRuntime, descriptor: int, out: int) -> None:
    require(out)
    pool = next(pool for pool in runtime.pools.values() if pool.agent.gpu is not None)
    store_u64(out, runtime.virtual_memory.import_file(descriptor, MemoryOfPool(pool, 0)))


@api("hsa_amd_vmem_retain_alloc_handle", POINTER, POINTER)
def retain_alloc_handle(runtime: HsaRuntime, out: int, address: int) -> None:
    require(out and address)
    mapped = runtime.virtual_memory.find(address)
    is_start = mapped is not None and mapped.mapping.address == address
    require(is_start, Status.INVALID_ALLOCATION, f"nothing is mapped from {address:#x} on")
    if mapped is not None:
        mapped.memory.references += 1
        store_u64(out, mapped.memory.handle)


@api("hsa_amd_vmem_get_alloc_properties_from_handle", HANDLE, POINTER, POINTER)
def get_alloc_properties(runtime: HsaRuntime, handle: int, pool_out: int, kind_out: int) -> None:
    require(pool_out and kind_out)
    owner = runtime.virtual_memory.memory(handle).owner
    store_u64(pool_out, owner.pool.handle)
    store_u32(kind_out, owner.kind)
