"""AMD's loader extension: from device addresses to host addresses, and what executables are made of."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator

from hipgraph_cb.abi.hsa.attributes import LoadedCodeObjectInfo
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import LOADER_PREFIX, LoaderTable, SegmentDescriptor
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.function_table import HANDLE, INT, POINTER, SIZE, api
from hipgraph_cb.virtual.hsa.native import load_u64s, require, store_bytes, store_u64
from hipgraph_cb.virtual.hsa.objects.executable import CodeObjectReader, LoadedCodeObject
from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime

LOADER_TABLE = tuple(LOADER_PREFIX + field[0] for field in LoaderTable._fields_)
"""The functions of hsa_ven_amd_loader_1_03_pfn_t, in order; earlier versions have fewer."""

_KIND_AGENT, _STORAGE_FILE, _STORAGE_MEMORY = 2, 1, 2
_LoadedCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t)
_ExecutableCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t)


def _holding(runtime: HsaRuntime, address: int) -> LoadedCodeObject | None:
    for code_object in runtime.loaded_code_objects.values():
        if code_object.module.address <= address < code_object.module.address + code_object.size:
            return code_object
    return None


@api(LOADER_TABLE[0], POINTER, POINTER)
def query_host_address(runtime: HsaRuntime, address: int, out: int) -> None:
    """Device addresses are host addresses."""
    require(address and out)
    require(_holding(runtime, address) is not None, note=f"{address:#x} is in no loaded code object")
    store_u64(out, address)


@api(LOADER_TABLE[1], POINTER, POINTER)
def query_segment_descriptors(runtime: HsaRuntime, out: int, count_address: int) -> None:
    """Without a table, only their number."""
    require(count_address)
    descriptors = list(_descriptors(runtime))
    if not out:
        require(not load_u64s(count_address, 1)[0])
        return store_u64(count_address, len(descriptors))
    require(load_u64s(count_address, 1)[0] == len(descriptors), Status.INCOMPATIBLE_ARGUMENTS)
    return store_bytes(out, b"".join(bytes(descriptor) for descriptor in descriptors))


def _descriptors(runtime: HsaRuntime) -> Iterator[SegmentDescriptor]:
    for code_object in runtime.loaded_code_objects.values():
        for segment in code_object.module.executable.code_object.loadable():
            yield SegmentDescriptor(
                code_object.agent.handle,
                code_object.executable.handle,
                _storage(code_object.reader),
                code_object.reader.address,
                len(code_object.reader.data),
                segment.file_offset,
                code_object.module.address + segment.address,
                segment.memory_size,
            )


def _storage(reader: CodeObjectReader) -> int:
    return _STORAGE_MEMORY if reader.address else _STORAGE_FILE


@api(LOADER_TABLE[2], POINTER, POINTER)
def query_executable(runtime: HsaRuntime, address: int, out: int) -> None:
    require(address and out)
    code_object = _holding(runtime, address)
    if code_object is None:
        raise CallError(Status.INVALID_ARGUMENT, f"{address:#x} is in no loaded code object")
    store_u64(out, code_object.executable.handle)


@api(LOADER_TABLE[3], HANDLE, POINTER, POINTER)
def iterate_loaded_code_objects(runtime: HsaRuntime, handle: int, callback: int, data: int) -> int:
    executable = runtime.executables[handle]
    require(callback)
    for code_object in list(executable.loaded):
        status = _LoadedCallback(callback)(handle, code_object.handle, data)
        if status:
            return int(status)
    return 0


@api(LOADER_TABLE[4], HANDLE, INT, POINTER)
def loaded_code_object_get_info(runtime: HsaRuntime, handle: int, attribute: int, out: int) -> None:
    code_object = runtime.loaded_code_objects[handle]
    require(out)
    uri = _uri(code_object).encode()
    values: dict[int, bytes] = {
        LoadedCodeObjectInfo.EXECUTABLE: struct.pack("<Q", code_object.executable.handle),
        LoadedCodeObjectInfo.KIND: struct.pack("<I", _KIND_AGENT),
        LoadedCodeObjectInfo.AGENT: struct.pack("<Q", code_object.agent.handle),
        LoadedCodeObjectInfo.CODE_OBJECT_STORAGE_TYPE: struct.pack("<I", _storage(code_object.reader)),
        LoadedCodeObjectInfo.CODE_OBJECT_STORAGE_MEMORY_BASE: struct.pack("<Q", code_object.reader.address),
        LoadedCodeObjectInfo.CODE_OBJECT_STORAGE_MEMORY_SIZE: struct.pack("<Q", len(code_object.reader.data)),
        LoadedCodeObjectInfo.LOAD_DELTA: struct.pack("<q", code_object.module.address),
        LoadedCodeObjectInfo.LOAD_BASE: struct.pack("<Q", code_object.module.address),
        LoadedCodeObjectInfo.LOAD_SIZE: struct.pack("<Q", code_object.size),
        LoadedCodeObjectInfo.URI_LENGTH: struct.pack("<I", len(uri)),
        LoadedCodeObjectInfo.URI: uri,
    }
    require(attribute in values, note=f"attribute {attribute} of a loaded code object is not known")
    store_bytes(out, values[attribute])


def _uri(code_object: LoadedCodeObject) -> str:
    reader = code_object.reader
    return f"memory://{os.getpid()}#offset={reader.address:#x}&size={len(reader.data)}"


@api(LOADER_TABLE[5], INT, SIZE, SIZE, POINTER)
def reader_create_from_file(runtime: HsaRuntime, file: int, offset: int, size: int, out: int) -> None:
    require(out and size)
    try:
        data = os.pread(file, size, offset)
    except OSError as error:
        raise CallError(Status.INVALID_FILE, str(error)) from error
    require(len(data) == size, Status.INVALID_FILE, f"the file holds {len(data)} of {size} bytes at {offset}")
    store_u64(out, runtime.readers.add(CodeObjectReader(data)))


@api(LOADER_TABLE[6], POINTER, POINTER)
def iterate_executables(runtime: HsaRuntime, callback: int, data: int) -> int:
    require(callback)
    for executable in runtime.executables.values():
        status = _ExecutableCallback(callback)(executable.handle, data)
        if status:
            return int(status)
    return 0
