"""The functions, structures and numbers of libhsa-runtime64 that this backend uses, as one table.

Source: hsa.h, hsa_ext_amd.h and hsa_ven_amd_loader.h of ROCr 6 and 7. Handles are structures of one 64-bit number,
which the C ABI of Linux passes like that number.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_bool,
    c_char_p,
    c_int,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from enum import IntEnum
from typing import Any, NamedTuple

LIBRARY = "libhsa-runtime64.so.1"


class Function(NamedTuple):
    """How a function is called. `returns_status` is false where the result is a value and nothing can fail."""

    arguments: tuple[Any, ...]
    result: Any = c_int
    returns_status: bool = True


class QueueStructure(ctypes.Structure):
    """hsa_queue_t."""

    _fields_ = (
        ("type", c_uint32),
        ("features", c_uint32),
        ("base_address", c_void_p),
        ("doorbell_signal", c_uint64),
        ("size", c_uint32),
        ("reserved1", c_uint32),
        ("id", c_uint64),
    )


class MemoryFaultEvent(ctypes.Structure):
    """hsa_amd_event_t with its hsa_amd_gpu_memory_fault_info_t."""

    _fields_ = (
        ("event_type", c_uint32),
        ("agent", c_uint64),
        ("virtual_address", c_uint64),
        ("fault_reason_mask", c_uint32),
    )


class LoaderTable(ctypes.Structure):
    """hsa_ven_amd_loader_1_00_pfn_t and what version 1.01 added."""

    _fields_ = (
        ("query_host_address", c_void_p),
        ("query_segment_descriptors", c_void_p),
        ("query_executable", c_void_p),
        ("executable_iterate_loaded_code_objects", c_void_p),
        ("loaded_code_object_get_info", c_void_p),
    )


class PointerInfo(ctypes.Structure):
    """hsa_amd_pointer_info_t."""

    _fields_ = (
        ("size", c_uint32),
        ("type", c_int),
        ("agent_base_address", c_uint64),
        ("host_base_address", c_uint64),
        ("size_in_bytes", c_uint64),
        ("user_data", c_void_p),
        ("agent_owner", c_uint64),
        ("global_flags", c_uint32),
        ("registered", c_bool),
    )


class DispatchTime(ctypes.Structure):
    """hsa_amd_profiling_dispatch_time_t, in ticks of the system."""

    _fields_ = (("start", c_uint64), ("end", c_uint64))


AgentCallback = CFUNCTYPE(c_int, c_uint64, c_void_p)
"""Also of memory pools and ISAs, whose handles look the same."""
LoadedCodeObjectCallback = CFUNCTYPE(c_int, c_uint64, c_uint64, c_void_p)
QueueErrorCallback = CFUNCTYPE(None, c_int, c_void_p, c_void_p)
EventCallback = CFUNCTYPE(c_int, POINTER(MemoryFaultEvent), c_void_p)
IterateLoadedCodeObjects = CFUNCTYPE(c_int, c_uint64, LoadedCodeObjectCallback, c_void_p)
LoadedCodeObjectGetInfo = CFUNCTYPE(c_int, c_uint64, c_int, c_void_p)

FUNCTIONS: dict[str, Function] = {
    "hsa_init": Function(()),
    "hsa_shut_down": Function(()),
    "hsa_system_get_major_extension_table": Function((c_uint16, c_uint16, c_size_t, c_void_p)),
    "hsa_system_get_info": Function((c_int, c_void_p)),
    "hsa_amd_profiling_set_profiler_enabled": Function((c_void_p, c_int)),
    "hsa_amd_profiling_get_dispatch_time": Function((c_uint64, c_uint64, c_void_p)),
    "hsa_iterate_agents": Function((AgentCallback, c_void_p)),
    "hsa_agent_get_info": Function((c_uint64, c_int, c_void_p)),
    "hsa_agent_iterate_isas": Function((c_uint64, AgentCallback, c_void_p)),
    "hsa_isa_get_info_alt": Function((c_uint64, c_int, c_void_p)),
    "hsa_amd_agent_iterate_memory_pools": Function((c_uint64, AgentCallback, c_void_p)),
    "hsa_amd_memory_pool_get_info": Function((c_uint64, c_int, c_void_p)),
    "hsa_amd_memory_pool_allocate": Function((c_uint64, c_size_t, c_uint32, c_void_p)),
    "hsa_amd_memory_pool_free": Function((c_void_p,)),
    "hsa_amd_agents_allow_access": Function((c_uint32, c_void_p, c_void_p, c_void_p)),
    "hsa_amd_register_system_event_handler": Function((EventCallback, c_void_p)),
    "hsa_amd_pointer_info": Function((c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)),
    "hsa_memory_copy": Function((c_void_p, c_void_p, c_size_t)),
    "hsa_queue_create": Function(
        (c_uint64, c_uint32, c_uint32, QueueErrorCallback, c_void_p, c_uint32, c_uint32, c_void_p)
    ),
    "hsa_queue_destroy": Function((c_void_p,)),
    "hsa_queue_load_read_index_scacquire": Function((c_void_p,), c_uint64, False),
    "hsa_queue_add_write_index_screlease": Function((c_void_p, c_uint64), c_uint64, False),
    "hsa_signal_create": Function((c_int64, c_uint32, c_void_p, c_void_p)),
    "hsa_signal_destroy": Function((c_uint64,)),
    "hsa_signal_load_scacquire": Function((c_uint64,), c_int64, False),
    "hsa_signal_store_screlease": Function((c_uint64, c_int64), None, False),
    "hsa_code_object_reader_create_from_memory": Function((c_char_p, c_size_t, c_void_p)),
    "hsa_code_object_reader_destroy": Function((c_uint64,)),
    "hsa_executable_create_alt": Function((c_int, c_int, c_char_p, c_void_p)),
    "hsa_executable_load_agent_code_object": Function((c_uint64, c_uint64, c_uint64, c_char_p, c_void_p)),
    "hsa_executable_freeze": Function((c_uint64, c_char_p)),
    "hsa_executable_destroy": Function((c_uint64,)),
    "hsa_executable_get_symbol_by_name": Function((c_uint64, c_char_p, c_void_p, c_void_p)),
    "hsa_executable_symbol_get_info": Function((c_uint64, c_int, c_void_p)),
}


class Status(IntEnum):
    """hsa_status_t."""

    SUCCESS = 0x0
    INFO_BREAK = 0x1
    ERROR_INVALID_MEMORY_POOL = 40
    ERROR_MEMORY_APERTURE_VIOLATION = 41
    ERROR_ILLEGAL_INSTRUCTION = 42
    ERROR_MEMORY_FAULT = 43
    CU_MASK_REDUCED = 44
    ERROR_OUT_OF_REGISTERS = 45
    ERROR_RESOURCE_BUSY = 46
    ERROR_NOT_SUPPORTED = 47
    ERROR = 0x1000
    ERROR_INVALID_ARGUMENT = 0x1001
    ERROR_INVALID_QUEUE_CREATION = 0x1002
    ERROR_INVALID_ALLOCATION = 0x1003
    ERROR_INVALID_AGENT = 0x1004
    ERROR_INVALID_REGION = 0x1005
    ERROR_INVALID_SIGNAL = 0x1006
    ERROR_INVALID_QUEUE = 0x1007
    ERROR_OUT_OF_RESOURCES = 0x1008
    ERROR_INVALID_PACKET_FORMAT = 0x1009
    ERROR_RESOURCE_FREE = 0x100A
    ERROR_NOT_INITIALIZED = 0x100B
    ERROR_REFCOUNT_OVERFLOW = 0x100C
    ERROR_INCOMPATIBLE_ARGUMENTS = 0x100D
    ERROR_INVALID_INDEX = 0x100E
    ERROR_INVALID_ISA = 0x100F
    ERROR_INVALID_CODE_OBJECT = 0x1010
    ERROR_INVALID_EXECUTABLE = 0x1011
    ERROR_FROZEN_EXECUTABLE = 0x1012
    ERROR_INVALID_SYMBOL_NAME = 0x1013
    ERROR_VARIABLE_ALREADY_DEFINED = 0x1014
    ERROR_VARIABLE_UNDEFINED = 0x1015
    ERROR_EXCEPTION = 0x1016
    ERROR_INVALID_ISA_NAME = 0x1017
    ERROR_INVALID_CODE_SYMBOL = 0x1018
    ERROR_INVALID_EXECUTABLE_SYMBOL = 0x1019
    ERROR_INVALID_FILE = 0x1020
    ERROR_INVALID_CODE_OBJECT_READER = 0x1021
    ERROR_INVALID_CACHE = 0x1022
    ERROR_INVALID_WAVEFRONT = 0x1023
    ERROR_INVALID_SIGNAL_GROUP = 0x1024
    ERROR_INVALID_RUNTIME_STATE = 0x1025
    ERROR_FATAL = 0x1026


def status_name(code: int) -> str:
    """HSA_STATUS_ERROR_INVALID_AGENT and the like."""
    return f"HSA_STATUS_{Status(code).name}" if code in Status._value2member_map_ else "unknown"


class AgentInfo(IntEnum):
    """Attributes of an agent, hsa_agent_info_t and hsa_amd_agent_info_t."""

    NAME = 0
    PROFILE = 4
    DEFAULT_FLOAT_ROUNDING_MODE = 5
    WAVEFRONT_SIZE = 6
    WORKGROUP_MAX_DIM = 7
    WORKGROUP_MAX_SIZE = 8
    QUEUE_MAX_SIZE = 14
    DEVICE = 17
    COMPUTE_UNIT_COUNT = 0xA002
    PRODUCT_NAME = 0xA009


class SystemInfo(IntEnum):
    TIMESTAMP_FREQUENCY = 3


class IsaInfo(IntEnum):
    NAME_LENGTH = 0
    NAME = 1


class PoolInfo(IntEnum):
    SEGMENT = 0
    GLOBAL_FLAGS = 1
    SIZE = 2
    RUNTIME_ALLOC_ALLOWED = 5


class SymbolInfo(IntEnum):
    TYPE = 0
    VARIABLE_SIZE = 9
    KERNEL_GROUP_SEGMENT_SIZE = 13
    KERNEL_PRIVATE_SEGMENT_SIZE = 14
    KERNEL_DYNAMIC_CALLSTACK = 15
    VARIABLE_ADDRESS = 21
    KERNEL_OBJECT = 22


class LoadedCodeObjectInfo(IntEnum):
    LOAD_BASE = 9
    LOAD_SIZE = 10


DEVICE_CPU, DEVICE_GPU = 0, 1
SEGMENT_GLOBAL, SEGMENT_GROUP = 0, 3
POOL_KERNARG, POOL_FINE_GRAINED, POOL_COARSE_GRAINED = 1, 2, 4
SYMBOL_VARIABLE = 0
QUEUE_TYPE_MULTI = 0
ANY_SEGMENT_SIZE = 0xFFFFFFFF
EXTENSION_AMD_LOADER = 0x201
GPU_MEMORY_FAULT_EVENT = 0
# What the values behind attributes are made of.
BOOL, U8, U16, U32, U64 = c_bool, c_uint8, c_uint16, c_uint32, c_uint64
