"""The operations."""

from __future__ import annotations

from hipgraph_cb.abi.rccl import REDUCTIONS, TYPES, Result
from hipgraph_cb.collectives.operations import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    RECEIVE,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND,
    Collective,
)
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.rccl.function_table import HANDLE, INT, POINTER, SIZE, api
from hipgraph_cb.virtual.rccl.objects.communicator import Communicator
from hipgraph_cb.virtual.rccl.objects.enqueue import enqueue
from hipgraph_cb.virtual.rccl.objects.meeting import Call
from hipgraph_cb.virtual.rccl.objects.runtime import RcclRuntime

_TYPES = {number: name for name, number in TYPES.items()}
_REDUCTIONS = {number: name for name, number in REDUCTIONS.items()}
_SMALL_FLOATS = {10: "ncclFloat8e4m3", 11: "ncclFloat8e5m2"}


@api("ncclAllReduce", POINTER, POINTER, SIZE, INT, INT, HANDLE, HANDLE, is_grouped=True)
def all_reduce(
    runtime: RcclRuntime, send: int, receive: int, count: int, type: int, reduction: int, handle: int, stream: int
) -> None:
    _call(runtime, ALL_REDUCE, send, receive, count, type, handle, stream, reduction=reduction)


@api("ncclReduce", POINTER, POINTER, SIZE, INT, INT, INT, HANDLE, HANDLE, is_grouped=True)
def reduce(
    runtime: RcclRuntime,
    send: int,
    receive: int,
    count: int,
    type: int,
    reduction: int,
    root: int,
    handle: int,
    stream: int,
) -> None:
    _call(runtime, REDUCE, send, receive, count, type, handle, stream, root, reduction)


@api("ncclReduceScatter", POINTER, POINTER, SIZE, INT, INT, HANDLE, HANDLE, is_grouped=True)
def reduce_scatter(
    runtime: RcclRuntime, send: int, receive: int, count: int, type: int, reduction: int, handle: int, stream: int
) -> None:
    _call(runtime, REDUCE_SCATTER, send, receive, count, type, handle, stream, reduction=reduction)


@api("ncclAllGather", POINTER, POINTER, SIZE, INT, HANDLE, HANDLE, is_grouped=True)
def all_gather(runtime: RcclRuntime, send: int, receive: int, count: int, type: int, handle: int, stream: int) -> None:
    _call(runtime, ALL_GATHER, send, receive, count, type, handle, stream)


@api("ncclAllToAll", POINTER, POINTER, SIZE, INT, HANDLE, HANDLE, is_grouped=True)
def all_to_all(runtime: RcclRuntime, send: int, receive: int, count: int, type: int, handle: int, stream: int) -> None:
    if send == receive and count:
        raise CallError(Result.INVALID_USAGE, "ncclAllToAll cannot be in place: RCCL would mix the blocks")
    _call(runtime, ALL_TO_ALL, send, receive, count, type, handle, stream)


@api("ncclBroadcast", POINTER, POINTER, SIZE, INT, INT, HANDLE, HANDLE, is_grouped=True)
def broadcast(
    runtime: RcclRuntime, send: int, receive: int, count: int, type: int, root: int, handle: int, stream: int
) -> None:
    _call(runtime, BROADCAST, send, receive, count, type, handle, stream, root)


@api("ncclBcast", POINTER, SIZE, INT, INT, HANDLE, HANDLE, is_grouped=True)
def broadcast_in_place(
    runtime: RcclRuntime, memory: int, count: int, type: int, root: int, handle: int, stream: int
) -> None:
    broadcast(runtime, memory, memory, count, type, root, handle, stream)


@api("ncclGather", POINTER, POINTER, SIZE, INT, INT, HANDLE, HANDLE, is_grouped=True)
def gather(
    runtime: RcclRuntime, send: int, receive: int, count: int, type: int, root: int, handle: int, stream: int
) -> None:
    _call(runtime, GATHER, send, receive, count, type, handle, stream, root)


@api("ncclScatter", POINTER, POINTER, SIZE, INT, INT, HANDLE, HANDLE, is_grouped=True)
def scatter(
    runtime: RcclRuntime, send: int, receive: int, count: int, type: int, root: int, handle: int, stream: int
) -> None:
    _call(runtime, SCATTER, send, receive, count, type, handle, stream, root)


@api("ncclSend", POINTER, SIZE, INT, INT, HANDLE, HANDLE, is_grouped=True)
def send(runtime: RcclRuntime, memory: int, count: int, type: int, peer: int, handle: int, stream: int) -> None:
    _call(runtime, SEND, memory, 0, count, type, handle, stream, peer)


@api("ncclRecv", POINTER, SIZE, INT, INT, HANDLE, HANDLE, is_grouped=True)
def receive(runtime: RcclRuntime, memory: int, count: int, type: int, peer: int, handle: int, stream: int) -> None:
    _call(runtime, RECEIVE, 0, memory, count, type, handle, stream, peer)


def _call(
    runtime: RcclRuntime,
    kind: str,
    send: int,
    receive: int,
    count: int,
    type: int,
    handle: int,
    stream: int,
    root: int = 0,
    reduction: int | None = None,
) -> None:
    """Enqueue an operation of a rank, at the end of the group that is open, if any."""
    communicator = runtime.usable(handle)
    type_name, reduction_name = _type_name(type, reduction is not None), _reduction_name(reduction)
    operation = Collective(kind, type_name, count, reduction_name, _rank(communicator, root))
    _check_ends(communicator, operation, send, receive)
    target = communicator.gpu.null_stream if stream == 0 else runtime.hip.stream(stream)
    if target.gpu is not communicator.gpu:
        raise CallError(
            Result.INVALID_USAGE,
            f"rank {communicator.rank} is on device {communicator.gpu.ordinal}, and the stream on device "
            f"{target.gpu.ordinal}",
        )
    if not count:
        return
    call = communicator, target, Call(operation, send, receive)
    if runtime.group.depth:
        runtime.group.calls.append(call)
    else:
        enqueue(runtime, [call])


def _type_name(number: int, is_reduced: bool) -> str:
    if number in _SMALL_FLOATS:
        if is_reduced:
            raise CallError(Result.INVALID_ARGUMENT, f"the virtual librccl does not reduce {_SMALL_FLOATS[number]}")
        return "u8"
    if number not in _TYPES:
        raise CallError(Result.INVALID_ARGUMENT, f"{number} is no ncclDataType_t")
    return _TYPES[number]


def _reduction_name(number: int | None) -> str:
    if number is None:
        return ""
    if number not in _REDUCTIONS:
        raise CallError(Result.INVALID_ARGUMENT, f"{number} is no ncclRedOp_t")
    return _REDUCTIONS[number]


def _rank(communicator: Communicator, number: int) -> int:
    if not 0 <= number < communicator.ranks:
        raise CallError(Result.INVALID_ARGUMENT, f"there is no rank {number}, of {communicator.ranks}")
    return number


def _check_ends(communicator: Communicator, operation: Collective, send: int, receive: int) -> None:
    rank, ranks = communicator.rank, communicator.ranks
    missing = [
        name
        for name, address, size in (
            ("sendbuff", send, operation.sent(rank, ranks)),
            ("recvbuff", receive, operation.received(rank, ranks)),
        )
        if size and not address
    ]
    if missing:
        raise CallError(Result.INVALID_ARGUMENT, f"{missing[0]} is NULL: {operation}, rank {rank} of {ranks}")
