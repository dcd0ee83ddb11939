"""Agents and their instruction sets, caches and wavefronts: iterating them and what they say about themselves."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable

from hipgraph_cb.abi.hsa.attributes import (
    FEATURE_KERNEL_DISPATCH,
    MACHINE_MODEL_LARGE,
    AgentInfo,
    DeviceType,
    Extension,
    IsaInfo,
    Profile,
    QueueType,
    RoundingMode,
)
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.function_table import HANDLE, INT, POINTER, UINT, USHORT, api
from hipgraph_cb.virtual.hsa.native import load_text, require, store_bytes, store_u8, store_u32, store_u64
from hipgraph_cb.virtual.hsa.objects.agent import Agent
from hipgraph_cb.virtual.hsa.objects.runtime import TICKS_PER_SECOND, HsaRuntime
from hipgraph_cb.virtual.launch import MAX_WORKGROUP

MAX_QUEUE_SIZE = 1 << 17
MIN_QUEUE_SIZE = 1 << 6
MAX_QUEUES = 128
_GRID = (1 << 32) - 1
_ZERO_OF_A_CPU = (
    AgentInfo.BDFID,
    AgentInfo.MEMORY_WIDTH,
    AgentInfo.MEMORY_MAX_FREQUENCY,
    AgentInfo.MAX_WAVES_PER_CU,
    AgentInfo.NUM_SIMDS_PER_CU,
    AgentInfo.NUM_SHADER_ENGINES,
    AgentInfo.NUM_SHADER_ARRAYS_PER_SE,
)
_PITCH_ALIGNMENT = 256
_NUMBERS_OF_IMAGES = {
    AgentInfo.IMAGE_1D_MAX_ELEMENTS: 1,
    AgentInfo.IMAGE_1DA_MAX_ELEMENTS: 1,
    AgentInfo.IMAGE_1DB_MAX_ELEMENTS: 1,
    AgentInfo.IMAGE_2D_MAX_ELEMENTS: 2,
    AgentInfo.IMAGE_2DA_MAX_ELEMENTS: 2,
    AgentInfo.IMAGE_2DDEPTH_MAX_ELEMENTS: 2,
    AgentInfo.IMAGE_2DADEPTH_MAX_ELEMENTS: 2,
    AgentInfo.IMAGE_3D_MAX_ELEMENTS: 3,
    AgentInfo.IMAGE_ARRAY_MAX_LAYERS: 1,
    AgentInfo.MAX_IMAGE_RD_HANDLES: 1,
    AgentInfo.MAX_IMAGE_RORW_HANDLES: 1,
    AgentInfo.MAX_SAMPLER_HANDLERS: 1,
}
"""How many numbers each attribute has."""
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t)


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
    value = _basic(agent).get(attribute) or _images(agent).get(attribute) or _amd(runtime, agent).get(attribute)
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
        AgentInfo.NAME: _text(gpu.model.processor if gpu else "virtual CPU", 64),
        AgentInfo.VENDOR_NAME: _text("AMD" if gpu else "CPU", 64),
        AgentInfo.FEATURE: _u32(FEATURE_KERNEL_DISPATCH if gpu else 0),
        AgentInfo.MACHINE_MODEL: _u32(MACHINE_MODEL_LARGE),
        AgentInfo.PROFILE: _u32(Profile.BASE if gpu else Profile.FULL),
        AgentInfo.DEFAULT_FLOAT_ROUNDING_MODE: _u32(RoundingMode.NEAR),
        AgentInfo.WAVEFRONT_SIZE: _u32(gpu.model.wavefront_size if gpu else 0),
        AgentInfo.WORKGROUP_MAX_DIM: _u16(lanes, lanes, lanes),
        AgentInfo.WORKGROUP_MAX_SIZE: _u32(lanes),
        AgentInfo.GRID_MAX_DIM: _u32(grid, grid, grid),
        AgentInfo.GRID_MAX_SIZE: _u32(grid),
        AgentInfo.FBARRIER_MAX_SIZE: _u32(32 if gpu else 0),
        AgentInfo.QUEUES_MAX: _u32(MAX_QUEUES if gpu else 0),
        AgentInfo.QUEUE_MIN_SIZE: _u32(MIN_QUEUE_SIZE if gpu else 0),
        AgentInfo.QUEUE_MAX_SIZE: _u32(MAX_QUEUE_SIZE if gpu else 0),
        AgentInfo.QUEUE_TYPE: _u32(QueueType.MULTI),
        AgentInfo.NODE: _u32(agent.node),
        AgentInfo.DEVICE: _u32(DeviceType.GPU if gpu else DeviceType.CPU),
        AgentInfo.CACHE_SIZE: _u32(16384, gpu.model.l2_cache if gpu else 1 << 20, 0, 0),
        AgentInfo.ISA: _u64(agent.isa),
        AgentInfo.EXTENSIONS: bytes((1 << Extension.IMAGES if gpu else 0,)).ljust(128, b"\0"),
        AgentInfo.VERSION_MAJOR: _u16(1),
        AgentInfo.VERSION_MINOR: _u16(1),
        AgentInfo.BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES: _u32(1 << RoundingMode.NEAR),
        AgentInfo.FAST_F16_OPERATION: b"\1" if gpu else b"\0",
    }


def _images(agent: Agent) -> dict[int, bytes]:
    """The additions for images: a GPU has none, and says how rows of memory are aligned."""
    if agent.gpu is None:
        return {}
    values: dict[int, bytes] = {attribute: _u32(*[0] * count) for attribute, count in _NUMBERS_OF_IMAGES.items()}
    return values | {AgentInfo.IMAGE_LINEAR_ROW_PITCH_ALIGNMENT: _u32(_PITCH_ALIGNMENT)}


def _amd(runtime: HsaRuntime, agent: Agent) -> dict[int, bytes]:
    """hsa_amd_agent_info_t."""
    gpu = agent.gpu
    common: dict[int, bytes] = {
        AgentInfo.CACHELINE_SIZE: _u32(64),
        AgentInfo.DRIVER_NODE_ID: _u32(agent.node),
        AgentInfo.MAX_ADDRESS_WATCH_POINTS: _u32(0),
        AgentInfo.DOMAIN: _u32(0),
        AgentInfo.ASIC_REVISION: _u32(0),
        AgentInfo.SVM_DIRECT_HOST_ACCESS: b"\1",
        AgentInfo.TIMESTAMP_FREQUENCY: _u64(TICKS_PER_SECOND),
    }
    if gpu is None:
        name = _text("virtual CPU", 64)
        return common | {
            AgentInfo.CHIP_ID: _u32(0),
            AgentInfo.COMPUTE_UNIT_COUNT: _u32(1),
            AgentInfo.MAX_CLOCK_FREQUENCY: _u32(0),
            AgentInfo.PRODUCT_NAME: name,
            AgentInfo.UUID: _text("CPU-XX", 21),
            **dict.fromkeys(_ZERO_OF_A_CPU, _u32(0)),
        }
    model = gpu.model
    waves = model.threads_per_compute_unit // model.wavefront_size
    simds = 4 if model.wavefront_size == 64 else 2
    return common | {
        AgentInfo.CHIP_ID: _u32(model.pci_chip),
        AgentInfo.COMPUTE_UNIT_COUNT: _u32(model.compute_units),
        AgentInfo.MAX_CLOCK_FREQUENCY: _u32(model.clock // 1000),
        AgentInfo.BDFID: _u32((agent.node + 2) << 8),
        AgentInfo.MEMORY_WIDTH: _u32(model.memory_bus_bits),
        AgentInfo.MEMORY_MAX_FREQUENCY: _u32(model.memory_clock // 1000),
        AgentInfo.PRODUCT_NAME: _text(model.name, 64),
        AgentInfo.MAX_WAVES_PER_CU: _u32(waves),
        AgentInfo.NUM_SIMDS_PER_CU: _u32(simds),
        AgentInfo.NUM_SHADER_ENGINES: _u32(1),
        AgentInfo.NUM_SHADER_ARRAYS_PER_SE: _u32(1),
        AgentInfo.HDP_FLUSH: _u64(0, 0),
        AgentInfo.COOPERATIVE_QUEUES: b"\1",
        AgentInfo.UUID: _text(f"GPU-{0x6867636200000000 + gpu.ordinal:016x}", 21),
        AgentInfo.COOPERATIVE_COMPUTE_UNIT_COUNT: _u32(model.compute_units),
        AgentInfo.MEMORY_AVAIL: _u64(runtime.settings.memory - runtime.used(agent)),
        AgentInfo.ASIC_FAMILY_ID: _u32(0),
        AgentInfo.UCODE_VERSION: _u32(0),
        AgentInfo.SDMA_UCODE_VERSION: _u32(0),
        AgentInfo.NUM_SDMA_ENG: _u32(1),
        AgentInfo.NUM_SDMA_XGMI_ENG: _u32(0),
        AgentInfo.IOMMU_SUPPORT: _u32(0),
        AgentInfo.NUM_XCC: _u32(model.xcc_count),
        AgentInfo.DRIVER_UID: _u32(gpu.ordinal),
        AgentInfo.NEAREST_CPU: _u64(next(iter(runtime.agents))),
        AgentInfo.MEMORY_PROPERTIES: bytes(8),  # no APU
        AgentInfo.AQL_EXTENSIONS: bytes(8),
        AgentInfo.SCRATCH_LIMIT_MAX: _u64(0),
        AgentInfo.SCRATCH_LIMIT_CURRENT: _u64(0),
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
    values: dict[int, bytes] = {
        IsaInfo.NAME_LENGTH: _u32(len(name)),
        IsaInfo.NAME: name,
        IsaInfo.CALL_CONVENTION_COUNT: _u32(1),
        IsaInfo.CALL_CONVENTION_INFO_WAVEFRONT_SIZE: _u32(_wave(agent)),
        IsaInfo.CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT: _u32(_waves(agent)),
        IsaInfo.MACHINE_MODELS: b"\0\1",  # small and large machine model
        IsaInfo.PROFILES: b"\1\0",  # base and full profile
        IsaInfo.DEFAULT_FLOAT_ROUNDING_MODES: b"\0\0\1",  # default, zero, near
        IsaInfo.BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES: b"\0\0\1",
        IsaInfo.FAST_F16_OPERATION: b"\1",
        IsaInfo.WORKGROUP_MAX_DIM: _u16(MAX_WORKGROUP, MAX_WORKGROUP, MAX_WORKGROUP),
        IsaInfo.WORKGROUP_MAX_SIZE: _u32(MAX_WORKGROUP),
        IsaInfo.GRID_MAX_DIM: _u32(_GRID, _GRID, _GRID),
        IsaInfo.GRID_MAX_SIZE: _u64(_GRID),
        IsaInfo.FBARRIER_MAX_SIZE: _u32(32),
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
        raise CallError(Status.INVALID_ISA, f"{handle:#x} is not an instruction set")
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
