"""Memory pools: their facts, allocating and freeing, access; locked host memory; pointer information."""

from __future__ import annotations

import ctypes
import struct
from functools import partial

from hipgraph_cb.abi.hsa.attributes import (
    AccessPermission,
    AgentPoolInfo,
    PointerType,
    PoolAccess,
    PoolFlag,
    PoolInfo,
    RegionInfo,
)
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import PointerInfo
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.api.agents import iterate
from hipgraph_cb.virtual.hsa.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hsa.native import load_u64s, require, store_bytes, store_u8, store_u32, store_u64
from hipgraph_cb.virtual.hsa.objects.agent import Agent
from hipgraph_cb.virtual.hsa.objects.pool_memory import GRANULE, LockedRange, PoolAllocation
from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime
from hipgraph_cb.virtual.settings import PEER_ACCESS_NONE

_Allocate = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t)
_DeallocationCallback = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t)


@api("hsa_amd_agent_iterate_memory_pools", HANDLE, POINTER, POINTER)
@api("hsa_agent_iterate_regions", HANDLE, POINTER, POINTER)
def iterate_memory_pools(runtime: HsaRuntime, handle: int, callback: int, data: int) -> int:
    return iterate(callback, data, [pool.handle for pool in runtime.agent(handle).pools])


@api("hsa_amd_memory_pool_get_info", HANDLE, INT, POINTER)
def memory_pool_get_info(runtime: HsaRuntime, handle: int, attribute: int, out: int) -> None:
    pool = runtime.pool(handle)
    require(out)
    granule = GRANULE if pool.is_allocatable else 0
    values: dict[int, bytes] = {
        PoolInfo.SEGMENT: struct.pack("<I", pool.segment),
        PoolInfo.GLOBAL_FLAGS: struct.pack("<I", pool.flags),
        PoolInfo.SIZE: struct.pack("<Q", pool.size),
        PoolInfo.RUNTIME_ALLOC_ALLOWED: bytes((pool.is_allocatable,)),
        PoolInfo.RUNTIME_ALLOC_GRANULE: struct.pack("<Q", granule),
        PoolInfo.RUNTIME_ALLOC_ALIGNMENT: struct.pack("<Q", granule),
        PoolInfo.ACCESSIBLE_BY_ALL: b"\0",
        PoolInfo.ALLOC_MAX_SIZE: struct.pack("<Q", pool.size if pool.is_allocatable else 0),
        PoolInfo.LOCATION: struct.pack("<I", int(pool.agent.gpu is not None)),  # CPU or GPU
        PoolInfo.RUNTIME_ALLOC_REC_GRANULE: struct.pack("<Q", granule),
    }
    require(attribute in values, note=f"memory pool attribute {attribute} is not known")
    store_bytes(out, values[attribute])


@api("hsa_region_get_info", HANDLE, INT, POINTER)
def region_get_info(runtime: HsaRuntime, handle: int, attribute: int, out: int) -> None:
    require(handle in runtime.pools, Status.INVALID_REGION)
    pool = runtime.pools[handle]
    if attribute == RegionInfo.ALLOC_MAX_SIZE:
        return store_u64(out, pool.size)
    if attribute == RegionInfo.ALLOC_MAX_PRIVATE_WORKGROUP_SIZE:
        return store_u64(out, 0)
    require(attribute in tuple(RegionInfo), note=f"region attribute {attribute} is not known")
    memory_pool_get_info(runtime, handle, attribute, out)  # the others have the same numbers for pools
    return None


@api("hsa_amd_memory_pool_allocate", HANDLE, SIZE, UINT, POINTER)
def memory_pool_allocate(runtime: HsaRuntime, handle: int, size: int, flags: int, out: int) -> None:
    pool = runtime.pool(handle)
    require(size and out)
    require(pool.is_allocatable, Status.INVALID_ALLOCATION, "this pool is local memory of workgroups")
    require(size <= pool.size, Status.INVALID_ALLOCATION, f"{size} bytes of a pool of {pool.size}")
    runtime.check_room(pool, size)
    store_u64(out, runtime.pool_memory.allocate(pool, size))


@api("hsa_memory_allocate", HANDLE, SIZE, POINTER)
def memory_allocate(runtime: HsaRuntime, handle: int, size: int, out: int) -> None:
    require(handle in runtime.pools, Status.INVALID_REGION)
    memory_pool_allocate(runtime, handle, size, 0, out)


@api("hsa_amd_memory_pool_free", POINTER, releases=True)
@api("hsa_memory_free", POINTER, releases=True)
def memory_pool_free(runtime: HsaRuntime, address: int) -> None:
    if not address:
        return
    allocation = _at_start(runtime, address)
    for function, data in allocation.callbacks:
        runtime.events.post(address, partial(_DeallocationCallback(function), allocation.address, data))
    runtime.pool_memory.free(allocation)


def _at_start(runtime: HsaRuntime, address: int) -> PoolAllocation:
    allocation = runtime.pool_memory.allocations.get(address)
    if allocation is None:
        raise CallError(
            Status.INVALID_ALLOCATION,
            f"no allocation of a pool starts at {address:#x}: {runtime.memory.describe(address)}",
        )
    return allocation


@api("hsa_amd_agents_allow_access", UINT, POINTER, POINTER, POINTER)
def agents_allow_access(runtime: HsaRuntime, count: int, agents: int, flags: int, address: int) -> None:
    require(count and agents and address and not flags)
    allocation = runtime.pool_memory.find(address)
    mapped = runtime.virtual_memory.find(address)
    allowed = [runtime.agent(handle) for handle in load_u64s(agents, count)]
    handles = [agent.handle for agent in allowed]
    if allocation is not None:
        if any(_access(runtime, agent, allocation.pool.agent) == PoolAccess.NEVER_ALLOWED for agent in allowed):
            raise CallError(Status.ERROR, "an agent cannot be given access to the memory of another GPU")
        allocation.agents = handles
    elif mapped is not None:
        given = [(handle, AccessPermission.READ_WRITE) for handle in handles]
        runtime.virtual_memory.set_access(runtime.virtual_memory.following(mapped), given)
    else:
        raise CallError(Status.INVALID_ALLOCATION, f"{address:#x}: {runtime.memory.describe(address)}")


def _access(runtime: HsaRuntime, agent: Agent, owner: Agent) -> PoolAccess:
    """The access that an agent has to the pools of another one."""
    if owner is agent:
        return PoolAccess.ALLOWED_BY_DEFAULT
    are_peers = agent.gpu is not None and owner.gpu is not None
    if are_peers and runtime.settings.peer_access == PEER_ACCESS_NONE:
        return PoolAccess.NEVER_ALLOWED
    return PoolAccess.DISALLOWED_BY_DEFAULT


@api("hsa_amd_agent_memory_pool_get_info", HANDLE, HANDLE, INT, POINTER)
def agent_memory_pool_get_info(runtime: HsaRuntime, agent_handle: int, pool: int, attribute: int, out: int) -> None:
    agent, owner = runtime.agent(agent_handle), runtime.pool(pool).agent
    require(out and attribute in tuple(AgentPoolInfo))
    is_own = owner is agent
    if attribute == AgentPoolInfo.ACCESS:
        store_u32(out, _access(runtime, agent, owner))
    elif attribute == AgentPoolInfo.NUM_LINK_HOPS:
        store_u32(out, 0 if is_own else 1)
    elif not is_own:  # one hop: latencies and bandwidths unknown, atomics and coherence, PCIe, distance
        store_bytes(out, struct.pack("<4I3?xII", 0, 0, 0, 0, True, True, True, 2, 20))


@api("hsa_amd_memory_pool_can_migrate", HANDLE, HANDLE, POINTER)
def memory_pool_can_migrate(runtime: HsaRuntime, source: int, destination: int, out: int) -> None:
    runtime.pool(source), runtime.pool(destination)
    store_u8(out, 0)


# -- host memory that the program made itself --------------------------------------------------------------------------


@api("hsa_amd_memory_lock", POINTER, SIZE, POINTER, INT, POINTER)
def memory_lock(runtime: HsaRuntime, address: int, size: int, agents: int, count: int, out: int) -> None:
    require(address and size and out)
    require(bool(agents) == (count > 0))
    require(not runtime.memory.is_inside(address), note="this is device memory already")
    handles = load_u64s(agents, count) if agents else list(runtime.agents)
    allowed = tuple(runtime.agent(handle).handle for handle in handles)
    runtime.pool_memory.locked[address] = LockedRange(address, size, allowed)
    store_u64(out, address)


@api("hsa_amd_memory_lock_to_pool", POINTER, SIZE, POINTER, INT, HANDLE, UINT, POINTER)
def memory_lock_to_pool(
    runtime: HsaRuntime, address: int, size: int, agents: int, count: int, pool: int, flags: int, out: int
) -> None:
    require(flags == 0)
    require(runtime.pool(pool).agent.gpu is None, note="host memory is locked to a pool of the CPU")
    memory_lock(runtime, address, size, agents, count, out)


@api("hsa_amd_memory_unlock", POINTER, releases=True)
def memory_unlock(runtime: HsaRuntime, address: int) -> None:
    require(address in runtime.pool_memory.locked, note=f"{address:#x} is not locked")
    del runtime.pool_memory.locked[address]


@api("hsa_memory_register", POINTER, SIZE)
@api("hsa_memory_deregister", POINTER, SIZE)
def memory_register(runtime: HsaRuntime, address: int, size: int) -> None:
    """A hint for devices that reach host memory anyway."""
    require(address or not size)


@api("hsa_memory_assign_agent", POINTER, HANDLE, INT)
def memory_assign_agent(runtime: HsaRuntime, address: int, agent: int, access: int) -> None:
    require(address and access in (1, 2, 3))
    runtime.agent(agent)


# -- pointer information -----------------------------------------------------------------------------------------------


@api("hsa_amd_pointer_info", POINTER, POINTER, POINTER, POINTER, POINTER)
def pointer_info(runtime: HsaRuntime, address: int, out: int, alloc: int, count_out: int, agents_out: int) -> None:
    require(address and out)
    wanted = ctypes.c_uint32.from_address(out).value
    require(wanted)
    info, agents = _describe_pointer(runtime, address)
    info.size = min(wanted, ctypes.sizeof(info))
    ctypes.memmove(out, ctypes.addressof(info), info.size)
    if alloc and count_out and agents_out:
        _store_agents(agents, alloc, count_out, agents_out)


def _describe_pointer(runtime: HsaRuntime, address: int) -> tuple[PointerInfo, list[int]]:
    """What an address is, and the handles of the agents that may access it."""
    allocation = runtime.pool_memory.find(address)
    locked = runtime.pool_memory.find_locked(address)
    if allocation is not None:
        owner = allocation.pool.agent
        info = PointerInfo(
            0, PointerType.HSA, allocation.address, allocation.address, allocation.size, allocation.user_data
        )
        info.agentOwner, info.global_flags = owner.handle, allocation.pool.flags
        return info, list(dict.fromkeys([owner.handle, *allocation.agents]))
    if locked is not None:
        info = PointerInfo(0, PointerType.LOCKED, locked.address, locked.address, locked.size)
        info.agentOwner, info.global_flags = next(iter(runtime.agents)), PoolFlag.FINE_GRAINED
        return info, list(locked.agents)
    return _describe_reserved(runtime, address)


def _describe_reserved(runtime: HsaRuntime, address: int) -> tuple[PointerInfo, list[int]]:
    reservation, mapped = runtime.virtual_memory.reservation(address), runtime.virtual_memory.find(address)
    if mapped is not None:
        start, pool = mapped.mapping.address, mapped.memory.owner.pool
        info = PointerInfo(0, PointerType.HSA_VMEM, start, start, mapped.mapping.size)
        info.agentOwner, info.global_flags = pool.agent.handle, pool.flags
        allowed = [handle for handle, given in mapped.permissions.items() if given != AccessPermission.NONE]
        return info, allowed
    if reservation is not None:
        return PointerInfo(0, PointerType.RESERVED_ADDRESS, 0, reservation.address, reservation.size), []
    return PointerInfo(type=PointerType.UNKNOWN), []


def _store_agents(agents: list[int], alloc: int, count_out: int, agents_out: int) -> None:
    store_u32(count_out, len(agents))
    array = _Allocate(alloc)(8 * max(1, len(agents)))
    require(array, Status.OUT_OF_RESOURCES)
    store_u64(agents_out, array)
    for place, handle in enumerate(agents):
        store_u64(array + 8 * place, handle)


@api("hsa_amd_pointer_info_set_userdata", POINTER, POINTER)
def pointer_info_set_userdata(runtime: HsaRuntime, address: int, data: int) -> None:
    allocation = runtime.pool_memory.find(address)
    require(allocation is not None)
    if allocation is not None:
        allocation.user_data = data


@api("hsa_amd_register_deallocation_callback", POINTER, POINTER, POINTER)
def register_deallocation_callback(runtime: HsaRuntime, address: int, callback: int, data: int) -> None:
    require(address and callback)
    _at_start(runtime, address).callbacks.append((callback, data))


@api("hsa_amd_deregister_deallocation_callback", POINTER, POINTER)
def deregister_deallocation_callback(runtime: HsaRuntime, address: int, callback: int) -> None:
    require(address and callback)
    allocation = _at_start(runtime, address)
    kept = [entry for entry in allocation.callbacks if entry[0] != callback]
    require(len(kept) < len(allocation.callbacks))
    allocation.callbacks = kept
