"""Boxes of bytes: rows of rows on two sides, checked, and copied on a stream."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import MemcpyKind
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.copies import is_pageable
from hipgraph_cb.virtual.hip.native import require
from hipgraph_cb.virtual.hip.objects.boxes import Side
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import Stream, wait_for_streams
from hipgraph_cb.virtual.hip.objects.submit import run_now, submit
from hipgraph_cb.virtual.hip.objects.work import CopyBox, refuse_freed


def check_reach(runtime: HipRuntime, side: Side, width: int, height: int, depth: int) -> None:
    """All rows have to be in the allocation that they begin in."""
    refuse_freed(runtime, side.address)
    allocation = runtime.allocations.find(side.address)
    if allocation is None or not (width and height and depth):
        return
    end = side.address + (depth - 1) * side.slice + (height - 1) * side.pitch + width
    if end > allocation.end:
        raise CallError(Code.INVALID_VALUE, runtime.memory.describe(side.address, end - side.address))


def box_between(
    runtime: HipRuntime, target: Side, source: Side, extent: tuple[int, int, int], parameters: bytes = b""
) -> CopyBox:
    for side in (target, source):
        check_reach(runtime, side, *extent)
    return CopyBox(
        target.address, target.pitch, target.slice, source.address, source.pitch, source.slice, *extent, parameters
    )


def check_direction(runtime: HipRuntime, target: int, source: int, direction: int) -> None:
    """Pageable host memory is no device memory; a wrong kind otherwise is accepted."""
    from_device = direction in (MemcpyKind.DEVICE_TO_HOST, MemcpyKind.DEVICE_TO_DEVICE)
    to_device = direction in (MemcpyKind.HOST_TO_DEVICE, MemcpyKind.DEVICE_TO_DEVICE)
    require(not (from_device and is_pageable(runtime, source)), note=f"{source:#x} is pageable host memory")
    require(not (to_device and is_pageable(runtime, target)), note=f"{target:#x} is pageable host memory")


def run_box(runtime: HipRuntime, stream: Stream, box: CopyBox | None) -> None:
    if box is not None:
        run_now(runtime, stream, box)


def run_box_async(runtime: HipRuntime, stream: Stream, box: CopyBox | None) -> None:
    """Pageable memory on either side makes the call wait: there is no staging of rows."""
    if box is None or submit(runtime, stream, box) is None:
        return
    if is_pageable(runtime, box.source) or is_pageable(runtime, box.destination):
        wait_for_streams(runtime.gate, [stream])
