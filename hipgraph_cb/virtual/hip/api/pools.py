"""Memory pools, in their simple form: names for the memory of a device, with attributes that are kept."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import AccessFlag, LocationType, PoolAttribute
from hipgraph_cb.abi.hip.structures import MemoryAccess, MemoryLocation, PoolProperties
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, api
from hipgraph_cb.virtual.hip.native import load_pointer, require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_FLAGS = (
    PoolAttribute.REUSE_FOLLOW_EVENT_DEPENDENCIES,
    PoolAttribute.REUSE_ALLOW_OPPORTUNISTIC,
    PoolAttribute.REUSE_ALLOW_INTERNAL_DEPENDENCIES,
)


@dataclass
class Pool:
    """A pool of one device. Memory that is freed goes back to the device at once."""

    ordinal: int
    access: dict[int, int] = field(default_factory=dict)
    attributes: dict[int, int] = field(default_factory=lambda: dict.fromkeys(_FLAGS, 1))


def current_pool(runtime: HipRuntime, ordinal: int) -> int:
    """The handle of the pool that a device allocates from."""
    default_pool(runtime, ordinal)
    return runtime.current_pools[ordinal]


def default_pool(runtime: HipRuntime, ordinal: int) -> int:
    """The handle of a device's own pool."""
    if ordinal not in runtime.default_pools:
        runtime.default_pools[ordinal] = runtime.current_pools[ordinal] = runtime.pools.add(Pool(ordinal))
    return runtime.default_pools[ordinal]


@api("hipDeviceGetDefaultMemPool", POINTER, INT)
def device_get_default_pool(runtime: HipRuntime, out: int, ordinal: int) -> None:
    require(out)
    store_pointer(out, default_pool(runtime, runtime.gpu_at(ordinal).ordinal))


@api("hipDeviceGetMemPool", POINTER, INT)
def device_get_pool(runtime: HipRuntime, out: int, ordinal: int) -> None:
    require(out)
    store_pointer(out, current_pool(runtime, runtime.gpu_at(ordinal).ordinal))


@api("hipDeviceSetMemPool", INT, HANDLE)
def device_set_pool(runtime: HipRuntime, ordinal: int, handle: int) -> None:
    default_pool(runtime, runtime.gpu_at(ordinal).ordinal)
    require(runtime.pools[handle].ordinal == ordinal)
    runtime.current_pools[ordinal] = handle


@api("hipMemPoolCreate", POINTER, POINTER)
def pool_create(runtime: HipRuntime, out: int, properties: int) -> None:
    require(out and properties)
    location = PoolProperties.from_address(properties).location
    require(location.type == LocationType.DEVICE and 0 <= location.id < len(runtime.gpus))
    store_pointer(out, runtime.pools.add(Pool(location.id)))


@api("hipMemPoolDestroy", HANDLE, releases=True)
def pool_destroy(runtime: HipRuntime, handle: int) -> None:
    require(handle and handle not in runtime.default_pools.values())
    pool = runtime.pools.pop(handle)
    if runtime.current_pools.get(pool.ordinal) == handle:
        runtime.current_pools[pool.ordinal] = default_pool(runtime, pool.ordinal)


def _ordinal_of(runtime: HipRuntime, location: int) -> int:
    """The device of a hipMemLocation."""
    require(location)
    given = MemoryLocation.from_address(location)
    require(given.type == LocationType.DEVICE)
    return runtime.gpu_at(given.id).ordinal


@api("hipMemGetDefaultMemPool", POINTER, POINTER, INT)
def mem_get_default_pool(runtime: HipRuntime, out: int, location: int, kind: int) -> None:
    device_get_default_pool(runtime, out, _ordinal_of(runtime, location))


@api("hipMemGetMemPool", POINTER, POINTER, INT)
def mem_get_pool(runtime: HipRuntime, out: int, location: int, kind: int) -> None:
    device_get_pool(runtime, out, _ordinal_of(runtime, location))


@api("hipMemSetMemPool", POINTER, INT, HANDLE)
def mem_set_pool(runtime: HipRuntime, location: int, kind: int, handle: int) -> None:
    device_set_pool(runtime, _ordinal_of(runtime, location), handle)


@api("hipMemPoolSetAccess", HANDLE, POINTER, SIZE)
def pool_set_access(runtime: HipRuntime, handle: int, descriptions: int, count: int) -> None:
    """A pool's own device cannot be shut out."""
    require(descriptions and count)
    pool = runtime.pools[handle]
    for given in (MemoryAccess * count).from_address(descriptions):
        require(given.location.type == LocationType.DEVICE and given.flags in tuple(AccessFlag))
        ordinal = runtime.gpu_at(given.location.id).ordinal
        require(ordinal != pool.ordinal or given.flags == AccessFlag.READ_WRITE)
        pool.access[ordinal] = given.flags


@api("hipMemPoolGetAccess", POINTER, HANDLE, POINTER)
def pool_get_access(runtime: HipRuntime, out: int, handle: int, location: int) -> None:
    require(out)
    pool, ordinal = runtime.pools[handle], _ordinal_of(runtime, location)
    store_int(out, pool.access.get(ordinal, AccessFlag.READ_WRITE if ordinal == pool.ordinal else AccessFlag.NONE))


@api("hipMemPoolTrimTo", HANDLE, SIZE)
def pool_trim(runtime: HipRuntime, handle: int, least: int) -> None:
    _ = runtime.pools[handle]


@api("hipMemPoolSetAttribute", HANDLE, INT, POINTER)
def pool_set_attribute(runtime: HipRuntime, handle: int, attribute: int, value: int) -> None:
    require(value)
    pool = runtime.pools[handle]
    if attribute in _FLAGS:
        pool.attributes[attribute] = ctypes.c_int.from_address(value).value
        return
    given = load_pointer(value)
    if attribute in (PoolAttribute.RESERVED_MEM_HIGH, PoolAttribute.USED_MEM_HIGH):
        require(given == 0, note="a high-water mark can be set to 0 only")
        used = runtime.allocations.pool_used.get(handle, 0)
        runtime.allocations.pool_high[handle] = used
        return
    require(attribute == PoolAttribute.RELEASE_THRESHOLD)
    pool.attributes[attribute] = given


@api("hipMemPoolGetAttribute", HANDLE, INT, POINTER)
def pool_get_attribute(runtime: HipRuntime, handle: int, attribute: int, out: int) -> None:
    require(out)
    pool = runtime.pools[handle]
    require(attribute in tuple(PoolAttribute), Code.INVALID_VALUE)
    if attribute in _FLAGS:
        ctypes.c_int.from_address(out).value = pool.attributes[attribute]
    elif attribute in (PoolAttribute.USED_MEM_CURRENT, PoolAttribute.RESERVED_MEM_CURRENT):
        store_pointer(out, runtime.allocations.pool_used.get(handle, 0))
    elif attribute in (PoolAttribute.USED_MEM_HIGH, PoolAttribute.RESERVED_MEM_HIGH):
        store_pointer(out, runtime.allocations.pool_high.get(handle, 0))
    else:
        store_pointer(out, pool.attributes.get(attribute, 0))
