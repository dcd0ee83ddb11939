"""Writing values to memory, and waiting for values in memory, in the order of a stream."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from typing import ClassVar

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import NodeKind, WaitValue
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.copies import check_range
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, UINT, UINT64, api
from hipgraph_cb.virtual.hip.native import require
from hipgraph_cb.virtual.hip.objects.allocations import Allocations
from hipgraph_cb.virtual.hip.objects.gpu import Gpu
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import Stream
from hipgraph_cb.virtual.hip.objects.submit import forbid_in_capture, submit
from hipgraph_cb.virtual.hip.objects.work import refuse_freed
from hipgraph_cb.virtual.worker import Operation

_PAUSE = 0.0005


@dataclass(frozen=True)
class WriteValue:
    """One write of 4 or 8 bytes."""

    address: int
    value: int
    size: int
    kind: ClassVar[NodeKind] = NodeKind.EMPTY
    label: ClassVar[str] = "stream write"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        _number(runtime.allocations, self.address, self.size).value = self.value


def _number(allocations: Allocations, address: int, size: int) -> ctypes.c_uint32 | ctypes.c_uint64:
    place = allocations.host_address(address)
    return ctypes.c_uint32.from_address(place) if size == 4 else ctypes.c_uint64.from_address(place)


def _holds(value: int, wanted: int, condition: int, mask: int, size: int) -> bool:
    value &= mask
    if condition == WaitValue.EQ:
        return value == wanted
    if condition == WaitValue.AND:
        return bool(value & wanted)
    if condition == WaitValue.NOR:
        return bool(~(value | wanted) & ((1 << 8 * size) - 1))
    return value >= wanted


def check_value(runtime: HipRuntime, address: int, size: int) -> None:
    require(address and address % size == 0)
    refuse_freed(runtime, address)
    check_range(runtime, address, size)


def wait_for_value(
    runtime: HipRuntime, stream: Stream, address: int, wanted: int, condition: int, mask: int, size: int
) -> None:
    """The stream goes on when the value is as it is wanted; other streams run meanwhile."""
    forbid_in_capture(stream)
    check_value(runtime, address, size)
    require(condition in range(4))
    number = _number(runtime.allocations, address, size)

    def step(operation: Operation) -> bool:
        if operation.stop_reason is not None:
            raise CallError(Code.LAUNCH_FAILURE, operation.stop_reason)
        refuse_freed(runtime, address)
        if _holds(number.value, wanted, condition, mask, size):
            return True
        if stream.gpu.worker.is_alone:
            time.sleep(_PAUSE)
        return False

    stream.enqueue(step, "stream wait for a value")


def _write(runtime: HipRuntime, stream: Stream, address: int, value: int, size: int) -> None:
    forbid_in_capture(stream)
    check_value(runtime, address, size)
    submit(runtime, stream, WriteValue(address, value, size))


@api("hipStreamWaitValue32", HANDLE, POINTER, UINT, UINT, UINT)
def stream_wait_value_32(runtime: HipRuntime, stream: int, address: int, value: int, condition: int, mask: int) -> None:
    wait_for_value(runtime, runtime.stream(stream), address, value, condition, mask, 4)


@api("hipStreamWaitValue64", HANDLE, POINTER, UINT64, UINT, UINT64)
def stream_wait_value_64(runtime: HipRuntime, stream: int, address: int, value: int, condition: int, mask: int) -> None:
    wait_for_value(runtime, runtime.stream(stream), address, value, condition, mask, 8)


@api("hipStreamWriteValue32", HANDLE, POINTER, UINT, UINT)
def stream_write_value_32(runtime: HipRuntime, stream: int, address: int, value: int, flags: int) -> None:
    _write(runtime, runtime.stream(stream), address, value, 4)


@api("hipStreamWriteValue64", HANDLE, POINTER, UINT64, UINT)
def stream_write_value_64(runtime: HipRuntime, stream: int, address: int, value: int, flags: int) -> None:
    _write(runtime, runtime.stream(stream), address, value, 8)
