"""Allocating and freeing, and asking what an address is."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import MemoryType
from hipgraph_cb.abi.hip.structures import Extent, PitchedPointer
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.allocations import DeviceAllocation
from hipgraph_cb.virtual.hip.objects.capture import forbid_unsafe_call
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import wait_for_workers
from hipgraph_cb.virtual.settings import PEER_ACCESS_NONE

_PITCH_ALIGNMENT = 256
_EXT_FLAGS = (0, 1, 3, 4)  # default, fine-grained, uncached, contiguous
_COHERENT_OR_NOT = 0x40000000 | 0x80000000


def _allocate(runtime: HipRuntime, out: int, size: int, kind: MemoryType, flags: int = 0) -> None:
    require(out)
    forbid_unsafe_call(runtime)
    address = runtime.allocations.allocate(size, kind, runtime.gpu.ordinal, flags) if size else 0
    store_pointer(out, address)


def allocate_into(runtime: HipRuntime, out: int, size: int, ordinal: int, pool: int) -> None:
    """Write the address of fresh memory of a pool; of no bytes, NULL."""
    require(out)
    store_pointer(out, runtime.allocations.allocate(size, MemoryType.DEVICE, ordinal, pool=pool) if size else 0)


def _release(runtime: HipRuntime, address: int, allowed: tuple[MemoryType, ...]) -> None:
    """Wait for all work of the device, as AMD's runtime does, and free; an interior address frees the whole range."""
    if not address:
        return
    allocation = _known(runtime, address)
    if allocation is None or allocation.kind not in allowed:
        raise CallError(Code.INVALID_VALUE, f"not an allocation: {runtime.memory.describe(address)}")
    forbid_unsafe_call(runtime)
    wait_for_workers(runtime.gate, [runtime.gpus[allocation.ordinal].worker])
    require(runtime.allocations.is_registered(allocation), note="a stream had freed it by the time it got there")
    if allocation.address in runtime.graph_memory:
        runtime.allocations.put_to_sleep(allocation)
    else:
        runtime.allocations.free(allocation)


def _known(runtime: HipRuntime, address: int) -> DeviceAllocation | None:
    allocation = runtime.allocations.find(address)
    return allocation if allocation is not None and runtime.allocations.is_registered(allocation) else None


@api("hipMalloc", POINTER, SIZE)
def malloc(runtime: HipRuntime, out: int, size: int) -> None:
    _allocate(runtime, out, size, MemoryType.DEVICE)


@api("hipExtMallocWithFlags", POINTER, SIZE, UINT)
def malloc_with_flags(runtime: HipRuntime, out: int, size: int, flags: int) -> None:
    require(flags in _EXT_FLAGS)
    _allocate(runtime, out, size, MemoryType.DEVICE, flags)


@api("hipMallocManaged", POINTER, SIZE, UINT)
def malloc_managed(runtime: HipRuntime, out: int, size: int, flags: int) -> None:
    require(flags in (1, 2) and size)
    _allocate(runtime, out, size, MemoryType.MANAGED, flags)


@api("hipFree", POINTER, releases=True)
def free(runtime: HipRuntime, address: int) -> None:
    _release(runtime, address, (MemoryType.DEVICE, MemoryType.MANAGED, MemoryType.HOST))


@api("hipHostMalloc", POINTER, SIZE, UINT)
@api("hipHostAlloc", POINTER, SIZE, UINT)
def host_malloc(runtime: HipRuntime, out: int, size: int, flags: int) -> None:
    require(flags & _COHERENT_OR_NOT != _COHERENT_OR_NOT)
    _allocate(runtime, out, size, MemoryType.HOST, flags)


@api("hipMallocHost", POINTER, SIZE)
@api("hipMemAllocHost", POINTER, SIZE)
def malloc_host(runtime: HipRuntime, out: int, size: int) -> None:
    _allocate(runtime, out, size, MemoryType.HOST)


@api("hipHostFree", POINTER, releases=True)
@api("hipFreeHost", POINTER, releases=True)
def host_free(runtime: HipRuntime, address: int) -> None:
    """It frees device memory too, as by AMD's runtime."""
    _release(runtime, address, (MemoryType.HOST, MemoryType.DEVICE))


def pitch_of(width: int) -> int:
    """The distance of rows that are `width` bytes wide."""
    return -(-width // _PITCH_ALIGNMENT) * _PITCH_ALIGNMENT


@api("hipMemAllocPitch", POINTER, POINTER, SIZE, SIZE, UINT)
def mem_alloc_pitch(runtime: HipRuntime, out: int, pitch_out: int, width: int, height: int, element_size: int) -> None:
    require(width and height and element_size in (4, 8, 16))
    malloc_pitch(runtime, out, pitch_out, width, height)


@api("hipMalloc3D", POINTER, Extent)
def malloc_3d(runtime: HipRuntime, out: int, extent: Extent) -> None:
    require(out)
    target = PitchedPointer.from_address(out)
    size, pitch = pitch_of(extent.width) * extent.height * extent.depth, pitch_of(extent.width)
    _allocate(runtime, out + PitchedPointer.ptr.offset, size, MemoryType.DEVICE)
    target.pitch = pitch if size else 0
    target.xsize, target.ysize = extent.width, extent.height


@api("hipMallocPitch", POINTER, POINTER, SIZE, SIZE)
def malloc_pitch(runtime: HipRuntime, out: int, pitch_out: int, width: int, height: int) -> None:
    """The pitch is written even where there is no room, and not where nothing is asked for."""
    require(out and pitch_out)
    pitch = pitch_of(width)
    require(pitch < 1 << 64)
    if width and height:
        store_pointer(pitch_out, pitch)
    _allocate(runtime, out, pitch * height, MemoryType.DEVICE)


@api("hipMemGetInfo", POINTER, POINTER)
def mem_get_info(runtime: HipRuntime, free_out: int, total_out: int) -> None:
    total = runtime.settings.memory
    if free_out:
        store_pointer(free_out, total - runtime.allocations.in_use(runtime.gpu.ordinal))
    if total_out:
        store_pointer(total_out, total)


@api("hipMemGetAddressRange", POINTER, POINTER, POINTER)
def mem_get_address_range(runtime: HipRuntime, base_out: int, size_out: int, address: int) -> None:
    allocation = runtime.allocations.find(address)
    if allocation is None:
        raise CallError(Code.NOT_FOUND)
    if base_out:
        store_pointer(base_out, allocation.address)
    if size_out:
        store_pointer(size_out, allocation.size)


@api("hipMemPtrGetInfo", POINTER, POINTER)
def mem_ptr_get_info(runtime: HipRuntime, address: int, size_out: int) -> None:
    allocation = runtime.allocations.find(address)
    require(allocation is not None and size_out)
    store_pointer(size_out, allocation.size if allocation else 0)


@api("hipDeviceCanAccessPeer", POINTER, INT, INT)
def device_can_access_peer(runtime: HipRuntime, out: int, ordinal: int, peer: int) -> None:
    require(out)
    runtime.gpu_at(ordinal), runtime.gpu_at(peer)
    store_int(out, int(ordinal != peer and runtime.settings.peer_access != PEER_ACCESS_NONE))


@api("hipDeviceEnablePeerAccess", INT, UINT)
def device_enable_peer_access(runtime: HipRuntime, peer: int, flags: int) -> None:
    require(flags == 0)
    require(runtime.gpu_at(peer) is not runtime.gpu, Code.INVALID_DEVICE)
    require(runtime.settings.peer_access != PEER_ACCESS_NONE, Code.PEER_ACCESS_UNSUPPORTED)
    require(peer not in runtime.gpu.peers, Code.PEER_ACCESS_ALREADY_ENABLED)
    runtime.gpu.peers.add(peer)


@api("hipDeviceDisablePeerAccess", INT)
def device_disable_peer_access(runtime: HipRuntime, peer: int) -> None:
    require(runtime.gpu_at(peer) is not runtime.gpu, Code.INVALID_DEVICE)
    require(peer in runtime.gpu.peers, Code.PEER_ACCESS_NOT_ENABLED)
    runtime.gpu.peers.discard(peer)
