"""Stream capture: beginning, ending, asking; and which calls are forbidden meanwhile."""

from __future__ import annotations

import ctypes
import threading
from itertools import count

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import CaptureMode, CaptureStatus, UpdateCaptureDependencies
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import load_pointers, require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.capture import Capture, blocking_captures
from hipgraph_cb.virtual.hip.objects.graph import Graph, Node
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import Stream

_capture_numbers = count(1)


def _begin(runtime: HipRuntime, handle: int, graph: Graph, ends: list[Node], mode: int) -> Capture:
    stream = runtime.stream(handle)
    require(not stream.is_null, Code.STREAM_CAPTURE_UNSUPPORTED)
    require(stream.capture is None, Code.ILLEGAL_STATE)
    stream.capture = Capture(graph, stream, mode, threading.get_ident(), next(_capture_numbers))
    stream.capture.ends[stream] = ends
    runtime.captures.add(stream.capture)
    return stream.capture


@api("hipStreamBeginCapture", HANDLE, INT)
@api("hipStreamBeginCapture_spt", HANDLE, INT)
def stream_begin_capture(runtime: HipRuntime, handle: int, mode: int) -> None:
    require(mode in tuple(CaptureMode))
    graph = Graph()
    _begin(runtime, handle, graph, [], mode)
    graph.handle = runtime.graphs.add(graph)


@api("hipStreamBeginCaptureToGraph", HANDLE, HANDLE, POINTER, POINTER, SIZE, INT)
def stream_begin_capture_to_graph(
    runtime: HipRuntime, handle: int, graph_handle: int, dependencies: int, edge_data: int, count_: int, mode: int
) -> None:
    require(mode in tuple(CaptureMode) and graph_handle)
    require(not count_ or dependencies)
    graph = runtime.graphs[graph_handle]
    ends = [runtime.nodes[node] for node in load_pointers(dependencies, count_)]
    require(all(node.graph is graph for node in ends))
    _begin(runtime, handle, graph, ends, mode).owns_graph = False


@api("hipStreamEndCapture", HANDLE, POINTER)
@api("hipStreamEndCapture_spt", HANDLE, POINTER)
def stream_end_capture(runtime: HipRuntime, handle: int, out: int) -> None:
    require(out or handle, runtime.profile.end_of_null_capture)
    require(out)
    stream = runtime.stream(handle)
    capture = stream.capture
    if capture is None:
        raise CallError(Code.ILLEGAL_STATE)
    if capture.origin is not stream:
        capture.is_invalid = True
        raise CallError(Code.STREAM_CAPTURE_UNMATCHED)
    require(
        capture.mode == CaptureMode.RELAXED or capture.thread == threading.get_ident(), Code.STREAM_CAPTURE_WRONG_THREAD
    )
    is_joined = capture.is_joined()
    if capture.is_invalid or not is_joined:
        capture.abandon(runtime)
        store_pointer(out, 0)
        raise CallError(Code.STREAM_CAPTURE_INVALIDATED if capture.is_invalid else Code.STREAM_CAPTURE_UNJOINED)
    capture.release(runtime)
    store_pointer(out, capture.graph.handle)


def _asked(runtime: HipRuntime, handle: int) -> Stream:
    """The stream that a question is about; the null stream takes none while it would wait for a capture."""
    stream = runtime.stream(handle)
    require(not (stream.is_null and blocking_captures(runtime)), Code.STREAM_CAPTURE_IMPLICIT)
    return stream


def _status(stream: Stream) -> int:
    if stream.capture is None:
        return CaptureStatus.NONE
    return CaptureStatus.INVALIDATED if stream.capture.is_invalid else CaptureStatus.ACTIVE


@api("hipStreamIsCapturing", HANDLE, POINTER)
@api("hipStreamIsCapturing_spt", HANDLE, POINTER)
def stream_is_capturing(runtime: HipRuntime, handle: int, out: int) -> None:
    store_int(out, _status(_asked(runtime, handle)))


@api("hipStreamGetCaptureInfo_spt", HANDLE, POINTER, POINTER)
@api("hipStreamGetCaptureInfo", HANDLE, POINTER, POINTER)
def stream_get_capture_info(runtime: HipRuntime, handle: int, status_out: int, number_out: int) -> None:
    stream = _asked(runtime, handle)
    store_int(status_out, _status(stream))
    if number_out and stream.capture is not None:
        store_pointer(number_out, stream.capture.number)


@api("hipStreamGetCaptureInfo_v2_spt", HANDLE, POINTER, POINTER, POINTER, POINTER, POINTER)
@api("hipStreamGetCaptureInfo_v2", HANDLE, POINTER, POINTER, POINTER, POINTER, POINTER)
def stream_get_capture_info_v2(
    runtime: HipRuntime,
    handle: int,
    status_out: int,
    number_out: int,
    graph_out: int,
    dependencies_out: int,
    count_out: int,
) -> None:
    stream = _asked(runtime, handle)
    store_int(status_out, _status(stream))
    capture = stream.capture
    if capture is None:
        return
    ends = [node.handle for node in capture.ends[stream]]
    # The caller gets a pointer to an array of the runtime, which lives as long as the capture.
    capture.shown = (ctypes.c_size_t * max(1, len(ends)))(*ends)
    answers = (
        (number_out, capture.number),
        (graph_out, capture.graph.handle),
        (dependencies_out, ctypes.addressof(capture.shown)),
        (count_out, len(ends)),
    )
    for out, value in answers:
        if out:
            store_pointer(out, value)


@api("hipStreamUpdateCaptureDependencies", HANDLE, POINTER, SIZE, UINT)
def stream_update_capture_dependencies(
    runtime: HipRuntime, handle: int, dependencies: int, count_: int, flags: int
) -> None:
    stream = runtime.stream(handle)
    capture = stream.capture
    if capture is None:
        raise CallError(Code.ILLEGAL_STATE)
    require(flags in tuple(UpdateCaptureDependencies) and (dependencies or not count_))
    nodes = [runtime.nodes[node] for node in load_pointers(dependencies, count_)]
    require(all(node.graph is capture.graph for node in nodes))
    kept = capture.ends[stream]
    if flags == UpdateCaptureDependencies.SET_CAPTURE_DEPENDENCIES:
        capture.dropped += kept
        kept = []
    capture.ends[stream] = [*kept, *(node for node in nodes if node not in kept)]


@api("hipThreadExchangeStreamCaptureMode", POINTER)
def thread_exchange_stream_capture_mode(runtime: HipRuntime, mode: int) -> None:
    require(mode)
    given = ctypes.c_int.from_address(mode)
    require(given.value in tuple(CaptureMode))
    given.value, runtime.thread.capture_mode = runtime.thread.capture_mode, given.value
