"""The functions of libhsa-runtime64 that this backend uses, as one table.

Source: hsa.h, hsa_ext_amd.h and hsa_ven_amd_loader.h of ROCr 6 and 7. Handles are structures of one 64-bit number,
which the C ABI of Linux passes like that number.
"""

from __future__ import annotations

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
from typing import Any, NamedTuple

from hipgraph_cb.abi.hsa.structures import MemoryFaultEvent


class Function(NamedTuple):
    """How a function is called. `returns_status` is false where the result is a value and nothing can fail."""

    arguments: tuple[Any, ...]
    result: Any = c_int
    returns_status: bool = True


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
    "hsa_amd_agent_memory_pool_get_info": Function((c_uint64, c_uint64, c_int, c_void_p)),
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
    "hsa_signal_wait_scacquire": Function((c_uint64, c_int, c_int64, c_uint64, c_int), c_int64, False),
    "hsa_code_object_reader_create_from_memory": Function((c_char_p, c_size_t, c_void_p)),
    "hsa_code_object_reader_destroy": Function((c_uint64,)),
    "hsa_executable_create_alt": Function((c_int, c_int, c_char_p, c_void_p)),
    "hsa_executable_agent_global_variable_define": Function((c_uint64, c_uint64, c_char_p, c_uint64)),
    "hsa_executable_load_agent_code_object": Function((c_uint64, c_uint64, c_uint64, c_char_p, c_void_p)),
    "hsa_executable_freeze": Function((c_uint64, c_char_p)),
    "hsa_executable_destroy": Function((c_uint64,)),
    "hsa_executable_get_symbol_by_name": Function((c_uint64, c_char_p, c_void_p, c_void_p)),
    "hsa_executable_symbol_get_info": Function((c_uint64, c_int, c_void_p)),
}

# What the values behind attributes are made of.
BOOL, U8, U16, U32, U64 = c_bool, c_uint8, c_uint16, c_uint32, c_uint64
