"""Virtual memory: reserving addresses, creating memory without an address, mapping it, giving access, sharing it."""

from __future__ import annotations

import ctypes

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import (
    AccessFlag,
    AllocationGranularity,
    AllocationType,
    HandleType,
    LocationType,
    MemoryType,
)
from hipgraph_cb.abi.hip.structures import AllocationProperties, MemoryAccess, MemoryLocation
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UINT64, api
from hipgraph_cb.virtual.hip.native import load_bytes, require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.allocations import CreatedMemory
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import wait_for_workers
from hipgraph_cb.virtual.memory import PAGE

_WRITE_ONLY = 2


def _properties(runtime: HipRuntime, address: int) -> AllocationProperties:
    """A hipMemAllocationProp of memory that there can be, on whatever device."""
    require(address)
    given = AllocationProperties.from_address(address)
    is_newer = runtime.profile.creates_host_and_uncached_memory
    types = (AllocationType.PINNED, *((AllocationType.UNCACHED,) if is_newer else ()))
    places = (LocationType.DEVICE, *((LocationType.HOST,) if is_newer else ()))
    require(given.type in types and given.location.type in places)
    return given


def _has_device(runtime: HipRuntime, location: MemoryLocation) -> bool:
    return 0 <= int(location.id) < len(runtime.gpus)


@api("hipMemGetAllocationGranularity", POINTER, POINTER, INT)
def mem_get_allocation_granularity(runtime: HipRuntime, out: int, properties: int, option: int) -> None:
    require(out and option in tuple(AllocationGranularity))
    require(_has_device(runtime, _properties(runtime, properties).location))
    store_pointer(out, PAGE)


# -- addresses ---------------------------------------------------------------------------------------------------------


@api("hipMemAddressReserve", POINTER, SIZE, SIZE, POINTER, UINT64)
def mem_address_reserve(runtime: HipRuntime, out: int, size: int, alignment: int, wanted: int, flags: int) -> None:
    """An address that is wanted and taken is no error: another one is reserved."""
    require(out and not flags)
    is_possible = size and size % PAGE == 0 and not alignment & (alignment - 1)
    require(is_possible, runtime.profile.bad_reservation)
    store_pointer(out, 0)
    store_pointer(out, runtime.allocations.virtual.reserve(size, max(alignment, PAGE), wanted))


@api("hipMemAddressFree", POINTER, SIZE, releases=True)
def mem_address_free(runtime: HipRuntime, address: int, size: int) -> None:
    require(address and size)
    runtime.allocations.virtual.free(address, size)


# -- memory ------------------------------------------------------------------------------------------------------------


@api("hipMemCreate", POINTER, SIZE, POINTER, UINT64)
def mem_create(runtime: HipRuntime, out: int, size: int, properties: int, flags: int) -> None:
    require(out and size and not flags)
    given = _properties(runtime, properties)
    require(_has_device(runtime, given.location), runtime.profile.created_on_unknown_device)
    require(given.requestedHandleType in tuple(HandleType), Code.NOT_SUPPORTED)
    kind = MemoryType.DEVICE if given.location.type == LocationType.DEVICE else MemoryType.HOST
    if kind is MemoryType.DEVICE:
        runtime.allocations.check_room(size, given.location.id)
    require(size % PAGE == 0)
    owner = CreatedMemory(kind, given.location.id, load_bytes(properties, ctypes.sizeof(AllocationProperties)))
    store_pointer(out, runtime.allocations.virtual.create(owner, size))


@api("hipMemRelease", HANDLE, releases=True)
def mem_release(runtime: HipRuntime, handle: int) -> None:
    """Memory that is mapped lasts until it is unmapped."""
    runtime.allocations.virtual.release(handle)


@api("hipMemRetainAllocationHandle", POINTER, POINTER)
def mem_retain_allocation_handle(runtime: HipRuntime, out: int, address: int) -> None:
    require(out and address)
    mapped = runtime.allocations.virtual.find(address)
    if mapped is None:
        raise CallError(Code.INVALID_VALUE, f"nothing is mapped at {address:#x}")
    mapped.memory.references += 1
    store_pointer(out, mapped.memory.handle)


@api("hipMemGetAllocationPropertiesFromHandle", POINTER, HANDLE)
def mem_get_allocation_properties(runtime: HipRuntime, out: int, handle: int) -> None:
    require(out)
    properties = runtime.allocations.virtual.memory(handle).owner.properties
    ctypes.memmove(out, properties, len(properties))


# -- mapping -----------------------------------------------------------------------------------------------------------


@api("hipMemMap", POINTER, SIZE, SIZE, HANDLE, UINT64)
def mem_map(runtime: HipRuntime, address: int, size: int, offset: int, handle: int, flags: int) -> None:
    require(address and size and not offset and not flags)
    require(address % PAGE == 0 and size % PAGE == 0, note="whole pages can be mapped")
    runtime.allocations.virtual.map(address, size, 0, handle)


@api("hipMemUnmap", POINTER, SIZE, releases=True)
def mem_unmap(runtime: HipRuntime, address: int, size: int) -> None:
    """Wait for all work of the device whose memory it is, and unmap a number of whole mappings."""
    require(address and size)
    mapped = runtime.allocations.virtual.chain(address, size)
    ordinals = {each.memory.owner.ordinal for each in mapped}
    wait_for_workers(runtime.gate, [runtime.gpus[ordinal].worker for ordinal in ordinals])
    runtime.allocations.virtual.unmap(address, size)


# -- access ------------------------------------------------------------------------------------------------------------


def _check_access(runtime: HipRuntime, given: MemoryAccess) -> None:
    require(_has_device(runtime, given.location))
    permissions: tuple[int, ...] = tuple(AccessFlag)
    if runtime.profile.checks_access:
        require(given.location.type in (LocationType.DEVICE, LocationType.HOST))
    else:
        permissions += (_WRITE_ONLY,)
    require(given.flags in permissions)


@api("hipMemSetAccess", POINTER, SIZE, POINTER, SIZE)
def mem_set_access(runtime: HipRuntime, address: int, size: int, descriptions: int, count: int) -> None:
    """Whether a device may write is kept and not looked at: what may be accessed may be written."""
    require(address and size and descriptions and count)
    permissions = []
    for given in (MemoryAccess * count).from_address(descriptions):
        _check_access(runtime, given)
        permissions.append((int(given.location.id), int(given.flags)))
    virtual = runtime.allocations.virtual
    virtual.set_access(virtual.chain(address, size), permissions)


@api("hipMemGetAccess", POINTER, POINTER, POINTER)
def mem_get_access(runtime: HipRuntime, out: int, location: int, address: int) -> None:
    require(out and location and address)
    given = MemoryLocation.from_address(location)
    require(given.type == LocationType.DEVICE and _has_device(runtime, given))
    mapped = runtime.allocations.virtual.find(address)
    if mapped is None:
        raise CallError(Code.INVALID_VALUE, f"nothing is mapped at {address:#x}")
    store_pointer(out, mapped.permissions.get(given.id, AccessFlag.NONE))


# -- sharing -----------------------------------------------------------------------------------------------------------


@api("hipMemExportToShareableHandle", POINTER, HANDLE, INT, UINT64)
def mem_export(runtime: HipRuntime, out: int, handle: int, kind: int, flags: int) -> None:
    """A file descriptor, which other processes with virtual GPUs may import."""
    require(out and handle and not flags)
    memory = runtime.allocations.virtual.memory(handle)
    given = AllocationProperties.from_buffer_copy(memory.owner.properties)
    require(kind == given.requestedHandleType == HandleType.POSIX_FILE_DESCRIPTOR)
    store_int(out, memory.physical.exported())


@api("hipMemImportFromShareableHandle", POINTER, POINTER, INT)
def mem_import(runtime: HipRuntime, out: int, shared: int, kind: int) -> None:
    require(out and shared)
    descriptor = ctypes.c_int(shared).value
    if runtime.profile.imports_through_pointer:
        require(shared >= PAGE, note="6.4 takes the address of a file descriptor")
        descriptor = ctypes.c_int.from_address(shared).value
    properties = AllocationProperties(type=AllocationType.PINNED, requestedHandleType=kind)
    properties.location.type, properties.location.id = LocationType.DEVICE, runtime.gpu.ordinal
    owner = CreatedMemory(MemoryType.DEVICE, runtime.gpu.ordinal, bytes(properties))
    store_pointer(out, runtime.allocations.virtual.import_file(descriptor, owner))
