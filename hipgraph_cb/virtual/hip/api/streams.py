"""Streams: creating, destroying, waiting."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import STREAM_NON_BLOCKING
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.capture import forbid_unsafe_call
from hipgraph_cb.virtual.hip.objects.event import Event
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import Stream, note_wait, tell_failure, wait_for_streams
from hipgraph_cb.virtual.hip.objects.submit import forbid_in_capture

_GREATEST_PRIORITY, _LEAST_PRIORITY = -1, 1
_MOMENT = 0.0002  # seconds


def _create(runtime: HipRuntime, out: int, flags: int, priority: int) -> None:
    require(out and flags in (0, STREAM_NON_BLOCKING))
    stream = Stream(runtime.gpu, flags=flags, priority=max(_GREATEST_PRIORITY, min(priority, _LEAST_PRIORITY)))
    stream.handle = runtime.streams.add(stream)
    runtime.gpu.streams.add(stream)
    store_pointer(out, stream.handle)


@api("hipStreamCreate", POINTER)
def stream_create(runtime: HipRuntime, out: int) -> None:
    _create(runtime, out, 0, 0)


@api("hipStreamCreateWithFlags", POINTER, UINT)
def stream_create_with_flags(runtime: HipRuntime, out: int, flags: int) -> None:
    _create(runtime, out, flags, 0)


@api("hipStreamCreateWithPriority", POINTER, UINT, INT)
def stream_create_with_priority(runtime: HipRuntime, out: int, flags: int, priority: int) -> None:
    _create(runtime, out, flags, priority)


@api("hipStreamDestroy", HANDLE, releases=True)
def stream_destroy(runtime: HipRuntime, handle: int) -> None:
    require(handle, Code.INVALID_HANDLE)
    stream = runtime.streams.pop(handle)
    if stream.capture is not None and stream.capture.origin is stream:
        stream.capture.abandon(runtime)
    runtime.gate.wait(lambda: all(operation.is_done for operation in stream.pending()))
    note_wait(stream.gpu.worker, stream.pending())
    stream.gpu.streams.discard(stream)


@api("hipStreamSynchronize", HANDLE)
@api("hipStreamSynchronize_spt", HANDLE)
def stream_synchronize(runtime: HipRuntime, handle: int) -> None:
    stream = runtime.stream(handle)
    forbid_in_capture(stream)
    forbid_unsafe_call(runtime)
    wait_for_streams(runtime.gate, stream.group())


@api("hipStreamQuery", HANDLE)
@api("hipStreamQuery_spt", HANDLE)
def stream_query(runtime: HipRuntime, handle: int) -> int:
    """Waits a moment for the answer, so that a program that polls does not take that time from the worker."""
    stream = runtime.stream(handle)
    forbid_in_capture(stream)

    def is_done() -> bool:
        return all(operation.is_done for operation in stream.pending())

    may_wait = not runtime.gate.shared.is_worker()
    if not is_done() and not (may_wait and runtime.gate.wait(is_done, _MOMENT)):
        return Code.NOT_READY
    note_wait(stream.gpu.worker, stream.pending())
    tell_failure(runtime.gate, stream.group())
    return Code.SUCCESS


@api("hipStreamWaitEvent", HANDLE, HANDLE, UINT)
@api("hipStreamWaitEvent_spt", HANDLE, HANDLE, UINT)
def stream_wait_event(runtime: HipRuntime, handle: int, event_handle: int, flags: int) -> None:
    stream = runtime.stream(handle)
    require(event_handle, Code.INVALID_HANDLE)
    require(flags == 0)
    event: Event = runtime.events[event_handle]
    if event.capture is not None:
        require(stream.capture in (None, event.capture), Code.STREAM_CAPTURE_MERGE)
        event.capture.wait_event(stream, event)
    elif stream.capture is not None:
        require(not event.was_recorded, Code.STREAM_CAPTURE_ISOLATION)
    elif event.operation is not None:
        stream.waits.append(event.operation)


@api("hipStreamGetFlags", HANDLE, POINTER)
@api("hipStreamGetFlags_spt", HANDLE, POINTER)
def stream_get_flags(runtime: HipRuntime, handle: int, out: int) -> None:
    store_int(out, runtime.stream(handle).flags)


@api("hipStreamGetPriority", HANDLE, POINTER)
@api("hipStreamGetPriority_spt", HANDLE, POINTER)
def stream_get_priority(runtime: HipRuntime, handle: int, out: int) -> None:
    store_int(out, runtime.stream(handle).priority)


@api("hipStreamGetDevice", HANDLE, POINTER)
def stream_get_device(runtime: HipRuntime, handle: int, out: int) -> None:
    store_int(out, runtime.stream(handle).gpu.ordinal)


@api("hipGetStreamDeviceId", HANDLE, on_error=-1, remembers=False)
def get_stream_device_id(runtime: HipRuntime, handle: int) -> int:
    return runtime.stream(handle).gpu.ordinal


@api("hipDeviceSynchronize")
@api("hipCtxSynchronize")
def device_synchronize(runtime: HipRuntime) -> None:
    if any(stream.capture is not None for stream in runtime.gpu.streams):
        for stream in runtime.gpu.streams:
            if stream.capture is not None:
                stream.capture.is_invalid = True
        raise CallError(Code.STREAM_CAPTURE_UNSUPPORTED)
    wait_for_streams(runtime.gate, runtime.gpu.streams)
