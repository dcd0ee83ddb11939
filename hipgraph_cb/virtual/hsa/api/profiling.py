"""When dispatches and copies ran."""

from __future__ import annotations

from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import DispatchTime
from hipgraph_cb.virtual.hsa.function_table import HANDLE, POINTER, UINT64, api
from hipgraph_cb.virtual.hsa.native import require, store_bytes, store_u64
from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime


@api("hsa_amd_profiling_get_dispatch_time", HANDLE, HANDLE, POINTER)
def get_dispatch_time(runtime: HsaRuntime, agent: int, signal: int, out: int) -> None:
    runtime.agent(agent)
    _store_times(runtime, signal, out)


@api("hsa_amd_profiling_get_async_copy_time", HANDLE, POINTER)
def get_async_copy_time(runtime: HsaRuntime, signal: int, out: int) -> None:
    _store_times(runtime, signal, out)


def _store_times(runtime: HsaRuntime, handle: int, out: int) -> None:
    require(out)
    signal = runtime.signals.at(handle)
    require(signal.end_ts, Status.ERROR, "nothing that was profiled has used this signal")
    store_bytes(out, bytes(DispatchTime(signal.start_ts, signal.end_ts)))


@api("hsa_amd_profiling_async_copy_enable", UINT64)
def async_copy_enable(runtime: HsaRuntime, enable: int) -> None:
    runtime.profiles_copies = bool(enable & 0xFF)  # a C bool


@api("hsa_amd_profiling_convert_tick_to_system_domain", HANDLE, UINT64, POINTER)
def convert_tick(runtime: HsaRuntime, agent: int, tick: int, out: int) -> None:
    runtime.agent(agent)
    store_u64(out, tick)  # agents and system share one clock
