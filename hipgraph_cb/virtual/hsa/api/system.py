"""Initialisation, the system's facts, extensions, status texts, system events."""

from __future__ import annotations

import ctypes

from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.api.loader_table import LOADER_TABLE
from hipgraph_cb.virtual.hsa.function_table import INT, POINTER, SIZE, USHORT, api
from hipgraph_cb.virtual.hsa.native import (
    require,
    static_text,
    store_bytes,
    store_u8,
    store_u16,
    store_u32,
    store_u64,
)
from hipgraph_cb.virtual.hsa.objects.runtime import TICKS_PER_SECOND, HsaRuntime, now
from hipgraph_cb.virtual.hsa.status import Status, text_of

_MOST_REFERENCES = (1 << 31) - 1
AMD_LOADER = 0x201
_NAMES = {
    0: "HSA_EXTENSION_FINALIZER",
    1: "HSA_EXTENSION_IMAGES",
    2: "HSA_EXTENSION_PERFORMANCE_COUNTERS",
    3: "HSA_EXTENSION_PROFILING_EVENTS",
    0x200: "HSA_EXTENSION_AMD_PROFILER",
    AMD_LOADER: "HSA_EXTENSION_AMD_LOADER",
    0x202: "HSA_EXTENSION_AMD_AQLPROFILE",
}
_LOADER_VERSION = (1, 3)
_TABLE_LENGTHS = {0: 3, 1: 5, 2: 6, 3: 7}
"""Functions in the loader's table, by minor version."""


@api("hsa_init", before_init=True)
def init(runtime: HsaRuntime) -> None:
    require(runtime.references < _MOST_REFERENCES, Status.REFCOUNT_OVERFLOW)
    runtime.references += 1


@api("hsa_shut_down")
def shut_down(runtime: HsaRuntime) -> None:
    runtime.references -= 1
    if not runtime.references:
        runtime.release_all()


@api("hsa_status_string", INT, POINTER, before_init=True)
def status_string(runtime: HsaRuntime, status: int, out: int) -> None:
    require(status in Status._value2member_map_)
    store_u64(out, static_text(text_of(Status(status))))


@api("hsa_system_get_info", INT, POINTER)
def system_get_info(runtime: HsaRuntime, attribute: int, out: int) -> None:
    require(out)
    numbers = {0: (store_u16, 1), 1: (store_u16, 1), 5: (store_u32, 0), 6: (store_u32, 1)}
    numbers |= {2: (store_u64, now()), 3: (store_u64, TICKS_PER_SECOND), 4: (store_u64, (1 << 64) - 1)}
    numbers |= {0x207: (store_u16, 1), 0x208: (store_u16, 6)}
    numbers |= dict.fromkeys(range(513, 519), (store_u8, 0))
    if attribute == 7:  # one bit an extension
        mask = bytearray(128)
        mask[AMD_LOADER // 8] |= 1 << AMD_LOADER % 8
        return store_bytes(out, bytes(mask))
    if attribute == 0x200:
        return store_bytes(out, b"hipgraph_cb virtual\0")
    require(attribute in numbers, note=f"system attribute {attribute:#x} is not known")
    store, value = numbers[attribute]
    return store(out, value)


@api("hsa_extension_get_name", USHORT, POINTER)
def extension_get_name(runtime: HsaRuntime, extension: int, out: int) -> None:
    require(extension in _NAMES)
    store_u64(out, static_text(_NAMES[extension]))


@api("hsa_system_extension_supported", USHORT, USHORT, USHORT, POINTER)
def extension_supported(runtime: HsaRuntime, extension: int, major: int, minor: int, out: int) -> None:
    require(extension in _NAMES and out)
    store_u8(out, extension == AMD_LOADER and major == _LOADER_VERSION[0] and minor <= _LOADER_VERSION[1])


@api("hsa_system_major_extension_supported", USHORT, USHORT, POINTER, POINTER)
def major_extension_supported(runtime: HsaRuntime, extension: int, major: int, minor_out: int, out: int) -> None:
    require(extension in _NAMES and out and minor_out)
    is_supported = extension == AMD_LOADER and major == _LOADER_VERSION[0]
    store_u8(out, is_supported)
    if is_supported:
        store_u16(minor_out, _LOADER_VERSION[1])


@api("hsa_system_get_major_extension_table", USHORT, USHORT, SIZE, POINTER)
def get_major_extension_table(runtime: HsaRuntime, extension: int, major: int, length: int, out: int) -> None:
    require(out and length)
    require(extension == AMD_LOADER and major == _LOADER_VERSION[0], Status.ERROR, "only AMD_LOADER 1 is there")
    table = _loader_table(runtime, len(LOADER_TABLE))
    store_bytes(out, table[:length])


@api("hsa_system_get_extension_table", USHORT, USHORT, USHORT, POINTER)
def get_extension_table(runtime: HsaRuntime, extension: int, major: int, minor: int, out: int) -> None:
    require(out)
    is_known = extension == AMD_LOADER and major == _LOADER_VERSION[0] and minor in _TABLE_LENGTHS
    require(is_known, Status.ERROR, "only AMD_LOADER 1.0 to 1.3 is there")
    store_bytes(out, _loader_table(runtime, _TABLE_LENGTHS[minor]))


def _loader_table(runtime: HsaRuntime, length: int) -> bytes:
    addresses = [runtime.locate(name) for name in LOADER_TABLE[:length]]
    return bytes((ctypes.c_uint64 * length)(*addresses))


@api("hsa_amd_register_system_event_handler", POINTER, POINTER)
def register_system_event_handler(runtime: HsaRuntime, callback: int, data: int) -> None:
    if not callback:
        raise CallError(Status.INVALID_ARGUMENT)
    runtime.event_handlers.append((callback, data))
