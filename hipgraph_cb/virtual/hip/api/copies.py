"""Copies in one piece, in all their synchronous and asynchronous forms."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import MemcpyKind
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, api
from hipgraph_cb.virtual.hip.native import load_bytes, require
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import Stream, wait_for_streams
from hipgraph_cb.virtual.hip.objects.submit import run_now, submit
from hipgraph_cb.virtual.hip.objects.work import Copy, CopyBox, Upload, refuse_freed

DIRECTION_NAMES: dict[int, str] = {
    MemcpyKind.HOST_TO_HOST: "HtoH",
    MemcpyKind.HOST_TO_DEVICE: "HtoD",
    MemcpyKind.DEVICE_TO_HOST: "DtoH",
    MemcpyKind.DEVICE_TO_DEVICE: "DtoD",
    MemcpyKind.DEFAULT: "Default",
    MemcpyKind.DEVICE_TO_DEVICE_NO_CU: "DtoD",
}


_BETWEEN_HOST_MEMORY = (MemcpyKind.HOST_TO_HOST, MemcpyKind.DEFAULT)


def is_pageable(runtime: HipRuntime, address: int) -> bool:
    """`address` is memory of the host program that HIP does not know."""
    return runtime.allocations.find(address) is None


def check_range(runtime: HipRuntime, address: int, size: int) -> None:
    """A range may not leave the allocation it starts in."""
    refuse_freed(runtime, address)
    allocation = runtime.allocations.find(address)
    if allocation is not None and address + size > allocation.end:
        raise CallError(Code.INVALID_VALUE, f"{runtime.memory.describe(address, size)}")


def checked_copy(runtime: HipRuntime, destination: int, source: int, size: int, direction: int) -> Copy:
    """A copy whose arguments hipMemcpy accepts; the direction must be one, the addresses decide."""
    require(destination and source)
    require(direction in tuple(MemcpyKind), Code.INVALID_MEMCPY_DIRECTION)
    check_range(runtime, destination, size)
    check_range(runtime, source, size)
    if is_pageable(runtime, source) and is_pageable(runtime, destination):
        require(direction in _BETWEEN_HOST_MEMORY, note="both addresses are pageable host memory")
    return Copy(destination, source, size, direction)


def copy_now(runtime: HipRuntime, stream: Stream, destination: int, source: int, size: int, direction: int) -> None:
    """Copy in order with `stream` and return when it is done."""
    if size:
        run_now(runtime, stream, checked_copy(runtime, destination, source, size, direction))


def copy_async(runtime: HipRuntime, stream: Stream, destination: int, source: int, size: int, direction: int) -> None:
    if size == 0:
        return
    copy = checked_copy(runtime, destination, source, size, direction)
    reads_pageable, writes_pageable = is_pageable(runtime, source), is_pageable(runtime, destination)
    if stream.capture is None and reads_pageable and not writes_pageable:
        # HIP copies from pageable memory are staged: the caller may change the bytes when the call returns.
        submit(runtime, stream, Upload(destination, load_bytes(source, size)))
        return
    if submit(runtime, stream, copy) is not None and writes_pageable:
        wait_for_streams(runtime.gate, [stream])


@api("hipMemcpy", POINTER, POINTER, SIZE, INT)
def memcpy(runtime: HipRuntime, destination: int, source: int, size: int, direction: int) -> None:
    copy_now(runtime, runtime.gpu.null_stream, destination, source, size, direction)


@api("hipMemcpy_spt", POINTER, POINTER, SIZE, INT)
def memcpy_per_thread(runtime: HipRuntime, destination: int, source: int, size: int, direction: int) -> None:
    copy_now(runtime, runtime.stream(2), destination, source, size, direction)


@api("hipMemcpyWithStream", POINTER, POINTER, SIZE, INT, HANDLE)
def memcpy_with_stream(
    runtime: HipRuntime, destination: int, source: int, size: int, direction: int, stream: int
) -> None:
    copy_now(runtime, runtime.stream(stream), destination, source, size, direction)


@api("hipMemcpyAsync", POINTER, POINTER, SIZE, INT, HANDLE)
@api("hipMemcpyAsync_spt", POINTER, POINTER, SIZE, INT, HANDLE)
def memcpy_async(runtime: HipRuntime, destination: int, source: int, size: int, direction: int, stream: int) -> None:
    copy_async(runtime, runtime.stream(stream), destination, source, size, direction)


@api("hipMemcpyHtoD", POINTER, POINTER, SIZE)
def memcpy_host_to_device(runtime: HipRuntime, destination: int, source: int, size: int) -> None:
    copy_now(runtime, runtime.gpu.null_stream, destination, source, size, MemcpyKind.HOST_TO_DEVICE)


@api("hipMemcpyDtoH", POINTER, POINTER, SIZE)
def memcpy_device_to_host(runtime: HipRuntime, destination: int, source: int, size: int) -> None:
    copy_now(runtime, runtime.gpu.null_stream, destination, source, size, MemcpyKind.DEVICE_TO_HOST)


@api("hipMemcpyDtoD", POINTER, POINTER, SIZE)
def memcpy_device_to_device(runtime: HipRuntime, destination: int, source: int, size: int) -> None:
    copy_now(runtime, runtime.gpu.null_stream, destination, source, size, MemcpyKind.DEVICE_TO_DEVICE)


@api("hipMemcpyHtoDAsync", POINTER, POINTER, SIZE, HANDLE)
def memcpy_host_to_device_async(runtime: HipRuntime, destination: int, source: int, size: int, stream: int) -> None:
    copy_async(runtime, runtime.stream(stream), destination, source, size, MemcpyKind.HOST_TO_DEVICE)


@api("hipMemcpyDtoHAsync", POINTER, POINTER, SIZE, HANDLE)
def memcpy_device_to_host_async(runtime: HipRuntime, destination: int, source: int, size: int, stream: int) -> None:
    copy_async(runtime, runtime.stream(stream), destination, source, size, MemcpyKind.DEVICE_TO_HOST)


@api("hipMemcpyDtoDAsync", POINTER, POINTER, SIZE, HANDLE)
def memcpy_device_to_device_async(runtime: HipRuntime, destination: int, source: int, size: int, stream: int) -> None:
    copy_async(runtime, runtime.stream(stream), destination, source, size, MemcpyKind.DEVICE_TO_DEVICE)


@api("hipMemcpyPeer", POINTER, INT, POINTER, INT, SIZE)
def memcpy_peer(
    runtime: HipRuntime, destination: int, destination_device: int, source: int, source_device: int, size: int
) -> None:
    runtime.gpu_at(destination_device), runtime.gpu_at(source_device)
    copy_now(runtime, runtime.gpu.null_stream, destination, source, size, MemcpyKind.DEVICE_TO_DEVICE)


@api("hipMemcpyPeerAsync", POINTER, INT, POINTER, INT, SIZE, HANDLE)
def memcpy_peer_async(
    runtime: HipRuntime,
    destination: int,
    destination_device: int,
    source: int,
    source_device: int,
    size: int,
    stream: int,
) -> None:
    runtime.gpu_at(destination_device), runtime.gpu_at(source_device)
    copy_async(runtime, runtime.stream(stream), destination, source, size, MemcpyKind.DEVICE_TO_DEVICE)


def checked_node_copy(runtime: HipRuntime, destination: int, source: int, size: int, direction: int) -> Copy:
    """A copy that a 1-D memcpy node accepts: there the direction has to fit the addresses."""
    require(size)
    copy = checked_copy(runtime, destination, source, size, direction)
    require(direction in _fitting(is_pageable(runtime, source), is_pageable(runtime, destination)))
    return copy


def _fitting(reads_pageable: bool, writes_pageable: bool) -> tuple[int, ...]:
    """The directions a copy may be given; memory that HIP knows takes any."""
    if reads_pageable:
        return (MemcpyKind.HOST_TO_HOST if writes_pageable else MemcpyKind.HOST_TO_DEVICE, MemcpyKind.DEFAULT)
    return (MemcpyKind.DEVICE_TO_HOST, MemcpyKind.DEFAULT) if writes_pageable else tuple(MemcpyKind)


def refuse_wrong_direction(runtime: HipRuntime, box: CopyBox) -> None:
    """A box node may be given any direction; AMD's runtime crashes when one that does not fit is launched."""
    reads_pageable, writes_pageable = is_pageable(runtime, box.source), is_pageable(runtime, box.destination)
    if box.direction not in _fitting(reads_pageable, writes_pageable):
        source, target = (
            "pageable host memory" if pageable else "device memory" for pageable in (reads_pageable, writes_pageable)
        )
        raise CallError(
            Code.INVALID_MEMCPY_DIRECTION,
            f"{box.label} goes from {source} to {target}, and its direction is {DIRECTION_NAMES[box.direction]}",
        )
