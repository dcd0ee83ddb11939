"""Structures of the HSA headers, as ctypes: hsa.h, hsa_ext_amd.h, amd_hsa_queue.h, amd_hsa_signal.h."""

from __future__ import annotations

import ctypes
from ctypes import c_int64, c_uint8, c_uint16, c_uint32, c_uint64
from typing import ClassVar


class QueueHeader(ctypes.Structure):
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
        ("hsa_queue", QueueHeader),
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


class DispatchPacket(ctypes.Structure):
    """hsa_kernel_dispatch_packet_t."""

    _fields_: ClassVar = [
        ("header", c_uint16),
        ("setup", c_uint16),
        ("workgroup_size", c_uint16 * 3),
        ("reserved0", c_uint16),
        ("grid_size", c_uint32 * 3),
        ("private_segment_size", c_uint32),
        ("group_segment_size", c_uint32),
        ("kernel_object", c_uint64),
        ("kernarg_address", c_uint64),
        ("reserved2", c_uint64),
        ("completion_signal", c_uint64),
    ]


class BarrierPacket(ctypes.Structure):
    """hsa_barrier_and_packet_t and hsa_barrier_or_packet_t."""

    _fields_: ClassVar = [
        ("header", c_uint16),
        ("reserved0", c_uint16),
        ("reserved1", c_uint32),
        ("dep_signal", c_uint64 * 5),
        ("reserved2", c_uint64),
        ("completion_signal", c_uint64),
    ]


class BarrierValuePacket(ctypes.Structure):
    """hsa_amd_barrier_value_packet_t."""

    _fields_: ClassVar = [
        ("header", c_uint16),
        ("amd_format", c_uint8),
        ("reserved", c_uint8),
        ("reserved0", c_uint32),
        ("signal", c_uint64),
        ("value", c_int64),
        ("mask", c_int64),
        ("cond", c_uint32),
        ("reserved1", c_uint32),
        ("reserved2", c_uint64),
        ("reserved3", c_uint64),
        ("completion_signal", c_uint64),
    ]


PACKET_SIZE = 64
VENDOR_SPECIFIC, INVALID, KERNEL_DISPATCH, BARRIER_AND, AGENT_DISPATCH, BARRIER_OR = range(6)
BARRIER_BIT = 1 << 8
AMD_BARRIER_VALUE = 2


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
    ]


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
