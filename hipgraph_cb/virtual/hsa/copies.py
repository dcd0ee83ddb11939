"""Copying and filling memory, now or when signals say so."""

from __future__ import annotations

import ctypes

import numpy as np

from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.api import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hsa.layouts import AmdSignal
from hipgraph_cb.virtual.hsa.native import load_u64s, require, store_u32
from hipgraph_cb.virtual.hsa.runtime import HsaRuntime, now
from hipgraph_cb.virtual.hsa.signals import Pending
from hipgraph_cb.virtual.hsa.status import Status
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
    allocation = runtime.pool_memory.find(address)
    is_inside = allocation is not None and address + 4 * count <= allocation.address + allocation.size
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
    gpus = [agent.gpu for agent in agents if agent.gpu is not None] or runtime.machine.gpus
    copy = _AsyncCopy(runtime, gpus[0].worker, destination, source, size, completion)
    runtime.pending.append(Pending(lambda: all(_is_over(runtime, signal) for signal in waits_for), copy.submit))
    gpus[0].worker.watch()
    runtime.look_around()


@api(
    "hsa_amd_memory_async_copy_on_engine",
    *(POINTER, HANDLE, POINTER, HANDLE, SIZE, UINT, POINTER, HANDLE, INT, ctypes.c_uint8),
)
def memory_async_copy_on_engine(runtime: HsaRuntime, *arguments: int) -> None:
    """Every engine is the worker."""
    engine = arguments[8]
    require(engine and not engine & (engine - 1), note=f"engine {engine:#x} is no single engine")
    memory_async_copy(runtime, *arguments[:8])


@api("hsa_amd_memory_copy_engine_status", HANDLE, HANDLE, POINTER)
@api("hsa_amd_memory_get_preferred_copy_engine", HANDLE, HANDLE, POINTER)
def memory_copy_engine_status(runtime: HsaRuntime, destination_agent: int, source_agent: int, out: int) -> None:
    runtime.agent(destination_agent), runtime.agent(source_agent)
    store_u32(out, 1)  # engine 0 is free


def _is_over(runtime: HsaRuntime, signal: int) -> bool:
    return signal not in runtime.signals or runtime.signals.load(signal) == 0


class _AsyncCopy:
    """A copy that the worker makes. Its completion signal is decremented, or -1 after a failure."""

    def __init__(
        self, runtime: HsaRuntime, worker: Worker, destination: int, source: int, size: int, completion: int
    ) -> None:
        self._runtime = runtime
        self._worker = worker
        self._destination = destination
        self._source = source
        self._size = size
        self._completion = completion

    def submit(self) -> None:
        self._worker.submit(self._run, f"copy of {self._size} bytes from {self._source:#x} to {self._destination:#x}")

    def _run(self, operation: Operation) -> bool:
        runtime = self._runtime
        started = now()
        try:
            if self._size:
                _copy(runtime, self._destination, self._source, self._size)
        except CallError:
            with runtime.gate.lock:
                runtime.signals.at(self._completion).value = -1
                runtime.signal_changed()
            raise
        with runtime.gate.lock:
            if self._completion in runtime.signals:
                if runtime.profiles_copies:
                    times = AmdSignal.from_address(self._completion)
                    times.start_ts, times.end_ts = started, now()
                runtime.signals.decrement(self._completion)
                runtime.signal_changed()
        return True
