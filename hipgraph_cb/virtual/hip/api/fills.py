"""Memset in all its forms."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UCHAR, UINT, USHORT, api
from hipgraph_cb.virtual.hip.native import require
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import Stream
from hipgraph_cb.virtual.hip.objects.submit import run_now, submit
from hipgraph_cb.virtual.hip.objects.work import Fill, refuse_freed

ELEMENT_SIZES = (1, 2, 4)


def checked_fill(runtime: HipRuntime, destination: int, value: int, element_size: int, count: int) -> Fill:
    """A fill of `count` elements that hipMemset accepts: inside one allocation that HIP knows."""
    require(destination)
    _check_end(runtime, destination, count * element_size)
    return Fill(destination, value, element_size, count)


def _check_end(runtime: HipRuntime, destination: int, size: int) -> None:
    refuse_freed(runtime, destination)
    allocation = runtime.allocations.find(destination)
    if allocation is None:
        raise CallError(Code.INVALID_VALUE, "a memset needs memory that HIP knows")
    if destination + size > allocation.end:
        raise CallError(Code.INVALID_VALUE, runtime.memory.describe(destination, size))


def checked_fill_2d(
    runtime: HipRuntime, destination: int, pitch: int, value: int, element_size: int, width: int, height: int
) -> Fill:
    """A fill of rows by the checks of a memset node: `width` in elements, `pitch` in bytes.

    AMD's runtime does not count the offset of the destination in the check of rows with gaps, so they may leave the
    allocation there; the fill itself then faults.
    """
    require(destination and element_size in ELEMENT_SIZES and width and height)
    refuse_freed(runtime, destination)
    allocation = runtime.allocations.find(destination)
    if allocation is None:
        raise CallError(Code.INVALID_VALUE, "a memset needs memory that HIP knows")
    if height == 1 or pitch == width * element_size:
        _check_end(runtime, destination, height * width * element_size)
    else:
        require(pitch >= width * element_size)
    require(pitch * height <= allocation.end - allocation.address)
    return Fill(destination, value, element_size, width, height, pitch)


def _fill(runtime: HipRuntime, stream: Stream, destination: int, value: int, element_size: int, count: int) -> None:
    if count:
        run_now(runtime, stream, checked_fill(runtime, destination, value, element_size, count))


def _fill_async(
    runtime: HipRuntime, stream: Stream, destination: int, value: int, element_size: int, count: int
) -> None:
    if count:
        submit(runtime, stream, checked_fill(runtime, destination, value, element_size, count))


@api("hipMemset", POINTER, INT, SIZE)
def memset(runtime: HipRuntime, destination: int, value: int, size: int) -> None:
    _fill(runtime, runtime.gpu.null_stream, destination, value, 1, size)


@api("hipMemset_spt", POINTER, INT, SIZE)
def memset_per_thread(runtime: HipRuntime, destination: int, value: int, size: int) -> None:
    _fill(runtime, runtime.stream(2), destination, value, 1, size)


@api("hipMemsetD8", POINTER, UCHAR, SIZE)
def memset_d8(runtime: HipRuntime, destination: int, value: int, count: int) -> None:
    _fill(runtime, runtime.gpu.null_stream, destination, value, 1, count)


@api("hipMemsetD16", POINTER, USHORT, SIZE)
def memset_d16(runtime: HipRuntime, destination: int, value: int, count: int) -> None:
    _fill(runtime, runtime.gpu.null_stream, destination, value, 2, count)


@api("hipMemsetD32", POINTER, INT, SIZE)
def memset_d32(runtime: HipRuntime, destination: int, value: int, count: int) -> None:
    _fill(runtime, runtime.gpu.null_stream, destination, value, 4, count)


@api("hipMemsetAsync", POINTER, INT, SIZE, HANDLE)
@api("hipMemsetAsync_spt", POINTER, INT, SIZE, HANDLE)
def memset_async(runtime: HipRuntime, destination: int, value: int, size: int, stream: int) -> None:
    _fill_async(runtime, runtime.stream(stream), destination, value, 1, size)


@api("hipMemsetD8Async", POINTER, UCHAR, SIZE, HANDLE)
def memset_d8_async(runtime: HipRuntime, destination: int, value: int, count: int, stream: int) -> None:
    _fill_async(runtime, runtime.stream(stream), destination, value, 1, count)


@api("hipMemsetD16Async", POINTER, USHORT, SIZE, HANDLE)
def memset_d16_async(runtime: HipRuntime, destination: int, value: int, count: int, stream: int) -> None:
    _fill_async(runtime, runtime.stream(stream), destination, value, 2, count)


@api("hipMemsetD32Async", POINTER, INT, SIZE, HANDLE)
def memset_d32_async(runtime: HipRuntime, destination: int, value: int, count: int, stream: int) -> None:
    _fill_async(runtime, runtime.stream(stream), destination, value, 4, count)


# -- rows --------------------------------------------------------------------------------------------------------------


def fill_rows(
    runtime: HipRuntime, stream: Stream, destination: int, pitch: int, value: int, size: int, width: int, height: int
) -> None:
    """Fill rows of `width` elements of `size` bytes in order with a stream, and wait."""
    if width and height:
        require(pitch >= width * size)
        run_now(runtime, stream, checked_fill_2d(runtime, destination, pitch, value, size, width, height))


def fill_rows_async(
    runtime: HipRuntime, stream: Stream, destination: int, pitch: int, value: int, size: int, width: int, height: int
) -> None:
    if width and height:
        require(pitch >= width * size)
        submit(runtime, stream, checked_fill_2d(runtime, destination, pitch, value, size, width, height))


@api("hipMemset2D", POINTER, SIZE, INT, SIZE, SIZE)
def memset_2d(runtime: HipRuntime, destination: int, pitch: int, value: int, width: int, height: int) -> None:
    fill_rows(runtime, runtime.gpu.null_stream, destination, pitch, value, 1, width, height)


@api("hipMemset2D_spt", POINTER, SIZE, INT, SIZE, SIZE)
def memset_2d_per_thread(
    runtime: HipRuntime, destination: int, pitch: int, value: int, width: int, height: int
) -> None:
    fill_rows(runtime, runtime.stream(2), destination, pitch, value, 1, width, height)


@api("hipMemset2DAsync", POINTER, SIZE, INT, SIZE, SIZE, HANDLE)
def memset_2d_async(
    runtime: HipRuntime, destination: int, pitch: int, value: int, width: int, height: int, stream: int
) -> None:
    fill_rows_async(runtime, runtime.stream(stream), destination, pitch, value, 1, width, height)


@api("hipMemset2DAsync_spt", POINTER, SIZE, INT, SIZE, SIZE, HANDLE)
def memset_2d_async_per_thread(
    runtime: HipRuntime, destination: int, pitch: int, value: int, width: int, height: int, stream: int
) -> None:
    fill_rows_async(runtime, runtime.stream(stream or 2), destination, pitch, value, 1, width, height)


@api("hipMemsetD2D8", POINTER, SIZE, UCHAR, SIZE, SIZE)
def memset_d2d8(runtime: HipRuntime, destination: int, pitch: int, value: int, width: int, height: int) -> None:
    fill_rows(runtime, runtime.gpu.null_stream, destination, pitch, value, 1, width, height)


@api("hipMemsetD2D16", POINTER, SIZE, USHORT, SIZE, SIZE)
def memset_d2d16(runtime: HipRuntime, destination: int, pitch: int, value: int, width: int, height: int) -> None:
    fill_rows(runtime, runtime.gpu.null_stream, destination, pitch, value, 2, width, height)


@api("hipMemsetD2D32", POINTER, SIZE, UINT, SIZE, SIZE)
def memset_d2d32(runtime: HipRuntime, destination: int, pitch: int, value: int, width: int, height: int) -> None:
    fill_rows(runtime, runtime.gpu.null_stream, destination, pitch, value, 4, width, height)


@api("hipMemsetD2D8Async", POINTER, SIZE, UCHAR, SIZE, SIZE, HANDLE)
def memset_d2d8_async(
    runtime: HipRuntime, destination: int, pitch: int, value: int, width: int, height: int, stream: int
) -> None:
    fill_rows_async(runtime, runtime.stream(stream), destination, pitch, value, 1, width, height)


@api("hipMemsetD2D16Async", POINTER, SIZE, USHORT, SIZE, SIZE, HANDLE)
def memset_d2d16_async(
    runtime: HipRuntime, destination: int, pitch: int, value: int, width: int, height: int, stream: int
) -> None:
    fill_rows_async(runtime, runtime.stream(stream), destination, pitch, value, 2, width, height)


@api("hipMemsetD2D32Async", POINTER, SIZE, UINT, SIZE, SIZE, HANDLE)
def memset_d2d32_async(
    runtime: HipRuntime, destination: int, pitch: int, value: int, width: int, height: int, stream: int
) -> None:
    fill_rows_async(runtime, runtime.stream(stream), destination, pitch, value, 4, width, height)
