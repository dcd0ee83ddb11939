"""Events: recording, waiting, timing."""

from __future__ import annotations

import ctypes

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import EventFlag
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import require, store_pointer
from hipgraph_cb.virtual.hip.objects.capture import forbid_unsafe_call
from hipgraph_cb.virtual.hip.objects.event import Event
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import note_wait, tell_failure
from hipgraph_cb.virtual.hip.objects.submit import submit
from hipgraph_cb.virtual.hip.objects.work import Empty

# Blocking sync, disable timing, interprocess, release to device or system, disable system fence.
_KNOWN_FLAGS = sum(EventFlag)


@api("hipEventCreate", POINTER)
def event_create(runtime: HipRuntime, out: int) -> None:
    event_create_with_flags(runtime, out, 0)


@api("hipEventCreateWithFlags", POINTER, UINT)
def event_create_with_flags(runtime: HipRuntime, out: int, flags: int) -> None:
    require(out and not flags & ~_KNOWN_FLAGS)
    require(not flags & EventFlag.INTERPROCESS or flags & EventFlag.DISABLE_TIMING)
    event = Event(runtime.gpu.ordinal, flags)
    event.handle = runtime.events.add(event)
    store_pointer(out, event.handle)


@api("hipEventDestroy", HANDLE, releases=True)
def event_destroy(runtime: HipRuntime, handle: int) -> None:
    require(handle, Code.INVALID_HANDLE)
    runtime.events.pop(handle)


@api("hipEventRecord", HANDLE, HANDLE)
@api("hipEventRecord_spt", HANDLE, HANDLE)
def event_record(runtime: HipRuntime, handle: int, stream_handle: int) -> None:
    require(handle, Code.INVALID_HANDLE)
    event, stream = runtime.events[handle], runtime.stream(stream_handle)
    if stream.capture is not None:
        stream.capture.record_event(stream, event)
    elif stream.is_idle:
        event.record(None)
    else:
        event.record(submit(runtime, stream, Empty()))


@api("hipEventRecordWithFlags", HANDLE, HANDLE, UINT)
def event_record_with_flags(runtime: HipRuntime, handle: int, stream_handle: int, flags: int) -> None:
    require(flags in (0, 1))
    event_record(runtime, handle, stream_handle)


def _asked(runtime: HipRuntime, handle: int) -> Event:
    """An event that is asked whether it is done."""
    require(handle, Code.INVALID_HANDLE)
    event = runtime.events[handle]
    require(event.capture is None, Code.CAPTURED_EVENT)
    if runtime.profile.event_questions_spoil_captures:
        forbid_unsafe_call(runtime)
    return event


@api("hipEventSynchronize", HANDLE)
def event_synchronize(runtime: HipRuntime, handle: int) -> None:
    event = _asked(runtime, handle)
    operation = event.operation
    if operation is None:
        return
    runtime.gate.wait(lambda: operation.is_done)
    note_wait(operation.worker, [operation])
    if operation.failure is not None:
        gpu = runtime.gpus[event.ordinal]
        tell_failure(runtime.gate, [s for s in gpu.streams if s.last and s.last.failure is operation.failure])


@api("hipEventQuery", HANDLE)
def event_query(runtime: HipRuntime, handle: int) -> int:
    event = _asked(runtime, handle)
    if not event.is_done:
        return Code.NOT_READY
    if event.operation is not None:
        note_wait(event.operation.worker, [event.operation])
    return Code.SUCCESS


@api("hipEventElapsedTime", POINTER, HANDLE, HANDLE)
def event_elapsed_time(runtime: HipRuntime, out: int, start_handle: int, stop_handle: int) -> None:
    require(out)
    require(start_handle and stop_handle, Code.INVALID_HANDLE)
    start, stop = runtime.events[start_handle], runtime.events[stop_handle]
    require(not (start.flags | stop.flags) & EventFlag.DISABLE_TIMING, Code.INVALID_HANDLE)
    require(start.was_recorded and stop.was_recorded, Code.INVALID_HANDLE)
    if not (start.is_done and stop.is_done):
        raise CallError(Code.NOT_READY)
    ctypes.c_float.from_address(out).value = (stop.seconds - start.seconds) * 1000
