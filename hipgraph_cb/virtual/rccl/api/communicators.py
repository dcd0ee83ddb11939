"""Communicators: joining a clique, splitting it, leaving it."""

from __future__ import annotations

import ctypes
import os
import struct

from hipgraph_cb.abi.rccl import CONFIG_MAGIC, NO_COLOR, UNIQUE_ID_SIZE, Config, Result, UniqueId
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.native import load_bytes, store_pointer
from hipgraph_cb.virtual.hip.objects.gpu import Gpu
from hipgraph_cb.virtual.rccl.function_table import HANDLE, INT, POINTER, api
from hipgraph_cb.virtual.rccl.objects.communicator import Clique, Communicator
from hipgraph_cb.virtual.rccl.objects.runtime import RcclRuntime

_ID = struct.Struct("<16sQQ")
_TAG = b"hipgraph_cb id"


@api("ncclGetUniqueId", POINTER)
def get_unique_id(runtime: RcclRuntime, out: int) -> None:
    _require(out, "no place for the id")
    data = _ID.pack(_TAG, os.getpid(), next(runtime.numbers)).ljust(UNIQUE_ID_SIZE, b"\0")
    ctypes.memmove(out, data, len(data))


@api("ncclCommInitRank", POINTER, INT, UniqueId, INT, is_grouped=True)
def init_rank(runtime: RcclRuntime, out: int, count: int, unique_id: UniqueId, rank: int) -> None:
    _join(runtime, out, count, bytes(unique_id), rank, is_blocking=True)


@api("ncclCommInitRankConfig", POINTER, INT, UniqueId, INT, POINTER, is_grouped=True)
def init_rank_with_config(
    runtime: RcclRuntime, out: int, count: int, unique_id: UniqueId, rank: int, config: int
) -> int:
    is_blocking = _is_blocking(config)
    communicator = _join(runtime, out, count, bytes(unique_id), rank, is_blocking=is_blocking)
    return Result.SUCCESS if is_blocking or communicator.is_ready else Result.IN_PROGRESS


@api("ncclCommInitAll", POINTER, INT, POINTER)
def init_all(runtime: RcclRuntime, out: int, count: int, devices: int) -> None:
    _require(out and count > 0, f"{count} devices")
    ordinals = list(range(count))
    if devices:
        ordinals = list(struct.unpack(f"<{count}i", load_bytes(devices, 4 * count)))
    unknown = [ordinal for ordinal in ordinals if not 0 <= ordinal < len(runtime.hip.gpus)]
    if unknown:
        raise CallError(
            Result.UNHANDLED_HIP_ERROR, f"there is no device {unknown[0]}; there are {len(runtime.hip.gpus)}"
        )
    clique = Clique(count)
    made: list[Communicator] = []
    try:
        for rank, ordinal in enumerate(ordinals):
            made.append(runtime.new_communicator(runtime.hip.gpus[ordinal]))
            clique.join(made[-1], rank)
    except CallError:
        for communicator in made:
            runtime.forget(communicator, "it was not made")
        raise
    for rank, communicator in enumerate(made):
        store_pointer(out + 8 * rank, communicator.handle)


def _join(
    runtime: RcclRuntime, out: int, count: int, unique_id: bytes, rank: int, *, is_blocking: bool
) -> Communicator:
    """Join the clique of an id, with the current device; where no group is open, wait for the other ranks."""
    _require(out, "no place for the communicator")
    _require(0 <= rank < count, f"rank {rank} of {count}")
    number = _number(unique_id)
    clique = runtime.cliques.setdefault(number, Clique(count))
    _require(clique.size == count, f"rank {rank} wants {count} ranks, and others {clique.size}")
    communicator = _in_clique(runtime, runtime.hip.gpu, clique, rank)
    if clique.is_complete:
        del runtime.cliques[number]
        runtime.gate.changed.notify_all()
    store_pointer(out, communicator.handle)
    _wait(runtime, communicator, is_blocking)
    return communicator


def _in_clique(runtime: RcclRuntime, gpu: Gpu, clique: Clique, rank: int) -> Communicator:
    communicator = runtime.new_communicator(gpu)
    try:
        clique.join(communicator, rank)
    except CallError:
        runtime.forget(communicator, "it was not made")
        raise
    return communicator


def _wait(runtime: RcclRuntime, communicator: Communicator, is_blocking: bool) -> None:
    group = runtime.group
    if group.depth:
        group.joining.append(communicator)
    elif is_blocking:
        runtime.wait_for_ranks([communicator])


def _number(unique_id: bytes) -> int:
    tag, process, number = _ID.unpack_from(unique_id)
    _require(tag.rstrip(b"\0") == _TAG, "the unique id is not one of ncclGetUniqueId of this library")
    if process != os.getpid():
        raise CallError(
            Result.INVALID_USAGE,
            f"the unique id was made by process {process}, and this is process {os.getpid()}: the virtual librccl "
            "connects ranks of one process only; use a thread for each rank, or ncclCommInitAll",
        )
    return int(number)


def _is_blocking(config: int) -> bool:
    if not config:
        return True
    given = Config.from_address(config)
    _require(given.magic == CONFIG_MAGIC, "the configuration was not initialised with NCCL_CONFIG_INITIALIZER")
    return bool(given.blocking != 0)


def _require(condition: object, note: str) -> None:
    if not condition:
        raise CallError(Result.INVALID_ARGUMENT, note)


@api("ncclCommSplit", HANDLE, INT, INT, POINTER, POINTER, is_grouped=True)
def split(runtime: RcclRuntime, handle: int, color: int, key: int, out: int, config: int) -> None:
    """The ranks of each color become a clique, in the order of their keys, and of their old ranks."""
    _require(out, "no place for the communicator")
    _require(color >= 0 or color == NO_COLOR, f"color {color}")
    is_blocking = _is_blocking(config)
    parent = runtime.usable(handle)
    if parent.clique is None:
        return
    splits = parent.clique.splits
    if parent.split_count == len(splits):
        splits.append({})
    joined = splits[parent.split_count]
    parent.split_count += 1
    communicator = runtime.new_communicator(parent.gpu)
    joined[parent.rank] = color, key, communicator
    store_pointer(out, 0 if color == NO_COLOR else communicator.handle)
    if len(joined) == parent.clique.size:
        _divide(runtime, joined)
        runtime.gate.changed.notify_all()
    _wait(runtime, communicator, is_blocking)


def _divide(runtime: RcclRuntime, joined: dict[int, tuple[int, int, Communicator]]) -> None:
    colors = {color for color, _, _ in joined.values()}
    for color in colors:
        entries = sorted((key, rank, made) for rank, (each, key, made) in joined.items() if each == color)
        if color == NO_COLOR:
            for _, _, communicator in entries:
                communicator.is_left_out = True
                runtime.forget(communicator, "a split left it out")
            continue
        clique = Clique(len(entries))
        for place, (_, _, communicator) in enumerate(entries):
            clique.join(communicator, place)


@api("ncclCommFinalize", HANDLE)
def finalize(runtime: RcclRuntime, handle: int) -> None:
    """What is enqueued is done; further calls are refused."""
    communicator = runtime.communicator(handle)
    _wait_for_work(runtime, communicator)
    communicator.leave("the communicator was finalized")


@api("ncclCommDestroy", HANDLE, releases=True)
def destroy(runtime: RcclRuntime, handle: int) -> None:
    communicator = runtime.communicator(handle)
    _wait_for_work(runtime, communicator)
    runtime.forget(communicator, "the communicator was destroyed")


@api("ncclCommAbort", HANDLE, releases=True)
def abort(runtime: RcclRuntime, handle: int) -> None:
    """What is enqueued fails, here and where other ranks wait for it."""
    communicator = runtime.communicator(handle)
    communicator.leave("the communicator was aborted")
    _wait_for_work(runtime, communicator)
    runtime.forget(communicator, "the communicator was aborted")


def _wait_for_work(runtime: RcclRuntime, communicator: Communicator) -> None:
    last = communicator.last
    communicator.gpu.worker.watch()
    runtime.gate.wait(lambda: (last is None or last.is_done) and communicator.running is None)
