"""Groups: calls that are fused, and that wait for each other at the end only."""

from __future__ import annotations

from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.rccl.function_table import api
from hipgraph_cb.virtual.rccl.objects.enqueue import enqueue
from hipgraph_cb.virtual.rccl.objects.runtime import RcclRuntime


@api("ncclGroupStart")
def group_start(runtime: RcclRuntime) -> None:
    runtime.group.depth += 1


@api("ncclGroupEnd")
def group_end(runtime: RcclRuntime) -> None:
    group = runtime.group
    if not group.depth:
        raise CallError(Result.INVALID_USAGE, "ncclGroupEnd without ncclGroupStart")
    group.depth -= 1
    if group.depth:
        return
    calls, joining, error = group.calls, group.joining, group.error
    group.calls, group.joining, group.error = [], [], None
    if error is not None:
        runtime.drop(joining)
        raise CallError(error.code, error.note)
    runtime.wait_for_ranks(joining)
    enqueue(runtime, calls)
