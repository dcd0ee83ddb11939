"""Enqueueing what a group has gathered: for each rank one piece of work, on its stream or in its capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.objects.capture import forbid_legacy_call
from hipgraph_cb.virtual.hip.objects.graph import connect
from hipgraph_cb.virtual.hip.objects.submit import submit
from hipgraph_cb.virtual.rccl.objects.collective_work import CollectiveWork

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.stream import Stream
    from hipgraph_cb.virtual.rccl.objects.communicator import Communicator
    from hipgraph_cb.virtual.rccl.objects.meeting import Call
    from hipgraph_cb.virtual.rccl.objects.runtime import RcclRuntime


def enqueue(runtime: RcclRuntime, calls: list[tuple[Communicator, Stream, Call]]) -> None:
    """Enqueue the calls of one group; those of one communicator are fused."""
    streams: dict[Communicator, list[Stream]] = {}
    fused: dict[Communicator, list[Call]] = {}
    for communicator, stream, call in calls:
        own = streams.setdefault(communicator, [])
        if stream not in own:
            own.append(stream)
        fused.setdefault(communicator, []).append(call)
    for communicator, own in streams.items():
        _check_captures(communicator, own)
    for communicator, own in streams.items():
        work = CollectiveWork(communicator, tuple(fused[communicator]), runtime.kernels)
        if own[0].capture is not None:
            _capture(runtime, communicator, own, work)
        else:
            _submit(runtime, communicator, own, work)


def _check_captures(communicator: Communicator, streams: list[Stream]) -> None:
    if any(stream.capture is not streams[0].capture for stream in streams):
        raise CallError(
            Result.INVALID_USAGE,
            f"rank {communicator.rank}: the streams of one group must all be captured into one graph, or none of them",
        )


def _submit(runtime: RcclRuntime, communicator: Communicator, streams: list[Stream], work: CollectiveWork) -> None:
    """On the first stream, behind what the others hold; they go on behind it."""
    first, *others = streams
    for stream in streams:
        if stream.is_null:
            forbid_legacy_call(runtime.hip)
    first.waits.extend(stream.last for stream in others if stream.last is not None)
    before = [] if communicator.last is None else [communicator.last]
    communicator.last = submit(runtime.hip, first, work, before)
    for stream in others:
        if communicator.last is not None:
            stream.waits.append(communicator.last)


def _capture(runtime: RcclRuntime, communicator: Communicator, streams: list[Stream], work: CollectiveWork) -> None:
    """As a node behind what all these streams hold, and behind the communicator's node before."""
    first, *others = streams
    capture = first.capture
    if capture is None:
        return
    ends = capture.ends[first]
    ends.extend(end for stream in others for end in capture.ends[stream] if end not in ends)
    node = capture.add(runtime.hip, first, work)
    before = communicator.captured
    if before is not None and before.handle in capture.graph.nodes and before not in node.dependencies:
        connect(before, node)
    communicator.captured = node
    for stream in others:
        capture.ends[stream] = [node]
