"""What an address is: attributes of pointers, and what programs advise about managed memory."""

from __future__ import annotations

import ctypes
from typing import Any

from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.host_memory import device_pointer
from hipgraph_cb.virtual.hip.api.pools import default_pool
from hipgraph_cb.virtual.hip.codes import Code
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import load_pointers, require
from hipgraph_cb.virtual.hip.objects.allocations import DeviceAllocation, MemoryKind
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.structures import MemoryLocation, PointerAttributes

_CONTEXT, _MEMORY_TYPE, _DEVICE_POINTER, _HOST_POINTER, _P2P_TOKENS, _SYNC_MEMOPS, _BUFFER_ID = range(1, 8)
_IS_MANAGED, _DEVICE_ORDINAL, _IS_IPC_CAPABLE, _RANGE_START, _RANGE_SIZE, _MAPPED, _HANDLE_TYPES = range(8, 15)
_IS_RDMA_CAPABLE, _ACCESS_FLAGS, _POOL = range(15, 18)
_READ_WRITE = 3


def _known(runtime: HipRuntime, address: int) -> DeviceAllocation:
    allocation = runtime.allocations.find(address)
    if allocation is None:
        raise CallError(Code.INVALID_VALUE, f"{address:#x} is not memory that HIP knows")
    return allocation


def _places(runtime: HipRuntime, allocation: DeviceAllocation, address: int) -> tuple[int, int]:
    """The pointer that kernels use, and the one that the host uses, or 0."""
    if allocation.kind is MemoryKind.DEVICE:
        return address, 0
    return device_pointer(runtime, address), address


@api("hipPointerGetAttributes", POINTER, POINTER)
def pointer_get_attributes(runtime: HipRuntime, out: int, address: int) -> None:
    require(out and address)
    allocation = _known(runtime, address)
    target = PointerAttributes.from_address(out)
    target.type, target.device = allocation.kind, allocation.ordinal
    target.devicePointer, target.hostPointer = _places(runtime, allocation, address)
    target.isManaged = int(allocation.kind is MemoryKind.MANAGED)
    target.allocationFlags = allocation.flags


def _attribute(runtime: HipRuntime, attribute: int, address: int) -> Any:
    """The value of a hipPointer_attribute as a ctypes object of its size; the unsupported ones are refused."""
    allocation = _known(runtime, address)
    for_kernels, for_host = _places(runtime, allocation, address)
    pointer, integer, truth = ctypes.c_size_t, ctypes.c_uint, ctypes.c_ubyte
    values: dict[int, Any] = {
        _CONTEXT: pointer(runtime.primary_contexts[allocation.ordinal].handle),
        _MEMORY_TYPE: integer(allocation.kind),
        _DEVICE_POINTER: pointer(for_kernels),
        _HOST_POINTER: pointer(for_host),
        _SYNC_MEMOPS: integer(allocation.address in runtime.synchronous_ranges),
        _BUFFER_ID: ctypes.c_ulonglong(allocation.address),
        _IS_MANAGED: truth(allocation.kind is MemoryKind.MANAGED),
        _DEVICE_ORDINAL: ctypes.c_int(allocation.ordinal),
        _IS_IPC_CAPABLE: truth(0),
        _RANGE_START: pointer(allocation.address),
        _RANGE_SIZE: pointer(allocation.size),
        _MAPPED: truth(1),
        _HANDLE_TYPES: ctypes.c_ulonglong(0),
        _IS_RDMA_CAPABLE: truth(0),
        _ACCESS_FLAGS: integer(_READ_WRITE),
        _POOL: pointer(default_pool(runtime, allocation.ordinal)),
    }
    require(attribute != _P2P_TOKENS, Code.NOT_SUPPORTED)
    require(attribute in values)
    return values[attribute]


@api("hipPointerGetAttribute", POINTER, INT, POINTER)
def pointer_get_attribute(runtime: HipRuntime, out: int, attribute: int, address: int) -> None:
    require(out and address)
    value = _attribute(runtime, attribute, address)
    ctypes.memmove(out, ctypes.addressof(value), ctypes.sizeof(value))


@api("hipDrvPointerGetAttributes", UINT, POINTER, POINTER, POINTER)
def driver_pointer_get_attributes(runtime: HipRuntime, count: int, attributes: int, out: int, address: int) -> None:
    require(count and attributes and out and address)
    wanted = (ctypes.c_int * count).from_address(attributes)
    for attribute, place in zip(wanted, load_pointers(out, count), strict=True):
        pointer_get_attribute(runtime, place, attribute, address)


@api("hipPointerSetAttribute", POINTER, INT, POINTER)
def pointer_set_attribute(runtime: HipRuntime, value: int, attribute: int, address: int) -> None:
    require(value and address and attribute == _SYNC_MEMOPS)
    ranges, start = runtime.synchronous_ranges, _known(runtime, address).address
    (ranges.add if ctypes.c_int.from_address(value).value else ranges.discard)(start)


# -- managed memory: hints, which are kept and change nothing, since all memory here is the host's ---------------------

_READ_MOSTLY, _PREFERRED_LOCATION, _ACCESSED_BY, _LAST_PREFETCH = range(1, 5)
_COHERENCY = 100
_ADVICE = (*range(1, 7), 100, 101)
_CPU = -1
_INVALID_DEVICE = -2


def _managed(runtime: HipRuntime, address: int, size: int) -> DeviceAllocation:
    allocation = runtime.allocations.find(address)
    if allocation is None or allocation.kind is not MemoryKind.MANAGED:
        raise CallError(Code.INVALID_VALUE, "advice is for memory of hipMallocManaged")
    require(size and address + size <= allocation.address + allocation.size)
    return allocation


def _check_place(runtime: HipRuntime, ordinal: int) -> None:
    if ordinal != _CPU:
        runtime.gpu_at(ordinal)


@api("hipMemAdvise", POINTER, SIZE, INT, INT)
def mem_advise(runtime: HipRuntime, address: int, size: int, advice: int, ordinal: int) -> None:
    require(advice in _ADVICE)
    _check_place(runtime, ordinal)
    start = _managed(runtime, address, size).address
    attribute = 100 if advice >= _COHERENCY else (advice + 1) // 2
    is_set = advice % 2 == (0 if advice >= _COHERENCY else 1)
    value = ordinal if attribute in (_PREFERRED_LOCATION, _ACCESSED_BY) else 1
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
    runtime.advice[_managed(runtime, address, size).address, _LAST_PREFETCH] = ordinal


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
    require(out and out_size and out_size % 4 == 0 and attribute in (*range(1, 5), _COHERENCY))
    start = _managed(runtime, address, size).address
    default = 0 if attribute in (_READ_MOSTLY, _COHERENCY) else _INVALID_DEVICE
    values = (ctypes.c_int * (out_size // 4)).from_address(out)
    values[:] = [default if attribute != _ACCESSED_BY else _INVALID_DEVICE] * len(values)
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
