"""Agents and their instruction sets, caches and wavefronts: iterating them and what they say about themselves."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable

from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.function_table import HANDLE, INT, POINTER, UINT, USHORT, api
from hipgraph_cb.virtual.hsa.native import load_text, require, store_bytes, store_u8, store_u32, store_u64
from hipgraph_cb.virtual.hsa.objects.agent import Agent
from hipgraph_cb.virtual.hsa.objects.runtime import TICKS_PER_SECOND, HsaRuntime
from hipgraph_cb.virtual.hsa.status import Status
from hipgraph_cb.virtual.launch import MAX_WORKGROUP

MAX_QUEUE_SIZE = 1 << 17
MIN_QUEUE_SIZE = 1 << 6
MAX_QUEUES = 128
_GRID = (1 << 32) - 1
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t)
_BASE_PROFILE, _ROUND_NEAR, _ROUND_NEAR_BIT = 0, 2, 1 << 2


def iterate(callback: int, data: int, handles: Iterable[int]) -> int:
    """Call back for each handle; a result other than success ends it and is the result."""
    require(callback)
    call = _Callback(callback)
    for handle in list(handles):
        status = call(handle, data)
        if status:
            return int(status)
    return 0


@api("hsa_iterate_agents", POINTER, POINTER)
def iterate_agents(runtime: HsaRuntime, callback: int, data: int) -> int:
    return iterate(callback, data, runtime.agents)


@api("hsa_agent_get_info", HANDLE, INT, POINTER)
def agent_get_info(runtime: HsaRuntime, handle: int, attribute: int, out: int) -> None:
    agent = runtime.agent(handle)
    require(out)
    value = _basic(agent).get(attribute) or _amd(runtime, agent).get(attribute)
    if value is None:
        raise CallError(Status.INVALID_ARGUMENT, f"agent attribute {attribute:#x} is not known")
    store_bytes(out, value)


def _u16(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}H", *values)


def _u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def _u64(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def _text(text: str, size: int) -> bytes:
    return text.encode()[: size - 1].ljust(size, b"\0")


def _basic(agent: Agent) -> dict[int, bytes]:
    """hsa_agent_info_t, as bytes of the attribute's type."""
    gpu = agent.gpu
    lanes = MAX_WORKGROUP if gpu else 0
    grid = _GRID if gpu else 0
    return {
        0: _text(gpu.model.processor if gpu else "virtual CPU", 64),
        1: _text("AMD" if gpu else "CPU", 64),
        2: _u32(1 if gpu else 0),  # kernel dispatch
        3: _u32(1),  # large machine model
        4: _u32(_BASE_PROFILE if gpu else 1),
        5: _u32(_ROUND_NEAR),
        6: _u32(gpu.model.wavefront_size if gpu else 0),
        7: _u16(lanes, lanes, lanes),
        8: _u32(lanes),
        9: _u32(grid, grid, grid),
        10: _u32(grid),
        11: _u32(32 if gpu else 0),
        12: _u32(MAX_QUEUES if gpu else 0),
        13: _u32(MIN_QUEUE_SIZE if gpu else 0),
        14: _u32(MAX_QUEUE_SIZE if gpu else 0),
        15: _u32(0),  # multi
        16: _u32(agent.node),
        17: _u32(1 if gpu else 0),
        18: _u32(16384, gpu.model.l2_cache if gpu else 1 << 20, 0, 0),
        19: _u64(agent.isa),
        20: bytes(128),
        21: _u16(1),
        22: _u16(1),
        23: _u32(_ROUND_NEAR_BIT),
        24: b"\1" if gpu else b"\0",
    }


def _amd(runtime: HsaRuntime, agent: Agent) -> dict[int, bytes]:
    """hsa_amd_agent_info_t."""
    gpu = agent.gpu
    common = {
        0xA001: _u32(64),
        0xA004: _u32(agent.node),
        0xA005: _u32(0),
        0xA00F: _u32(0),
        0xA012: _u32(0),
        0xA013: b"\1",
        0xA016: _u64(TICKS_PER_SECOND),
    }
    if gpu is None:
        name = _text("virtual CPU", 64)
        return common | {0xA000: _u32(0), 0xA002: _u32(1), 0xA003: _u32(0), 0xA009: name, 0xA011: _text("CPU-XX", 21)}
    model = gpu.model
    waves = model.threads_per_compute_unit // model.wavefront_size
    simds = 4 if model.wavefront_size == 64 else 2
    used = sum(
        known.size for known in runtime.pool_memory.allocations.values() if known.pool.agent.handle == agent.handle
    )
    return common | {
        0xA000: _u32(model.pci_chip),
        0xA002: _u32(model.compute_units),
        0xA003: _u32(model.clock // 1000),
        0xA006: _u32((agent.node + 2) << 8),
        0xA007: _u32(model.memory_bus_bits),
        0xA008: _u32(model.memory_clock // 1000),
        0xA009: _text(model.name, 64),
        0xA00A: _u32(waves),
        0xA00B: _u32(simds),
        0xA00C: _u32(1),
        0xA00D: _u32(1),
        0xA00E: _u64(0, 0),
        0xA010: b"\0",
        0xA011: _text(f"GPU-{0x6867636200000000 + gpu.ordinal:016x}", 21),
        0xA014: _u32(model.compute_units),
        0xA015: _u64(runtime.settings.memory - used),
        0xA107: _u32(0),  # family
        0xA108: _u32(0),
        0xA109: _u32(0),
        0xA10A: _u32(1),  # copy engines
        0xA10B: _u32(0),
        0xA110: _u32(0),  # no IOMMU
        0xA111: _u32(model.xcc_count),
        0xA112: _u32(gpu.ordinal),
        0xA113: _u64(next(iter(runtime.agents))),  # nearest CPU
        0xA114: bytes(8),  # memory properties: no APU
        0xA115: bytes(8),
        0xA116: _u64(0),
        0xA117: _u64(0),
    }


@api("hsa_agent_iterate_isas", HANDLE, POINTER, POINTER)
def iterate_isas(runtime: HsaRuntime, handle: int, callback: int, data: int) -> int:
    agent = runtime.agent(handle)
    return iterate(callback, data, [agent.isa] if agent.isa else [])


@api("hsa_isa_get_info_alt", HANDLE, INT, POINTER)
def isa_get_info_alt(runtime: HsaRuntime, handle: int, attribute: int, out: int) -> None:
    agent = _agent_of_isa(runtime, handle)
    require(out)
    name = agent.isa_name.encode() + b"\0"
    values = {
        0: _u32(len(name)),
        1: name,
        2: _u32(1),
        3: _u32(_wave(agent)),
        4: _u32(_waves(agent)),
        5: b"\0\1",  # small and large machine model
        6: b"\1\0",  # base and full profile
        7: b"\0\0\1",  # default, zero, near
        8: b"\0\0\1",
        9: b"\1",
        12: _u16(MAX_WORKGROUP, MAX_WORKGROUP, MAX_WORKGROUP),
        13: _u32(MAX_WORKGROUP),
        14: _u32(_GRID, _GRID, _GRID),
        16: _u64(_GRID),
        17: _u32(32),
    }
    require(attribute in values, note=f"ISA attribute {attribute} is not known")
    store_bytes(out, values[attribute])


@api("hsa_isa_get_info", HANDLE, INT, UINT, POINTER)
def isa_get_info(runtime: HsaRuntime, handle: int, attribute: int, index: int, out: int) -> None:
    require(index == 0, Status.INVALID_INDEX)
    isa_get_info_alt(runtime, handle, attribute, out)


def _agent_of_isa(runtime: HsaRuntime, handle: int) -> Agent:
    agent = runtime.isas.get(handle)
    if agent is None:
        raise CallError(Status.INVALID_ISA, f"{handle:#x} is no instruction set")
    return agent


def _wave(agent: Agent) -> int:
    return agent.gpu.model.wavefront_size if agent.gpu else 0


def _waves(agent: Agent) -> int:
    return agent.gpu.model.threads_per_compute_unit // agent.gpu.model.wavefront_size if agent.gpu else 0


@api("hsa_isa_from_name", POINTER, POINTER)
def isa_from_name(runtime: HsaRuntime, name_address: int, out: int) -> None:
    require(out)
    name = load_text(name_address)
    for handle, agent in runtime.isas.items():
        if agent.isa_name == name:
            return store_u64(out, handle)
    raise CallError(Status.INVALID_ISA_NAME, f"{name!r} is not the instruction set of an agent")


@api("hsa_isa_compatible", HANDLE, HANDLE, POINTER)
def isa_compatible(runtime: HsaRuntime, code_object: int, handle: int, out: int) -> None:
    names = [_agent_of_isa(runtime, isa).isa_name for isa in (code_object, handle)]
    store_u8(out, names[0] == names[1])


@api("hsa_isa_iterate_wavefronts", HANDLE, POINTER, POINTER)
def iterate_wavefronts(runtime: HsaRuntime, handle: int, callback: int, data: int) -> int:
    _agent_of_isa(runtime, handle)
    return iterate(callback, data, [handle])  # one wavefront a set: its handle is that of the set


@api("hsa_wavefront_get_info", HANDLE, INT, POINTER)
def wavefront_get_info(runtime: HsaRuntime, handle: int, attribute: int, out: int) -> None:
    require(handle in runtime.isas, Status.INVALID_WAVEFRONT)
    require(attribute == 0)
    store_u32(out, _wave(runtime.isas[handle]))


@api("hsa_agent_iterate_caches", HANDLE, POINTER, POINTER)
def iterate_caches(runtime: HsaRuntime, handle: int, callback: int, data: int) -> int:
    runtime.agent(handle)
    return iterate(callback, data, [])


@api("hsa_agent_extension_supported", USHORT, HANDLE, USHORT, USHORT, POINTER)
def agent_extension_supported(
    runtime: HsaRuntime, extension: int, handle: int, major: int, minor: int, out: int
) -> None:
    runtime.agent(handle)
    store_u8(out, 0)


@api("hsa_agent_major_extension_supported", USHORT, HANDLE, USHORT, POINTER, POINTER)
def agent_major_extension_supported(
    runtime: HsaRuntime, extension: int, handle: int, major: int, minor_out: int, out: int
) -> None:
    runtime.agent(handle)
    require(minor_out)
    store_u8(out, 0)
