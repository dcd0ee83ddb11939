"""Copying and filling memory, now or when signals say so."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import AmdSignal
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hsa.native import load_u32s, load_u64s, require, store_u32
from hipgraph_cb.virtual.hsa.objects.agent import Agent
from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime, now
from hipgraph_cb.virtual.worker import Operation, Worker


@api("hsa_memory_copy", POINTER, POINTER, SIZE)
def memory_copy(runtime: HsaRuntime, destination: int, source: int, size: int) -> None:
    if not size:
        return
    require(destination and source)
    _copy(runtime, destination, source, size)


def _copy(runtime: HsaRuntime, destination: int, source: int, size: int) -> None:
    runtime.pool_memory.check_range(destination, size)
    runtime.pool_memory.check_range(source, size)
    ctypes.memmove(destination, source, size)


@api("hsa_amd_memory_fill", POINTER, UINT, SIZE)
def memory_fill(runtime: HsaRuntime, address: int, value: int, count: int) -> None:
    """`count` 32-bit words."""
    require(address and address % 4 == 0)
    if not count:
        return
    found = runtime.pool_memory.find(address) or runtime.virtual_memory.find(address)
    is_inside = found is not None and runtime.memory.holds(address, address + 4 * count)
    require(is_inside, Status.INVALID_ALLOCATION, runtime.memory.describe(address, 4 * count))
    runtime.memory.bytes(address, 4 * count).view(np.uint32)[:] = value


@api("hsa_amd_memory_async_copy", POINTER, HANDLE, POINTER, HANDLE, SIZE, UINT, POINTER, HANDLE)
def memory_async_copy(
    runtime: HsaRuntime,
    destination: int,
    destination_agent: int,
    source: int,
    source_agent: int,
    size: int,
    count: int,
    dependencies: int,
    completion: int,
) -> None:
    agents = [runtime.agent(handle) for handle in (destination_agent, source_agent)]
    require(bool(count) == bool(dependencies))
    waits_for = [runtime.signals.check(signal) for signal in load_u64s(dependencies, count)]
    runtime.signals.check(completion)
    if size:
        require(destination and source)
        runtime.pool_memory.check_range(destination, size)
        runtime.pool_memory.check_range(source, size)
    _enqueue(runtime, agents, waits_for, [(destination, source, size)] if size else [], completion)


def _enqueue(
    runtime: HsaRuntime, agents: list[Agent], waits_for: list[int], rows: list[tuple[int, int, int]], completion: int
) -> None:
    """Have the worker of the first GPU among the agents copy these rows when all signals are zero."""
    gpus = [agent.gpu for agent in agents if agent.gpu is not None] or runtime.machine.gpus
    copy = _AsyncCopy(runtime, gpus[0].worker, rows, completion)
    runtime.wait_for(lambda: next((each for each in waits_for if not _is_over(runtime, each)), None), copy.submit)


@api(
    "hsa_amd_memory_async_copy_rect",
    *(POINTER, POINTER, POINTER, POINTER, POINTER, HANDLE, INT, UINT, POINTER, HANDLE),
)
def memory_async_copy_rect(
    runtime: HsaRuntime,
    destination: int,
    destination_offset: int,
    source: int,
    source_offset: int,
    extent: int,
    agent: int,
    direction: int,
    count: int,
    dependencies: int,
    completion: int,
) -> None:
    """A box of bytes: offsets and extent are bytes of a row, rows and slices."""
    agents = [runtime.agent(agent)]
    require(destination and destination_offset and source and source_offset and extent and direction in range(4))
    require(bool(count) == bool(dependencies))
    waits_for = [runtime.signals.check(signal) for signal in load_u64s(dependencies, count)]
    runtime.signals.check(completion)
    width, height, depth = load_u32s(extent, 3)
    to, start = _rows(destination, destination_offset), _rows(source, source_offset)
    rows = [(to(y, z), start(y, z), width) for z in range(depth) for y in range(height) if width]
    for row_destination, row_source, size in rows:
        runtime.pool_memory.check_range(row_destination, size)
        runtime.pool_memory.check_range(row_source, size)
    _enqueue(runtime, agents, waits_for, rows, completion)


def _rows(pitched: int, offset: int) -> Callable[[int, int], int]:
    """Where a row of a slice is, by hsa_pitched_ptr_t and hsa_dim3_t."""
    base, pitch, slice_size = load_u64s(pitched, 3)
    x, y, z = load_u32s(offset, 3)
    return lambda row, plane: base + x + (y + row) * pitch + (z + plane) * slice_size


@api(
    "hsa_amd_memory_async_copy_on_engine",
    *(POINTER, HANDLE, POINTER, HANDLE, SIZE, UINT, POINTER, HANDLE, INT, ctypes.c_uint8),
)
def memory_async_copy_on_engine(runtime: HsaRuntime, *arguments: int) -> None:
    """Every engine is the worker."""
    engine = arguments[8]
    require(engine and not engine & (engine - 1), note=f"engine {engine:#x} is not a single engine")
    memory_async_copy(runtime, *arguments[:8])


@api("hsa_amd_memory_copy_engine_status", HANDLE, HANDLE, POINTER)
@api("hsa_amd_memory_get_preferred_copy_engine", HANDLE, HANDLE, POINTER)
def memory_copy_engine_status(runtime: HsaRuntime, destination_agent: int, source_agent: int, out: int) -> None:
    runtime.agent(destination_agent), runtime.agent(source_agent)
    store_u32(out, 1)  # engine 0 is free


@api("hsa_amd_coherency_get_type", HANDLE, POINTER)
def coherency_get_type(runtime: HsaRuntime, agent: int, out: int) -> None:
    runtime.agent(agent)
    store_u32(out, 0)  # coherent


@api("hsa_amd_coherency_set_type", HANDLE, INT)
def coherency_set_type(runtime: HsaRuntime, agent: int, kind: int) -> None:
    runtime.agent(agent)
    require(kind in (0, 1))


def _is_over(runtime: HsaRuntime, signal: int) -> bool:
    return signal not in runtime.signals or runtime.signals.load(signal) == 0


class _AsyncCopy:
    """A copy that the worker makes. Its completion signal is decremented, or -1 after a failure."""

    def __init__(self, runtime: HsaRuntime, worker: Worker, rows: list[tuple[int, int, int]], completion: int) -> None:
        self._runtime = runtime
        self._worker = worker
        self._rows = rows
        self._completion = completion

    def submit(self) -> None:
        size = sum(row[2] for row in self._rows)
        if self._worker.observer is not None:
            self._worker.observer.not_observed("a copy by HSA")
        self._worker.submit(self._run, f"copy of {size} bytes")

    def _run(self, operation: Operation) -> bool:
        runtime = self._runtime
        started = now()
        try:
            for row in self._rows:
                _copy(runtime, *row)
        except CallError:
            with runtime.gate.lock:
                if self._completion in runtime.signals:
                    runtime.signals.at(self._completion).value = -1
                    runtime.signal_changed(self._completion)
            raise
        with runtime.gate.lock:
            if self._completion in runtime.signals:
                if runtime.profiles_copies:
                    times = AmdSignal.from_address(self._completion)
                    times.start_ts, times.end_ts = started, now()
                runtime.signals.decrement(self._completion)
                runtime.signal_changed(self._completion)
        return True
