"""Finding functions by name, names of things, and choosing devices."""

from __future__ import annotations

import ctypes
import threading

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.structures import DeviceProperties, DevicePropertiesR0000
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.registration import handle_of_symbol
from hipgraph_cb.virtual.hip.function_table import FUNCTIONS, HANDLE, INT, POINTER, UINT64, api
from hipgraph_cb.virtual.hip.native import load_text, require, static_text, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.device_properties import properties_of
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_FOUND, _NOT_FOUND = 0, 1
_CURRENT_LAYOUT = ("hipGetDeviceProperties", "hipChooseDevice")


def _look_up(runtime: HipRuntime, name_address: int, out: int, status_out: int, *, per_thread: bool) -> None:
    require(name_address and out)
    name = load_text(name_address)
    if name in _CURRENT_LAYOUT:
        name += "R0600"
    if per_thread and name + "_spt" in FUNCTIONS:
        name += "_spt"
    is_there = name in FUNCTIONS and runtime.profile.has(name)
    store_pointer(out, runtime.address_of(name) if is_there else 0)
    if status_out:
        store_int(status_out, _FOUND if is_there else _NOT_FOUND)
    if not is_there:
        raise CallError(Code.INVALID_VALUE, f"the virtual library has no function {name}")


@api("hipGetProcAddress", POINTER, POINTER, INT, UINT64, POINTER)
def get_proc_address(runtime: HipRuntime, name: int, out: int, version: int, flags: int, status_out: int) -> None:
    _look_up(runtime, name, out, status_out, per_thread=False)


@api("hipGetProcAddress_spt", POINTER, POINTER, INT, UINT64, POINTER)
def get_proc_address_per_thread(
    runtime: HipRuntime, name: int, out: int, version: int, flags: int, status_out: int
) -> None:
    _look_up(runtime, name, out, status_out, per_thread=True)


@api("hipGetDriverEntryPoint", POINTER, POINTER, UINT64, POINTER)
def get_driver_entry_point(runtime: HipRuntime, name: int, out: int, flags: int, status_out: int) -> None:
    _look_up(runtime, name, out, status_out, per_thread=False)


@api("hipGetDriverEntryPoint_spt", POINTER, POINTER, UINT64, POINTER)
def get_driver_entry_point_per_thread(runtime: HipRuntime, name: int, out: int, flags: int, status_out: int) -> None:
    _look_up(runtime, name, out, status_out, per_thread=True)


@api("hipKernelNameRef", HANDLE, result=POINTER, on_error=0, remembers=False, fallback=0)
def kernel_name_ref(runtime: HipRuntime, handle: int) -> int:
    function = runtime.functions.get(handle)
    return static_text(function.name) if function is not None else 0


@api("hipKernelNameRefByPtr", POINTER, HANDLE, result=POINTER, on_error=0, remembers=False, fallback=0)
def kernel_name_ref_by_pointer(runtime: HipRuntime, host_function: int, stream: int) -> int:
    return kernel_name_ref(runtime, handle_of_symbol(runtime, host_function))


@api("hipChooseDeviceR0600", POINTER, POINTER)
def choose_device(runtime: HipRuntime, out: int, wanted_address: int) -> None:
    require(out and wanted_address)
    _choose(runtime, out, DeviceProperties.from_address(wanted_address))


@api("hipChooseDevice", POINTER, POINTER)
@api("hipChooseDeviceR0000", POINTER, POINTER)
def choose_device_r0000(runtime: HipRuntime, out: int, wanted_address: int) -> None:
    """By the layout of ROCm 5."""
    require(out and wanted_address)
    _choose(runtime, out, DevicePropertiesR0000.from_address(wanted_address))


def _choose(runtime: HipRuntime, out: int, wanted: DeviceProperties | DevicePropertiesR0000) -> None:
    """The device that meets most of the wishes, each of which is a field that is not 0."""
    names = ("major", "minor", "totalGlobalMem", "maxThreadsPerBlock", "sharedMemPerBlock", "multiProcessorCount")

    def fulfilled(ordinal: int) -> int:
        has = properties_of(runtime.gpus[ordinal], runtime.settings.memory)
        return sum(getattr(has, name) >= getattr(wanted, name) for name in names if getattr(wanted, name))

    store_int(out, max(range(len(runtime.gpus)), key=fulfilled))


@api("hipSetValidDevices", POINTER, INT)
def set_valid_devices(runtime: HipRuntime, ordinals: int, count: int) -> None:
    """The first of the list becomes the thread's device; an empty list lifts the choice."""
    require(0 <= count <= len(runtime.gpus) and (ordinals or not count))
    given = list((ctypes.c_int * count).from_address(ordinals)) if count else [0]
    for ordinal in given:
        runtime.gpu_at(ordinal)
    runtime.thread.device = given[0]


@api("hipStreamGetId", HANDLE, POINTER)
def stream_get_id(runtime: HipRuntime, handle: int, out: int) -> None:
    require(out)
    stream = runtime.stream(handle)
    store_pointer(out, stream.handle or (threading.get_ident() if not stream.is_null else 0))
