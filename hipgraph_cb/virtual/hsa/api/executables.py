"""Functions of code object readers, executables and symbols."""

from __future__ import annotations

import ctypes
import os
import struct

from hipgraph_cb.abi.hsa.aql import KERNARG_ALIGNMENT
from hipgraph_cb.abi.hsa.attributes import ExecutableInfo, Profile, RoundingMode, Segment, SymbolInfo, SymbolKind
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.kernel_descriptor import DYNAMIC_STACK
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.function_table import HANDLE, INT, POINTER, SIZE, api
from hipgraph_cb.virtual.hsa.native import load_text, load_u64s, require, store_bytes, store_u32, store_u64
from hipgraph_cb.virtual.hsa.objects.executable import CodeObjectReader, Executable, Symbol
from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime
from hipgraph_cb.virtual.mapped_code import read_mapped

_SymbolCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t)
_AgentSymbolCallback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t
)


@api("hsa_code_object_reader_create_from_memory", POINTER, SIZE, POINTER)
def reader_create_from_memory(runtime: HsaRuntime, address: int, size: int, out: int) -> None:
    require(address and size and out)
    data = read_mapped(address, size)
    require(len(data) == size, note=f"{size} bytes are claimed at {address:#x}, {len(data)} can be read")
    store_u64(out, runtime.readers.add(CodeObjectReader(data, address)))


@api("hsa_code_object_reader_create_from_file", INT, POINTER)
def reader_create_from_file(runtime: HsaRuntime, file: int, out: int) -> None:
    require(out)
    try:
        data = os.pread(file, os.fstat(file).st_size, 0)
    except OSError as error:
        raise CallError(Status.INVALID_FILE, str(error)) from error
    require(data, Status.INVALID_FILE, "the file is empty")
    store_u64(out, runtime.readers.add(CodeObjectReader(data)))


@api("hsa_code_object_reader_destroy", HANDLE, releases=True)
def reader_destroy(runtime: HsaRuntime, handle: int) -> None:
    runtime.readers.pop(handle)


@api("hsa_executable_create_alt", INT, INT, POINTER, POINTER)
def executable_create_alt(runtime: HsaRuntime, profile: int, rounding: int, options: int, out: int) -> None:
    require(profile in tuple(Profile) and rounding in tuple(RoundingMode) and out)
    executable = Executable(runtime, profile, rounding)
    executable.handle = runtime.executables.add(executable)
    store_u64(out, executable.handle)


@api("hsa_executable_create", INT, INT, POINTER, POINTER)
def executable_create(runtime: HsaRuntime, profile: int, state: int, options: int, out: int) -> None:
    require(state in (0, 1))
    executable_create_alt(runtime, profile, RoundingMode.DEFAULT, options, out)
    if state:
        runtime.executables[load_u64s(out, 1)[0]].freeze()


@api("hsa_executable_destroy", HANDLE, releases=True)
def executable_destroy(runtime: HsaRuntime, handle: int) -> None:
    runtime.executables.pop(handle).destroy()


@api("hsa_executable_load_agent_code_object", HANDLE, HANDLE, HANDLE, POINTER, POINTER)
def load_agent_code_object(
    runtime: HsaRuntime, handle: int, agent_handle: int, reader: int, options: int, out: int
) -> None:
    executable = _unfrozen(runtime, handle)
    code_object = executable.load(runtime.agent(agent_handle), runtime.readers[reader])
    if out:
        store_u64(out, code_object.handle)


@api("hsa_executable_load_program_code_object", HANDLE, HANDLE, POINTER, POINTER)
def load_program_code_object(runtime: HsaRuntime, handle: int, reader: int, options: int, out: int) -> None:
    _unfrozen(runtime, handle)
    raise CallError(Status.INVALID_CODE_OBJECT, "AMD's code objects belong to an agent, never to the program")


def _unfrozen(runtime: HsaRuntime, handle: int) -> Executable:
    executable = runtime.executables[handle]
    require(not executable.is_frozen, Status.FROZEN_EXECUTABLE)
    return executable


@api("hsa_executable_freeze", HANDLE, POINTER)
def executable_freeze(runtime: HsaRuntime, handle: int, options: int) -> None:
    _unfrozen(runtime, handle).freeze()


@api("hsa_executable_get_info", HANDLE, INT, POINTER)
def executable_get_info(runtime: HsaRuntime, handle: int, attribute: int, out: int) -> None:
    executable = runtime.executables[handle]
    values: dict[int, int] = {
        ExecutableInfo.PROFILE: executable.profile,
        ExecutableInfo.STATE: int(executable.is_frozen),
        ExecutableInfo.DEFAULT_FLOAT_ROUNDING_MODE: executable.rounding,
    }
    require(attribute in values, note=f"executable attribute {attribute} is not known")
    store_u32(out, values[attribute])


@api("hsa_executable_validate", HANDLE, POINTER)
def executable_validate(runtime: HsaRuntime, handle: int, out: int) -> None:
    """It was verified when it was loaded."""
    runtime.executables[handle]
    store_u32(out, 0)


@api("hsa_executable_validate_alt", HANDLE, POINTER, POINTER)
def executable_validate_alt(runtime: HsaRuntime, handle: int, options: int, out: int) -> None:
    executable_validate(runtime, handle, out)


@api("hsa_executable_global_variable_define", HANDLE, POINTER, POINTER)
def global_variable_define(runtime: HsaRuntime, handle: int, name: int, address: int) -> None:
    _define(_unfrozen(runtime, handle), 0, load_text(name), address)


@api("hsa_executable_agent_global_variable_define", HANDLE, HANDLE, POINTER, POINTER)
@api("hsa_executable_readonly_variable_define", HANDLE, HANDLE, POINTER, POINTER)
def agent_variable_define(runtime: HsaRuntime, handle: int, agent: int, name: int, address: int) -> None:
    _define(_unfrozen(runtime, handle), runtime.agent(agent).handle, load_text(name), address)


def _define(executable: Executable, agent: int, name: str, address: int) -> None:
    """Give a variable an address before a code object that leaves it open is loaded."""
    require((agent, name) not in executable.defined, Status.VARIABLE_ALREADY_DEFINED)
    executable.defined[agent, name] = address


# -- symbols -----------------------------------------------------------------------------------------------------------


@api("hsa_executable_get_symbol_by_name", HANDLE, POINTER, POINTER, POINTER)
def get_symbol_by_name(runtime: HsaRuntime, handle: int, name_address: int, agent: int, out: int) -> None:
    executable = runtime.executables[handle]
    require(out)
    name = load_text(name_address)
    owner = runtime.agent(load_u64s(agent, 1)[0]).handle if agent else 0
    symbol = executable.symbols.get((owner, name))
    if symbol is None:
        note = executable.why_missing(name) if owner else f"{name}: a symbol of an agent is looked up with the agent"
        raise CallError(Status.INVALID_SYMBOL_NAME, note)
    store_u64(out, symbol)


@api("hsa_executable_get_symbol", HANDLE, POINTER, POINTER, HANDLE, INT, POINTER)
def get_symbol(
    runtime: HsaRuntime, handle: int, module: int, name_address: int, agent: int, convention: int, out: int
) -> None:
    executable = runtime.executables[handle]
    require(out)
    name = load_text(name_address)
    symbol = executable.symbols.get((runtime.agent(agent).handle, name))
    if symbol is None:
        raise CallError(Status.INVALID_SYMBOL_NAME, executable.why_missing(name))
    store_u64(out, symbol)


@api("hsa_executable_iterate_symbols", HANDLE, POINTER, POINTER)
def iterate_symbols(runtime: HsaRuntime, handle: int, callback: int, data: int) -> int:
    executable = runtime.executables[handle]
    require(callback)
    for symbol in list(executable.symbols.values()):
        status = _SymbolCallback(callback)(handle, symbol, data)
        if status:
            return int(status)
    return 0


@api("hsa_executable_iterate_agent_symbols", HANDLE, HANDLE, POINTER, POINTER)
def iterate_agent_symbols(runtime: HsaRuntime, handle: int, agent: int, callback: int, data: int) -> int:
    executable = runtime.executables[handle]
    owner = runtime.agent(agent).handle
    require(callback)
    for symbol in [symbol for (known, _), symbol in executable.symbols.items() if known == owner]:
        status = _AgentSymbolCallback(callback)(handle, agent, symbol, data)
        if status:
            return int(status)
    return 0


@api("hsa_executable_iterate_program_symbols", HANDLE, POINTER, POINTER)
def iterate_program_symbols(runtime: HsaRuntime, handle: int, callback: int, data: int) -> None:
    runtime.executables[handle]
    require(callback)


@api("hsa_executable_symbol_get_info", HANDLE, INT, POINTER)
def symbol_get_info(runtime: HsaRuntime, handle: int, attribute: int, out: int) -> None:
    symbol = runtime.symbols[handle]
    require(out)
    value = _of_any(symbol).get(attribute)
    if value is None:
        value = (_of_variable(symbol) if symbol.kernel is None else _of_kernel(symbol)).get(attribute)
    if value is None:
        raise CallError(Status.INVALID_ARGUMENT, f"symbol attribute {attribute} does not exist for {symbol.name}")
    store_bytes(out, value)


def _u32(value: int) -> bytes:
    return struct.pack("<I", value)


def _u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def _of_any(symbol: Symbol) -> dict[int, bytes]:
    name = symbol.name.encode()
    return {
        SymbolInfo.TYPE: _u32(SymbolKind.VARIABLE if symbol.kernel is None else SymbolKind.KERNEL),
        SymbolInfo.NAME_LENGTH: _u32(len(name)),
        SymbolInfo.NAME: name,
        SymbolInfo.MODULE_NAME_LENGTH: _u32(0),
        SymbolInfo.MODULE_NAME: b"",
        SymbolInfo.LINKAGE: _u32(1),  # program
        SymbolInfo.IS_DEFINITION: b"\1",
        SymbolInfo.AGENT: _u64(symbol.agent.handle),
    }


def _of_variable(symbol: Symbol) -> dict[int, bytes]:
    alignment = symbol.address & -symbol.address
    return {
        SymbolInfo.VARIABLE_ALLOCATION: _u32(0),  # agent
        SymbolInfo.VARIABLE_SEGMENT: _u32(Segment.GLOBAL),
        SymbolInfo.VARIABLE_ALIGNMENT: _u32(min(alignment, 4096)),
        SymbolInfo.VARIABLE_SIZE: _u32(symbol.size),
        SymbolInfo.VARIABLE_IS_CONST: b"\0",
        SymbolInfo.VARIABLE_ADDRESS: _u64(symbol.address),
    }


def _of_kernel(symbol: Symbol) -> dict[int, bytes]:
    if symbol.kernel is None:
        return {}
    export = symbol.kernel.export
    alignment = max(KERNARG_ALIGNMENT, export.metadata.kernarg_segment_align)
    return {
        SymbolInfo.KERNEL_KERNARG_SEGMENT_SIZE: _u32(export.descriptor.kernarg_size),
        SymbolInfo.KERNEL_KERNARG_SEGMENT_ALIGNMENT: _u32(alignment),
        SymbolInfo.KERNEL_GROUP_SEGMENT_SIZE: _u32(export.descriptor.group_segment_fixed_size),
        SymbolInfo.KERNEL_PRIVATE_SEGMENT_SIZE: _u32(export.descriptor.private_segment_fixed_size),
        SymbolInfo.KERNEL_DYNAMIC_CALLSTACK: bytes((bool(export.descriptor.kernel_code_properties & DYNAMIC_STACK),)),
        SymbolInfo.KERNEL_CALL_CONVENTION: _u32(0),
        SymbolInfo.KERNEL_OBJECT: _u64(symbol.address),
    }
