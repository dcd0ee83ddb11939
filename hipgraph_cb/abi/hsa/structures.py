"""Structures of the HSA headers. Handles and pointers are plain 64-bit numbers: NULL is 0."""

from __future__ import annotations

import ctypes
from ctypes import c_bool, c_int64, c_uint32, c_uint64
from typing import ClassVar


class Queue(ctypes.Structure):
    """hsa_queue_t."""

    _fields_: ClassVar = [
        ("type", c_uint32),
        ("features", c_uint32),
        ("base_address", c_uint64),
        ("doorbell_signal", c_uint64),
        ("size", c_uint32),
        ("reserved1", c_uint32),
        ("id", c_uint64),
    ]


class AmdQueue(ctypes.Structure):
    """amd_queue_v2_t: hsa_queue_t is its beginning, so an hsa_queue_t* points to one of these."""

    _fields_: ClassVar = [
        ("hsa_queue", Queue),
        ("caps", c_uint32),
        ("reserved1", c_uint32 * 3),
        ("write_dispatch_id", c_uint64),
        ("group_segment_aperture_base_hi", c_uint32),
        ("private_segment_aperture_base_hi", c_uint32),
        ("max_cu_id", c_uint32),
        ("max_wave_id", c_uint32),
        ("max_legacy_doorbell_dispatch_id_plus_1", c_uint64),
        ("legacy_doorbell_lock", c_uint32),
        ("reserved2", c_uint32 * 9),
        ("read_dispatch_id", c_uint64),
        ("read_dispatch_id_field_base_byte_offset", c_uint32),
        ("compute_tmpring_size", c_uint32),
        ("scratch_resource_descriptor", c_uint32 * 4),
        ("scratch_backing_memory_location", c_uint64),
        ("scratch_backing_memory_byte_size", c_uint64),
        ("scratch_wave64_lane_byte_size", c_uint32),
        ("queue_properties", c_uint32),
        ("scratch_max_use_index", c_uint64),
        ("queue_inactive_signal", c_uint64),
        ("reserved4", c_uint32 * 14),
    ]


class AmdSignal(ctypes.Structure):
    """amd_signal_t; an hsa_signal_t is the address of one. A doorbell holds the address to store to as its value."""

    _fields_: ClassVar = [
        ("kind", c_int64),
        ("value", c_int64),
        ("event_mailbox_ptr", c_uint64),
        ("event_id", c_uint32),
        ("reserved1", c_uint32),
        ("start_ts", c_uint64),
        ("end_ts", c_uint64),
        ("queue_ptr", c_uint64),
        ("reserved3", c_uint32 * 2),
    ]


SIGNAL_USER, SIGNAL_DOORBELL = 1, -1
QUEUE_ENABLE_PROFILING = 1 << 3
QUEUE_IS_PTR64 = 1 << 1


class PointerInfo(ctypes.Structure):
    """hsa_amd_pointer_info_t."""

    _fields_: ClassVar = [
        ("size", c_uint32),
        ("type", c_uint32),
        ("agentBaseAddress", c_uint64),
        ("hostBaseAddress", c_uint64),
        ("sizeInBytes", c_uint64),
        ("userData", c_uint64),
        ("agentOwner", c_uint64),
        ("global_flags", c_uint32),
        ("registered", c_bool),
    ]


class MemoryAccess(ctypes.Structure):
    """hsa_amd_memory_access_desc_t."""

    _fields_: ClassVar = [("permissions", c_uint32), ("agent_handle", c_uint64)]


class MemoryFaultEvent(ctypes.Structure):
    """hsa_amd_event_t of type HSA_AMD_GPU_MEMORY_FAULT_EVENT."""

    _fields_: ClassVar = [
        ("event_type", c_uint32),
        ("agent", c_uint64),
        ("virtual_address", c_uint64),
        ("fault_reason_mask", c_uint32),
    ]


class SegmentDescriptor(ctypes.Structure):
    """hsa_ven_amd_loader_segment_descriptor_t."""

    _fields_: ClassVar = [
        ("agent", c_uint64),
        ("executable", c_uint64),
        ("code_object_storage_type", c_uint32),
        ("code_object_storage_base", c_uint64),
        ("code_object_storage_size", c_uint64),
        ("code_object_storage_offset", c_uint64),
        ("segment_base", c_uint64),
        ("segment_size", c_uint64),
    ]


class DispatchTime(ctypes.Structure):
    """hsa_amd_profiling_dispatch_time_t, in ticks of the system."""

    _fields_: ClassVar = [("start", c_uint64), ("end", c_uint64)]


LOADER_PREFIX = "hsa_ven_amd_loader_"


class LoaderTable(ctypes.Structure):
    """hsa_ven_amd_loader_1_03_pfn_t: pointers to the functions of these names behind `LOADER_PREFIX`."""

    _fields_: ClassVar = [
        ("query_host_address", c_uint64),
        ("query_segment_descriptors", c_uint64),
        ("query_executable", c_uint64),
        ("executable_iterate_loaded_code_objects", c_uint64),
        ("loaded_code_object_get_info", c_uint64),
        ("code_object_reader_create_from_file_with_offset_size", c_uint64),
        ("iterate_executables", c_uint64),
    ]


LOADER_TABLE_LENGTHS = {0: 3, 1: 5, 2: 6, 3: 7}
"""How many of them each minor version has."""
