"""Initialisation, the system's facts, extensions, status texts, system events."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from hipgraph_cb.abi.hsa.attributes import MACHINE_MODEL_LARGE, Extension, SystemInfo
from hipgraph_cb.abi.hsa.status import Status, status_text
from hipgraph_cb.abi.hsa.structures import LOADER_TABLE_LENGTHS
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

_MOST_REFERENCES = (1 << 31) - 1
_NAMES = {int(extension): f"HSA_EXTENSION_{extension.name}" for extension in Extension}
_LOADER_VERSION = (1, 3)


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
    store_u64(out, static_text(status_text(Status(status))))


@api("hsa_system_get_info", INT, POINTER)
def system_get_info(runtime: HsaRuntime, attribute: int, out: int) -> None:
    require(out)
    if attribute == SystemInfo.EXTENSIONS:  # one bit an extension
        mask = bytearray(128)
        mask[Extension.AMD_LOADER // 8] |= 1 << Extension.AMD_LOADER % 8
        return store_bytes(out, bytes(mask))
    if attribute == SystemInfo.AMD_BUILD_VERSION:
        return store_bytes(out, b"hipgraph_cb virtual\0")
    numbers = _system_numbers()
    require(attribute in numbers, note=f"system attribute {attribute:#x} is not known")
    store, value = numbers[attribute]
    return store(out, value)


def _system_numbers() -> dict[int, tuple[Callable[[int, int], None], int]]:
    """hsa_system_info_t: how a value is stored, and the value."""
    absent = range(SystemInfo.SVM_SUPPORTED, SystemInfo.XNACK_ENABLED + 1)
    return {
        SystemInfo.VERSION_MAJOR: (store_u16, 1),
        SystemInfo.VERSION_MINOR: (store_u16, 1),
        SystemInfo.TIMESTAMP: (store_u64, now()),
        SystemInfo.TIMESTAMP_FREQUENCY: (store_u64, TICKS_PER_SECOND),
        SystemInfo.SIGNAL_MAX_WAIT: (store_u64, (1 << 64) - 1),
        SystemInfo.ENDIANNESS: (store_u32, 0),
        SystemInfo.MACHINE_MODEL: (store_u32, MACHINE_MODEL_LARGE),
        SystemInfo.EXT_VERSION_MAJOR: (store_u16, 1),
        SystemInfo.EXT_VERSION_MINOR: (store_u16, 6),
        **dict.fromkeys(absent, (store_u8, 0)),
        SystemInfo.VIRTUAL_MEM_API_SUPPORTED: (store_u8, 1),
    }


@api("hsa_extension_get_name", USHORT, POINTER)
def extension_get_name(runtime: HsaRuntime, extension: int, out: int) -> None:
    require(extension in _NAMES)
    store_u64(out, static_text(_NAMES[extension]))


@api("hsa_system_extension_supported", USHORT, USHORT, USHORT, POINTER)
def extension_supported(runtime: HsaRuntime, extension: int, major: int, minor: int, out: int) -> None:
    require(extension in _NAMES and out)
    store_u8(out, extension == Extension.AMD_LOADER and major == _LOADER_VERSION[0] and minor <= _LOADER_VERSION[1])


@api("hsa_system_major_extension_supported", USHORT, USHORT, POINTER, POINTER)
def major_extension_supported(runtime: HsaRuntime, extension: int, major: int, minor_out: int, out: int) -> None:
    require(extension in _NAMES and out and minor_out)
    is_supported = extension == Extension.AMD_LOADER and major == _LOADER_VERSION[0]
    store_u8(out, is_supported)
    if is_supported:
        store_u16(minor_out, _LOADER_VERSION[1])


@api("hsa_system_get_major_extension_table", USHORT, USHORT, SIZE, POINTER)
def get_major_extension_table(runtime: HsaRuntime, extension: int, major: int, length: int, out: int) -> None:
    require(out and length)
    require(
        extension == Extension.AMD_LOADER and major == _LOADER_VERSION[0], Status.ERROR, "only AMD_LOADER 1 is there"
    )
    table = _loader_table(runtime, len(LOADER_TABLE))
    store_bytes(out, table[:length])


@api("hsa_system_get_extension_table", USHORT, USHORT, USHORT, POINTER)
def get_extension_table(runtime: HsaRuntime, extension: int, major: int, minor: int, out: int) -> None:
    require(out)
    is_known = extension == Extension.AMD_LOADER and major == _LOADER_VERSION[0] and minor in LOADER_TABLE_LENGTHS
    require(is_known, Status.ERROR, "only AMD_LOADER 1.0 to 1.3 is there")
    store_bytes(out, _loader_table(runtime, LOADER_TABLE_LENGTHS[minor]))


def _loader_table(runtime: HsaRuntime, length: int) -> bytes:
    addresses = [runtime.locate(name) for name in LOADER_TABLE[:length]]
    return bytes((ctypes.c_uint64 * length)(*addresses))


@api("hsa_amd_register_system_event_handler", POINTER, POINTER)
def register_system_event_handler(runtime: HsaRuntime, callback: int, data: int) -> None:
    if not callback:
        raise CallError(Status.INVALID_ARGUMENT)
    runtime.event_handlers.append((callback, data))
