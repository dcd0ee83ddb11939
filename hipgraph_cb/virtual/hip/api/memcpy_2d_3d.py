"""Copies of rows: 2-D and 3-D, by the plain functions and by the structures of the runtime and driver interfaces."""

from __future__ import annotations

from ctypes import addressof
from dataclasses import replace

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import MemcpyKind, MemoryType
from hipgraph_cb.abi.hip.structures import (
    SIZE_OF_3D,
    SIZE_OF_DRIVER_3D,
    DriverMemcpy2D,
    DriverMemcpy3D,
    Extent,
    Memcpy3DParams,
    Memcpy3DPeerParams,
    PitchedPointer,
    Position,
)
from hipgraph_cb.virtual.hip.api.boxes import box_between, check_direction, check_reach, run_box, run_box_async
from hipgraph_cb.virtual.hip.api.copies import is_pageable
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, api
from hipgraph_cb.virtual.hip.native import load_bytes, require
from hipgraph_cb.virtual.hip.objects.boxes import Side
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.submit import run_now, submit
from hipgraph_cb.virtual.hip.objects.work import CopyBox, Fill

# -- 2-D ---------------------------------------------------------------------------------------------------------------


def _plane(
    runtime: HipRuntime, target: int, target_pitch: int, source: int, source_pitch: int, width: int, height: int,
    direction: int,
) -> CopyBox | None:  # fmt: skip
    """The rows of hipMemcpy2D; None when there is nothing to copy."""
    require(target and source)
    require(direction in tuple(MemcpyKind), Code.INVALID_MEMCPY_DIRECTION)
    if not (width and height):
        return None
    require(target_pitch >= width and source_pitch >= width, Code.INVALID_PITCH_VALUE)
    check_direction(runtime, target, source, direction)
    return box_between(runtime, Side(target, target_pitch, 0), Side(source, source_pitch, 0), (width, height, 1))


@api("hipMemcpy2D", POINTER, SIZE, POINTER, SIZE, SIZE, SIZE, INT)
def memcpy_2d(
    runtime: HipRuntime, target: int, target_pitch: int, source: int, source_pitch: int, width: int, height: int,
    direction: int,
) -> None:  # fmt: skip
    plane = _plane(runtime, target, target_pitch, source, source_pitch, width, height, direction)
    run_box(runtime, runtime.gpu.null_stream, plane)


@api("hipMemcpy2DAsync", POINTER, SIZE, POINTER, SIZE, SIZE, SIZE, INT, HANDLE)
def memcpy_2d_async(
    runtime: HipRuntime, target: int, target_pitch: int, source: int, source_pitch: int, width: int, height: int,
    direction: int, stream: int,
) -> None:  # fmt: skip
    plane = _plane(runtime, target, target_pitch, source, source_pitch, width, height, direction)
    run_box_async(runtime, runtime.stream(stream), plane)


@api("hipMemcpy2D_spt", POINTER, SIZE, POINTER, SIZE, SIZE, SIZE, INT)
def memcpy_2d_per_thread(
    runtime: HipRuntime, target: int, target_pitch: int, source: int, source_pitch: int, width: int, height: int,
    direction: int,
) -> None:  # fmt: skip
    plane = _plane(runtime, target, target_pitch, source, source_pitch, width, height, direction)
    run_box(runtime, runtime.stream(2), plane)


@api("hipMemcpy2DAsync_spt", POINTER, SIZE, POINTER, SIZE, SIZE, SIZE, INT, HANDLE)
def memcpy_2d_async_per_thread(
    runtime: HipRuntime, target: int, target_pitch: int, source: int, source_pitch: int, width: int, height: int,
    direction: int, stream: int,
) -> None:  # fmt: skip
    memcpy_2d_async(runtime, target, target_pitch, source, source_pitch, width, height, direction, stream or 2)


def _driver_2d(runtime: HipRuntime, address: int) -> CopyBox | None:
    require(address)
    given = DriverMemcpy2D.from_address(address)
    extent = given.WidthInBytes, given.Height, 1
    sides = [_driver_side(runtime, given, prefix, extent) for prefix in ("dst", "src")]
    return box_between(runtime, sides[0], sides[1], extent) if extent[0] and extent[1] else None


@api("hipMemcpyParam2D", POINTER)
@api("hipDrvMemcpy2DUnaligned", POINTER)
def memcpy_param_2d(runtime: HipRuntime, parameters: int) -> None:
    run_box(runtime, runtime.gpu.null_stream, _driver_2d(runtime, parameters))


@api("hipMemcpyParam2DAsync", POINTER, HANDLE)
def memcpy_param_2d_async(runtime: HipRuntime, parameters: int, stream: int) -> None:
    run_box_async(runtime, runtime.stream(stream), _driver_2d(runtime, parameters))


# -- fills of rows and boxes -------------------------------------------------------------------------------------------


def _fill_box(runtime: HipRuntime, pointer: PitchedPointer, value: int, extent: Extent) -> list[Fill]:
    """One fill of rows per plane."""
    width, height, depth = extent.width, extent.height, extent.depth
    if not (width and height and depth):
        return []
    require(pointer.ptr and pointer.pitch >= width)
    plane = pointer.pitch * (pointer.ysize or height)
    check_reach(runtime, Side(pointer.ptr, pointer.pitch, plane), width, height, depth)
    require(not is_pageable(runtime, pointer.ptr))
    return [Fill(pointer.ptr + z * plane, value, 1, width, height, pointer.pitch) for z in range(depth)]


@api("hipMemset3D", PitchedPointer, INT, Extent)
def memset_3d(runtime: HipRuntime, pointer: PitchedPointer, value: int, extent: Extent) -> None:
    for fill in _fill_box(runtime, pointer, value, extent):
        run_now(runtime, runtime.gpu.null_stream, fill)


@api("hipMemset3D_spt", PitchedPointer, INT, Extent)
def memset_3d_per_thread(runtime: HipRuntime, pointer: PitchedPointer, value: int, extent: Extent) -> None:
    for fill in _fill_box(runtime, pointer, value, extent):
        run_now(runtime, runtime.stream(2), fill)


@api("hipMemset3DAsync_spt", PitchedPointer, INT, Extent, HANDLE)
def memset_3d_async_per_thread(
    runtime: HipRuntime, pointer: PitchedPointer, value: int, extent: Extent, stream: int
) -> None:
    memset_3d_async(runtime, pointer, value, extent, stream or 2)


@api("hipMemset3DAsync", PitchedPointer, INT, Extent, HANDLE)
def memset_3d_async(runtime: HipRuntime, pointer: PitchedPointer, value: int, extent: Extent, stream: int) -> None:
    target = runtime.stream(stream)
    for fill in _fill_box(runtime, pointer, value, extent):
        submit(runtime, target, fill)


# -- 3-D ---------------------------------------------------------------------------------------------------------------


def box_of_3d(runtime: HipRuntime, address: int) -> CopyBox:
    """What a hipMemcpy3DParms asks for; an extent with a zero is a copy of nothing.

    Where an array takes part, the extent counts its elements.
    """
    require(address)
    given = Memcpy3DParams.from_address(address)
    arrays = [runtime.arrays[handle] if handle else None for handle in (given.dstArray, given.srcArray)]
    pointers = (given.dstPtr, given.srcPtr)
    require(all(bool(array) != bool(pointer.ptr) for array, pointer in zip(arrays, pointers, strict=True)))
    require(given.kind in tuple(MemcpyKind), Code.INVALID_MEMCPY_DIRECTION)
    sizes = {array.element_size for array in arrays if array is not None} or {1}
    require(len(sizes) == 1, note="the elements of the two arrays have different sizes")
    extent = given.extent.width * sizes.pop(), given.extent.height, given.extent.depth
    sides = []
    for array, pointer, position in zip(arrays, pointers, (given.dstPos, given.srcPos), strict=True):
        if array is None:
            sides.append(_side_of_pointer(runtime, pointer, position, extent))
        else:
            sides.append(array.side((position.x * array.element_size, position.y, position.z), extent))
    box = box_between(runtime, sides[0], sides[1], extent, load_bytes(address, SIZE_OF_3D))
    return replace(box, direction=given.kind)


def _side_of_pointer(
    runtime: HipRuntime, pointer: PitchedPointer, position: Position, extent: tuple[int, int, int]
) -> Side:
    pitch = pointer.pitch
    require(pitch >= pointer.xsize, Code.INVALID_PITCH_VALUE)
    if not pitch:
        require(runtime.profile.copy_accepts_no_pitch)
        pitch = extent[0]
    require(position.x + extent[0] <= pitch)
    require(extent[1] <= pointer.ysize)
    plane = pitch * pointer.ysize
    return Side(pointer.ptr + position.z * plane + position.y * pitch + position.x, pitch, plane)


def _copy_of_3d(runtime: HipRuntime, address: int) -> CopyBox:
    """A box that is copied at once; a node may have any direction until it is launched."""
    box = box_of_3d(runtime, address)
    check_direction(runtime, box.destination, box.source, box.direction)
    return box


@api("hipMemcpy3D", POINTER)
def memcpy_3d(runtime: HipRuntime, parameters: int) -> None:
    run_box(runtime, runtime.gpu.null_stream, _copy_of_3d(runtime, parameters))


@api("hipMemcpy3D_spt", POINTER)
def memcpy_3d_per_thread(runtime: HipRuntime, parameters: int) -> None:
    run_box(runtime, runtime.stream(2), _copy_of_3d(runtime, parameters))


@api("hipMemcpy3DAsync_spt", POINTER, HANDLE)
def memcpy_3d_async_per_thread(runtime: HipRuntime, parameters: int, stream: int) -> None:
    memcpy_3d_async(runtime, parameters, stream or 2)


def _between_devices(runtime: HipRuntime, address: int) -> CopyBox:
    """What a hipMemcpy3DPeerParms asks for: a box between two devices."""
    require(address)
    given = Memcpy3DPeerParams.from_address(address)
    runtime.gpu_at(given.srcDevice), runtime.gpu_at(given.dstDevice)
    plain = Memcpy3DParams(kind=MemcpyKind.DEFAULT)
    for name in ("srcArray", "srcPos", "srcPtr", "dstArray", "dstPos", "dstPtr", "extent"):
        setattr(plain, name, getattr(given, name))
    return box_of_3d(runtime, addressof(plain))


@api("hipMemcpy3DPeer", POINTER)
def memcpy_3d_peer(runtime: HipRuntime, parameters: int) -> None:
    run_box(runtime, runtime.gpu.null_stream, _between_devices(runtime, parameters))


@api("hipMemcpy3DPeerAsync", POINTER, HANDLE)
def memcpy_3d_peer_async(runtime: HipRuntime, parameters: int, stream: int) -> None:
    run_box_async(runtime, runtime.stream(stream), _between_devices(runtime, parameters))


@api("hipMemcpy3DAsync", POINTER, HANDLE)
def memcpy_3d_async(runtime: HipRuntime, parameters: int, stream: int) -> None:
    run_box_async(runtime, runtime.stream(stream), _copy_of_3d(runtime, parameters))


def box_of_driver_3d(runtime: HipRuntime, address: int) -> CopyBox:
    """What a HIP_MEMCPY3D asks for; a pitch of 0 means rows without a gap."""
    require(address)
    given = DriverMemcpy3D.from_address(address)
    extent = given.WidthInBytes, given.Height, given.Depth
    require(extent[0] or runtime.profile.driver_copy_accepts_no_width)
    sides = [_driver_side(runtime, given, prefix, extent) for prefix in ("dst", "src")]
    return box_between(runtime, sides[0], sides[1], extent, load_bytes(address, SIZE_OF_DRIVER_3D))


def _driver_side(
    runtime: HipRuntime, given: DriverMemcpy2D | DriverMemcpy3D, prefix: str, extent: tuple[int, int, int]
) -> Side:
    """One side of a HIP_MEMCPY3D or of a hip_Memcpy2D, which has no slices; a pitch of 0 is rows without a gap."""
    x, y, z = (getattr(given, f"{prefix}{name}", 0) for name in ("XInBytes", "Y", "Z"))
    if getattr(given, f"{prefix}MemoryType") == MemoryType.ARRAY:
        handle = getattr(given, f"{prefix}Array")
        require(handle)
        return runtime.arrays[handle].side((x, y, z), extent)
    base = _driver_base(runtime, given, prefix)
    pitch = getattr(given, f"{prefix}Pitch") or extent[0]
    plane = pitch * (getattr(given, f"{prefix}Height", 0) or extent[1])
    require(pitch >= extent[0])
    return Side(base + z * plane + y * pitch + x, pitch, plane)


def _driver_base(runtime: HipRuntime, given: DriverMemcpy2D | DriverMemcpy3D, prefix: str) -> int:
    kind = getattr(given, f"{prefix}MemoryType")
    if kind == MemoryType.UNIFIED:
        require(runtime.profile.driver_copy_accepts_unified)
    require(kind in (MemoryType.HOST, MemoryType.DEVICE, MemoryType.UNIFIED))
    address = int(getattr(given, prefix + ("Host" if kind == MemoryType.HOST else "Device")))
    require(address)
    return address


@api("hipDrvMemcpy3D", POINTER)
def driver_memcpy_3d(runtime: HipRuntime, parameters: int) -> None:
    run_box(runtime, runtime.gpu.null_stream, box_of_driver_3d(runtime, parameters))


@api("hipDrvMemcpy3DAsync", POINTER, HANDLE)
def driver_memcpy_3d_async(runtime: HipRuntime, parameters: int, stream: int) -> None:
    run_box_async(runtime, runtime.stream(stream), box_of_driver_3d(runtime, parameters))
