"""Initialisation, versions, devices and their properties."""

from __future__ import annotations

import ctypes

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.structures import DeviceProperties, DevicePropertiesR0000
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import INT, POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import load_text, require, store_int, store_pointer, store_text
from hipgraph_cb.virtual.hip.objects.device_properties import (
    attribute_of,
    device_name,
    pci_bus_id,
    properties_of,
    uuid_of,
)
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_STREAM_PRIORITIES = (1, -1)  # least, greatest


@api("hipInit", UINT)
def initialize(runtime: HipRuntime, flags: int) -> None:
    require(flags == 0)


@api("hipRuntimeGetVersion", POINTER)
@api("hipDriverGetVersion", POINTER)
def get_version(runtime: HipRuntime, out: int) -> None:
    store_int(out, runtime.profile.version)


@api("hipGetDeviceCount", POINTER)
def get_device_count(runtime: HipRuntime, out: int) -> None:
    store_int(out, len(runtime.gpus))


@api("hipSetDevice", INT)
def set_device(runtime: HipRuntime, ordinal: int) -> None:
    runtime.thread.device = runtime.gpu_at(ordinal).ordinal


@api("hipGetDevice", POINTER)
def get_device(runtime: HipRuntime, out: int) -> None:
    store_int(out, runtime.thread.device)


@api("hipDeviceGet", POINTER, INT)
def device_get(runtime: HipRuntime, out: int, ordinal: int) -> None:
    require(out)
    store_int(out, runtime.gpu_at(ordinal).ordinal)


@api("hipGetDevicePropertiesR0600", POINTER, INT)
def get_device_properties(runtime: HipRuntime, out: int, ordinal: int) -> None:
    require(out)
    properties = properties_of(runtime.gpu_at(ordinal), runtime.settings.memory)
    ctypes.memmove(out, ctypes.addressof(properties), ctypes.sizeof(DeviceProperties))


@api("hipGetDeviceProperties", POINTER, INT)
@api("hipGetDevicePropertiesR0000", POINTER, INT)
def get_device_properties_r0000(runtime: HipRuntime, out: int, ordinal: int) -> None:
    """The layout of ROCm 5: programs that were linked then ask for it by the plain name."""
    require(out)
    now = properties_of(runtime.gpu_at(ordinal), runtime.settings.memory)
    target = DevicePropertiesR0000.from_address(out)
    ctypes.memset(out, 0, ctypes.sizeof(DevicePropertiesR0000))
    for name, *_ in DevicePropertiesR0000._fields_:
        if hasattr(now, name):
            setattr(target, name, getattr(now, name))


@api("hipDeviceGetAttribute", POINTER, INT, INT)
def device_get_attribute(runtime: HipRuntime, out: int, attribute: int, ordinal: int) -> None:
    require(out)
    require(attribute not in runtime.profile.unknown_attributes)
    value = attribute_of(runtime.gpu_at(ordinal), runtime.settings.memory, attribute)
    if value is None:
        raise CallError(Code.INVALID_VALUE, f"device attribute {attribute} is not known")
    store_int(out, value)


@api("hipDeviceGetName", POINTER, INT, INT)
def device_get_name(runtime: HipRuntime, out: int, room: int, ordinal: int) -> None:
    store_text(out, room, device_name(runtime.gpu_at(ordinal)))


@api("hipDeviceGetUuid", POINTER, INT)
def device_get_uuid(runtime: HipRuntime, out: int, ordinal: int) -> None:
    require(out)
    ctypes.memmove(out, uuid_of(runtime.gpu_at(ordinal)), 16)


@api("hipDeviceGetPCIBusId", POINTER, INT, INT)
def device_get_pci_bus_id(runtime: HipRuntime, out: int, room: int, ordinal: int) -> None:
    text = pci_bus_id(runtime.gpu_at(ordinal))
    require(room > len(text))
    store_text(out, room, text)


@api("hipDeviceGetByPCIBusId", POINTER, POINTER)
def device_get_by_pci_bus_id(runtime: HipRuntime, out: int, text: int) -> None:
    require(out)
    wanted = load_text(text).lower()
    for gpu in runtime.gpus:
        if pci_bus_id(gpu) == wanted:
            return store_int(out, gpu.ordinal)
    raise CallError(Code.INVALID_VALUE)


@api("hipDeviceComputeCapability", POINTER, POINTER, INT)
def device_compute_capability(runtime: HipRuntime, major: int, minor: int, ordinal: int) -> None:
    model = runtime.gpu_at(ordinal).model
    store_int(major, model.major)
    store_int(minor, model.minor)


@api("hipDeviceTotalMem", POINTER, INT)
def device_total_mem(runtime: HipRuntime, out: int, ordinal: int) -> None:
    runtime.gpu_at(ordinal)
    store_pointer(out, runtime.settings.memory)


@api("hipDeviceGetStreamPriorityRange", POINTER, POINTER)
def device_get_stream_priority_range(runtime: HipRuntime, least: int, greatest: int) -> None:
    for out, value in zip((least, greatest), _STREAM_PRIORITIES, strict=True):
        if out:
            store_int(out, value)


@api("hipGetDeviceFlags", POINTER)
def get_device_flags(runtime: HipRuntime, out: int) -> None:
    store_int(out, runtime.gpu.flags)


@api("hipSetDeviceFlags", UINT)
def set_device_flags(runtime: HipRuntime, flags: int) -> None:
    # Spin, yield or blocking-sync, with map-host and LMEM-resize bits: a hint that changes nothing here.
    require(flags & ~0x1F == 0 and flags & 7 in (0, 1, 2, 4))
    runtime.gpu.flags = flags
