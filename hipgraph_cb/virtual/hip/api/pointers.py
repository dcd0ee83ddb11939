"""What an address is: attributes of pointers, and what programs advise about managed memory."""

from __future__ import annotations

import ctypes
from typing import Any

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import (
    CPU_DEVICE,
    INVALID_DEVICE,
    MemoryAdvise,
    MemoryType,
    PointerAttribute,
    RangeAttribute,
)
from hipgraph_cb.abi.hip.structures import MemoryLocation, PointerAttributes
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.host_memory import device_pointer
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import load_pointers, require
from hipgraph_cb.virtual.hip.objects.allocations import DeviceAllocation
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime


def _known(runtime: HipRuntime, address: int) -> DeviceAllocation:
    allocation = runtime.allocations.find(address)
    if allocation is None:
        raise CallError(Code.INVALID_VALUE, f"{address:#x} is not memory that HIP knows")
    return allocation


def _places(runtime: HipRuntime, allocation: DeviceAllocation, address: int) -> tuple[int, int]:
    """The pointer that kernels use, and the one that the host uses, or 0."""
    if allocation.kind is MemoryType.DEVICE:
        return address, 0
    return device_pointer(runtime, address), address


@api("hipPointerGetAttributes", POINTER, POINTER)
def pointer_get_attributes(runtime: HipRuntime, out: int, address: int) -> None:
    """Memory that HIP does not know is of the type `unregistered`, on no device."""
    require(out and address)
    allocation = runtime.allocations.find(address)
    target = PointerAttributes.from_address(out)
    if allocation is None:
        ctypes.memset(out, 0, ctypes.sizeof(PointerAttributes))
        target.type, target.device = MemoryType.UNREGISTERED, INVALID_DEVICE
        return
    target.type, target.device = allocation.kind, allocation.ordinal
    target.devicePointer, target.hostPointer = _places(runtime, allocation, address)
    target.isManaged = int(allocation.kind is MemoryType.MANAGED)
    target.allocationFlags = 0 if allocation.kind is MemoryType.MANAGED else allocation.flags


_REFUSED = (
    PointerAttribute.P2P_TOKENS,
    PointerAttribute.ALLOWED_HANDLE_TYPES,
    PointerAttribute.IS_GPU_DIRECT_RDMA_CAPABLE,
    PointerAttribute.MEMPOOL_HANDLE,
)
_POINTER, _INTEGER, _TRUTH = ctypes.c_size_t, ctypes.c_int, ctypes.c_ubyte
_OF_UNKNOWN_MEMORY: dict[int, Any] = {
    PointerAttribute.MEMORY_TYPE: _INTEGER(MemoryType.UNREGISTERED),
    PointerAttribute.DEVICE_POINTER: _POINTER(0),
    PointerAttribute.HOST_POINTER: _POINTER(0),
    PointerAttribute.SYNC_MEMOPS: _TRUTH(0),
    PointerAttribute.IS_MANAGED: _TRUTH(0),
    PointerAttribute.DEVICE_ORDINAL: _INTEGER(INVALID_DEVICE),
    PointerAttribute.IS_LEGACY_HIP_IPC_CAPABLE: _INTEGER(0),
    PointerAttribute.RANGE_START_ADDR: _POINTER(0),
    PointerAttribute.RANGE_SIZE: _POINTER(0),
    PointerAttribute.MAPPED: _TRUTH(0),
}
"""What is written, by attribute, beside the refusal for memory that HIP does not know."""


def _attributes(runtime: HipRuntime, allocation: DeviceAllocation, address: int) -> dict[int, Any]:
    """The values of the hipPointer_attribute of an address, as ctypes objects of their sizes."""
    for_kernels, for_host = _places(runtime, allocation, address)
    is_device, is_managed = allocation.kind is MemoryType.DEVICE, allocation.kind is MemoryType.MANAGED
    values: dict[int, Any] = {
        PointerAttribute.MEMORY_TYPE: _INTEGER(MemoryType.HOST if is_managed else allocation.kind),
        PointerAttribute.DEVICE_POINTER: _POINTER(for_kernels),
        PointerAttribute.HOST_POINTER: _POINTER(for_host),
        PointerAttribute.SYNC_MEMOPS: _TRUTH(allocation.address in runtime.synchronous_ranges),
        PointerAttribute.BUFFER_ID: ctypes.c_ulonglong(allocation.address),
        PointerAttribute.IS_MANAGED: _TRUTH(is_managed),
        PointerAttribute.DEVICE_ORDINAL: _INTEGER(allocation.ordinal),
        PointerAttribute.IS_LEGACY_HIP_IPC_CAPABLE: _INTEGER(is_device and not allocation.reach),
        PointerAttribute.RANGE_START_ADDR: _POINTER(allocation.address),
        PointerAttribute.RANGE_SIZE: _POINTER(allocation.size),
        PointerAttribute.MAPPED: _TRUTH(1),
    }
    if is_device:
        values[PointerAttribute.CONTEXT] = _POINTER(runtime.primary_contexts[allocation.ordinal].handle)
    return values


@api("hipPointerGetAttribute", POINTER, INT, POINTER)
def pointer_get_attribute(runtime: HipRuntime, out: int, attribute: int, address: int) -> None:
    require(out and address)
    is_known = attribute != PointerAttribute.IS_LEGACY_HIP_IPC_CAPABLE or runtime.profile.tells_ipc_capability
    require(is_known and attribute not in _REFUSED, Code.NOT_SUPPORTED)
    if attribute == PointerAttribute.ACCESS_FLAGS:
        _INTEGER.from_address(out).value = 0
        return
    allocation = runtime.allocations.find(address)
    values = _OF_UNKNOWN_MEMORY if allocation is None else _attributes(runtime, allocation, address)
    if attribute in values:
        ctypes.memmove(out, ctypes.addressof(values[attribute]), ctypes.sizeof(values[attribute]))
    require(allocation is not None and attribute in values)
    is_device_only = allocation is not None and allocation.kind is MemoryType.DEVICE
    require(attribute != PointerAttribute.HOST_POINTER or not is_device_only)


@api("hipDrvPointerGetAttributes", UINT, POINTER, POINTER, POINTER)
def driver_pointer_get_attributes(runtime: HipRuntime, count: int, attributes: int, out: int, address: int) -> None:
    require(count and attributes and out and address)
    wanted = (ctypes.c_int * count).from_address(attributes)
    for attribute, place in zip(wanted, load_pointers(out, count), strict=True):
        pointer_get_attribute(runtime, place, attribute, address)


@api("hipPointerSetAttribute", POINTER, INT, POINTER)
def pointer_set_attribute(runtime: HipRuntime, value: int, attribute: int, address: int) -> None:
    require(value and address and attribute == PointerAttribute.SYNC_MEMOPS)
    ranges, start = runtime.synchronous_ranges, _known(runtime, address).address
    (ranges.add if ctypes.c_int.from_address(value).value else ranges.discard)(start)


# -- managed memory: hints, which are kept and change nothing, since all memory here is the host's ---------------------


_ADVICE = {
    MemoryAdvise.SET_READ_MOSTLY: (RangeAttribute.READ_MOSTLY, True),
    MemoryAdvise.UNSET_READ_MOSTLY: (RangeAttribute.READ_MOSTLY, False),
    MemoryAdvise.SET_PREFERRED_LOCATION: (RangeAttribute.PREFERRED_LOCATION, True),
    MemoryAdvise.UNSET_PREFERRED_LOCATION: (RangeAttribute.PREFERRED_LOCATION, False),
    MemoryAdvise.SET_ACCESSED_BY: (RangeAttribute.ACCESSED_BY, True),
    MemoryAdvise.UNSET_ACCESSED_BY: (RangeAttribute.ACCESSED_BY, False),
    MemoryAdvise.SET_COARSE_GRAIN: (RangeAttribute.COHERENCY_MODE, True),
    MemoryAdvise.UNSET_COARSE_GRAIN: (RangeAttribute.COHERENCY_MODE, False),
}
"""Which attribute of a range an advice is about, and whether it sets it."""


def _managed(runtime: HipRuntime, address: int, size: int) -> DeviceAllocation:
    allocation = runtime.allocations.find(address)
    if allocation is None or allocation.kind is not MemoryType.MANAGED:
        raise CallError(Code.INVALID_VALUE, "advice is for memory of hipMallocManaged")
    require(size and address + size <= allocation.address + allocation.size)
    return allocation


def _check_place(runtime: HipRuntime, ordinal: int) -> None:
    if ordinal != CPU_DEVICE:
        runtime.gpu_at(ordinal)


@api("hipMemAdvise", POINTER, SIZE, INT, INT)
def mem_advise(runtime: HipRuntime, address: int, size: int, advice: int, ordinal: int) -> None:
    require(advice in tuple(MemoryAdvise))
    _check_place(runtime, ordinal)
    start = _managed(runtime, address, size).address
    attribute, is_set = _ADVICE[MemoryAdvise(advice)]
    value = ordinal if attribute in (RangeAttribute.PREFERRED_LOCATION, RangeAttribute.ACCESSED_BY) else 1
    if is_set:
        runtime.advice[start, attribute] = value
    else:
        runtime.advice.pop((start, attribute), None)


@api("hipMemAdvise_v2", POINTER, SIZE, INT, MemoryLocation)
def mem_advise_v2(runtime: HipRuntime, address: int, size: int, advice: int, location: MemoryLocation) -> None:
    mem_advise(runtime, address, size, advice, location.ordinal)


@api("hipMemPrefetchAsync", POINTER, SIZE, INT, HANDLE)
def mem_prefetch(runtime: HipRuntime, address: int, size: int, ordinal: int, stream: int) -> None:
    runtime.stream(stream)
    _check_place(runtime, ordinal)
    runtime.advice[_managed(runtime, address, size).address, RangeAttribute.LAST_PREFETCH_LOCATION] = ordinal


@api("hipMemPrefetchAsync_v2", POINTER, SIZE, MemoryLocation, UINT, HANDLE)
def mem_prefetch_v2(
    runtime: HipRuntime, address: int, size: int, location: MemoryLocation, flags: int, stream: int
) -> None:
    require(flags == 0)
    mem_prefetch(runtime, address, size, location.ordinal, stream)


@api("hipMemRangeGetAttribute", POINTER, SIZE, INT, POINTER, SIZE)
def mem_range_get_attribute(
    runtime: HipRuntime, out: int, out_size: int, attribute: int, address: int, size: int
) -> None:
    require(out and out_size and out_size % 4 == 0 and attribute in tuple(RangeAttribute))
    start = _managed(runtime, address, size).address
    default = 0 if attribute in (RangeAttribute.READ_MOSTLY, RangeAttribute.COHERENCY_MODE) else INVALID_DEVICE
    values = (ctypes.c_int * (out_size // 4)).from_address(out)
    values[:] = [default if attribute != RangeAttribute.ACCESSED_BY else INVALID_DEVICE] * len(values)
    values[0] = runtime.advice.get((start, attribute), default)


@api("hipMemRangeGetAttributes", POINTER, POINTER, POINTER, SIZE, POINTER, SIZE)
def mem_range_get_attributes(
    runtime: HipRuntime, out: int, out_sizes: int, attributes: int, count: int, address: int, size: int
) -> None:
    require(out and out_sizes and attributes and count)
    wanted = (ctypes.c_int * count).from_address(attributes)
    for place, room, attribute in zip(load_pointers(out, count), load_pointers(out_sizes, count), wanted, strict=True):
        mem_range_get_attribute(runtime, place, room, attribute, address, size)


@api("hipStreamAttachMemAsync", HANDLE, POINTER, SIZE, UINT)
def stream_attach_mem(runtime: HipRuntime, stream: int, address: int, size: int, flags: int) -> None:
    runtime.stream(stream)
    require(address and flags in (1, 2, 4))
    allocation = _managed(runtime, address, size or 1)
    require(size in (0, allocation.size))
