"""Copies to, from and between arrays: rows, or bytes of the array as one piece."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import MemcpyKind
from hipgraph_cb.virtual.hip.api.boxes import box_between, check_direction, run_box, run_box_async
from hipgraph_cb.virtual.hip.api.copies import copy_async, copy_now
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, api
from hipgraph_cb.virtual.hip.native import require
from hipgraph_cb.virtual.hip.objects.boxes import Side
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.work import CopyBox

# -- rows: offsets and widths are bytes --------------------------------------------------------------------------------


def _check_kind(direction: int) -> None:
    require(direction in tuple(MemcpyKind), Code.INVALID_MEMCPY_DIRECTION)


def _rows_in(
    runtime: HipRuntime, array: int, x: int, y: int, source: int, pitch: int, width: int, height: int, direction: int
) -> CopyBox | None:
    """Rows of memory into an array; None when there is nothing to copy."""
    target = runtime.arrays[array]
    require(source)
    _check_kind(direction)
    if not (width and height):
        return None
    require(pitch >= width, Code.INVALID_PITCH_VALUE)
    side = target.side((x, y, 0), (width, height, 1))
    check_direction(runtime, side.address, source, direction)
    return box_between(runtime, side, Side(source, pitch, 0), (width, height, 1))


def _rows_out(
    runtime: HipRuntime, target: int, pitch: int, array: int, x: int, y: int, width: int, height: int, direction: int
) -> CopyBox | None:
    """Rows of an array into memory."""
    source = runtime.arrays[array]
    require(target)
    _check_kind(direction)
    if not (width and height):
        return None
    require(pitch >= width, Code.INVALID_PITCH_VALUE)
    side = source.side((x, y, 0), (width, height, 1))
    check_direction(runtime, target, side.address, direction)
    return box_between(runtime, Side(target, pitch, 0), side, (width, height, 1))


@api("hipMemcpy2DToArray", HANDLE, SIZE, SIZE, POINTER, SIZE, SIZE, SIZE, INT)
def memcpy_2d_to_array(runtime: HipRuntime, *arguments: int) -> None:
    run_box(runtime, runtime.gpu.null_stream, _rows_in(runtime, *arguments))


@api("hipMemcpy2DToArray_spt", HANDLE, SIZE, SIZE, POINTER, SIZE, SIZE, SIZE, INT)
def memcpy_2d_to_array_per_thread(runtime: HipRuntime, *arguments: int) -> None:
    run_box(runtime, runtime.stream(2), _rows_in(runtime, *arguments))


@api("hipMemcpy2DToArrayAsync", HANDLE, SIZE, SIZE, POINTER, SIZE, SIZE, SIZE, INT, HANDLE)
def memcpy_2d_to_array_async(runtime: HipRuntime, *arguments: int) -> None:
    *rows, stream = arguments
    run_box_async(runtime, runtime.stream(stream), _rows_in(runtime, *rows))


@api("hipMemcpy2DToArrayAsync_spt", HANDLE, SIZE, SIZE, POINTER, SIZE, SIZE, SIZE, INT, HANDLE)
def memcpy_2d_to_array_async_per_thread(runtime: HipRuntime, *arguments: int) -> None:
    *rows, stream = arguments
    run_box_async(runtime, runtime.stream(stream or 2), _rows_in(runtime, *rows))


@api("hipMemcpy2DFromArray", POINTER, SIZE, HANDLE, SIZE, SIZE, SIZE, SIZE, INT)
def memcpy_2d_from_array(runtime: HipRuntime, *arguments: int) -> None:
    run_box(runtime, runtime.gpu.null_stream, _rows_out(runtime, *arguments))


@api("hipMemcpy2DFromArray_spt", POINTER, SIZE, HANDLE, SIZE, SIZE, SIZE, SIZE, INT)
def memcpy_2d_from_array_per_thread(runtime: HipRuntime, *arguments: int) -> None:
    run_box(runtime, runtime.stream(2), _rows_out(runtime, *arguments))


@api("hipMemcpy2DFromArrayAsync", POINTER, SIZE, HANDLE, SIZE, SIZE, SIZE, SIZE, INT, HANDLE)
def memcpy_2d_from_array_async(runtime: HipRuntime, *arguments: int) -> None:
    *rows, stream = arguments
    run_box_async(runtime, runtime.stream(stream), _rows_out(runtime, *rows))


@api("hipMemcpy2DFromArrayAsync_spt", POINTER, SIZE, HANDLE, SIZE, SIZE, SIZE, SIZE, INT, HANDLE)
def memcpy_2d_from_array_async_per_thread(runtime: HipRuntime, *arguments: int) -> None:
    *rows, stream = arguments
    run_box_async(runtime, runtime.stream(stream or 2), _rows_out(runtime, *rows))


@api("hipMemcpy2DArrayToArray", HANDLE, SIZE, SIZE, HANDLE, SIZE, SIZE, SIZE, SIZE, INT)
def memcpy_2d_between_arrays(
    runtime: HipRuntime, target: int, target_x: int, target_y: int, source: int, source_x: int, source_y: int,
    width: int, height: int, direction: int,
) -> None:  # fmt: skip
    _check_kind(direction)
    extent = (width, height, 1)
    sides = (
        runtime.arrays[target].side((target_x, target_y, 0), extent),
        runtime.arrays[source].side((source_x, source_y, 0), extent),
    )
    if width and height:
        run_box(runtime, runtime.gpu.null_stream, box_between(runtime, *sides, extent))


# -- bytes of the array as one piece, row behind row -------------------------------------------------------------------


@api("hipMemcpyToArray", HANDLE, SIZE, SIZE, POINTER, SIZE, INT)
def memcpy_to_array(runtime: HipRuntime, array: int, x: int, y: int, source: int, size: int, direction: int) -> None:
    target = runtime.arrays[array]
    place = target.place(y * target.pitch + x, size)
    copy_now(runtime, runtime.gpu.null_stream, place, source, size, direction)


@api("hipMemcpyFromArray", POINTER, HANDLE, SIZE, SIZE, SIZE, INT)
def memcpy_from_array(runtime: HipRuntime, target: int, array: int, x: int, y: int, size: int, direction: int) -> None:
    source = runtime.arrays[array]
    place = source.place(y * source.pitch + x, size)
    copy_now(runtime, runtime.gpu.null_stream, target, place, size, direction)


@api("hipMemcpyFromArray_spt", POINTER, HANDLE, SIZE, SIZE, SIZE, INT)
def memcpy_from_array_per_thread(
    runtime: HipRuntime, target: int, array: int, x: int, y: int, size: int, direction: int
) -> None:
    source = runtime.arrays[array]
    copy_now(runtime, runtime.stream(2), target, source.place(y * source.pitch + x, size), size, direction)


@api("hipMemcpyAtoH", POINTER, HANDLE, SIZE, SIZE)
def memcpy_array_to_host(runtime: HipRuntime, target: int, array: int, offset: int, size: int) -> None:
    place = runtime.arrays[array].place(offset, size)
    copy_now(runtime, runtime.gpu.null_stream, target, place, size, MemcpyKind.DEVICE_TO_HOST)


@api("hipMemcpyHtoA", HANDLE, SIZE, POINTER, SIZE)
def memcpy_host_to_array(runtime: HipRuntime, array: int, offset: int, source: int, size: int) -> None:
    place = runtime.arrays[array].place(offset, size)
    copy_now(runtime, runtime.gpu.null_stream, place, source, size, MemcpyKind.HOST_TO_DEVICE)


@api("hipMemcpyAtoHAsync", POINTER, HANDLE, SIZE, SIZE, HANDLE)
def memcpy_array_to_host_async(
    runtime: HipRuntime, target: int, array: int, offset: int, size: int, stream: int
) -> None:
    place = runtime.arrays[array].place(offset, size)
    copy_async(runtime, runtime.stream(stream), target, place, size, MemcpyKind.DEVICE_TO_HOST)


@api("hipMemcpyHtoAAsync", HANDLE, SIZE, POINTER, SIZE, HANDLE)
def memcpy_host_to_array_async(
    runtime: HipRuntime, array: int, offset: int, source: int, size: int, stream: int
) -> None:
    place = runtime.arrays[array].place(offset, size)
    copy_async(runtime, runtime.stream(stream), place, source, size, MemcpyKind.HOST_TO_DEVICE)


@api("hipMemcpyAtoD", POINTER, HANDLE, SIZE, SIZE)
def memcpy_array_to_device(runtime: HipRuntime, target: int, array: int, offset: int, size: int) -> None:
    place = runtime.arrays[array].place(offset, size)
    copy_now(runtime, runtime.gpu.null_stream, target, place, size, MemcpyKind.DEVICE_TO_DEVICE)


@api("hipMemcpyDtoA", HANDLE, SIZE, POINTER, SIZE)
def memcpy_device_to_array(runtime: HipRuntime, array: int, offset: int, source: int, size: int) -> None:
    place = runtime.arrays[array].place(offset, size)
    copy_now(runtime, runtime.gpu.null_stream, place, source, size, MemcpyKind.DEVICE_TO_DEVICE)


@api("hipMemcpyAtoA", HANDLE, SIZE, HANDLE, SIZE, SIZE)
def memcpy_array_to_array(
    runtime: HipRuntime, target: int, target_offset: int, source: int, source_offset: int, size: int
) -> None:
    target_place = runtime.arrays[target].place(target_offset, size)
    source_place = runtime.arrays[source].place(source_offset, size)
    copy_now(runtime, runtime.gpu.null_stream, target_place, source_place, size, MemcpyKind.DEVICE_TO_DEVICE)
