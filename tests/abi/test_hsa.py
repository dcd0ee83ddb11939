"""The HSA header facts, compared with what a C compiler prints for AMD's public headers and with the specification."""

from __future__ import annotations

import ctypes

import pytest

from hipgraph_cb.abi.hsa import aql, structures
from hipgraph_cb.abi.hsa.attributes import AgentInfo, IsaInfo, LoadedCodeObjectInfo, PoolInfo, SymbolInfo, SystemInfo
from hipgraph_cb.abi.hsa.status import Status, status_name

# sizeof and offsetof, as printed by a C program compiled against hsa.h, hsa_ext_amd.h, hsa_ven_amd_loader.h,
# amd_hsa_queue.h and amd_hsa_signal.h.
PUBLISHED = {
    "Queue": (40, {"base_address": 8, "doorbell_signal": 16, "size": 24, "id": 32}),
    "AmdQueue": (
        256,
        {
            "write_dispatch_id": 56,
            "max_cu_id": 72,
            "max_legacy_doorbell_dispatch_id_plus_1": 80,
            "read_dispatch_id": 128,
            "read_dispatch_id_field_base_byte_offset": 136,
            "scratch_resource_descriptor": 144,
            "scratch_backing_memory_location": 160,
            "scratch_wave64_lane_byte_size": 176,
            "queue_properties": 180,
            "queue_inactive_signal": 192,
        },
    ),
    "AmdSignal": (
        64,
        {"kind": 0, "value": 8, "event_mailbox_ptr": 16, "event_id": 24, "start_ts": 32, "end_ts": 40, "queue_ptr": 48},
    ),
    "DispatchPacket": (
        64,
        {
            "setup": 2,
            "workgroup_size": 4,
            "grid_size": 12,
            "private_segment_size": 24,
            "group_segment_size": 28,
            "kernel_object": 32,
            "kernarg_address": 40,
            "completion_signal": 56,
        },
    ),
    "BarrierPacket": (64, {"dep_signal": 8, "completion_signal": 56}),
    "BarrierValuePacket": (64, {"signal": 8, "value": 16, "mask": 24, "cond": 32, "completion_signal": 56}),
    "PointerInfo": (
        56,
        {
            "type": 4,
            "agentBaseAddress": 8,
            "sizeInBytes": 24,
            "userData": 32,
            "agentOwner": 40,
            "global_flags": 48,
            "registered": 52,
        },
    ),
    "LoaderTable": (56, {"executable_iterate_loaded_code_objects": 24, "loaded_code_object_get_info": 32}),
    "DispatchTime": (16, {"start": 0, "end": 8}),
    "MemoryFaultEvent": (32, {"agent": 8, "virtual_address": 16, "fault_reason_mask": 24}),
    "SegmentDescriptor": (64, {"code_object_storage_base": 24, "segment_base": 48}),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_structure_has_the_published_size_and_offsets(name):
    structure = getattr(aql if hasattr(aql, name) else structures, name)
    size, offsets = PUBLISHED[name]
    assert ctypes.sizeof(structure) == size
    assert {field: getattr(structure, field).offset for field in offsets} == offsets


def test_a_packet_header_has_the_fields_of_the_specification():
    # HSA Platform System Architecture 1.2, table 2-3: type in bits 7:0, barrier 8, acquire 10:9, release 12:11
    assert aql.packet_header(aql.KERNEL_DISPATCH) == 0b00_00_0_00000010
    assert aql.packet_header(aql.BARRIER_AND, barrier=True) == 0b00_00_1_00000011
    assert aql.packet_header(aql.BARRIER_OR, acquire=aql.AGENT_SCOPE) == 0b00_01_0_00000101
    assert aql.packet_header(aql.AGENT_DISPATCH, release=aql.SYSTEM_SCOPE) == 0b10_00_0_00000100


def test_the_packet_types_have_the_numbers_of_the_specification():
    assert (aql.VENDOR_SPECIFIC, aql.INVALID, aql.KERNEL_DISPATCH) == (0, 1, 2)
    assert (aql.BARRIER_AND, aql.AGENT_DISPATCH, aql.BARRIER_OR) == (3, 4, 5)


# Numbers as hsa.h, hsa_ext_amd.h and hsa_ven_amd_loader.h give them.
ATTRIBUTES = {
    AgentInfo.WAVEFRONT_SIZE: 6,
    AgentInfo.QUEUE_MAX_SIZE: 14,
    AgentInfo.DEVICE: 17,
    AgentInfo.COMPUTE_UNIT_COUNT: 0xA002,
    AgentInfo.PRODUCT_NAME: 0xA009,
    AgentInfo.MEMORY_AVAIL: 0xA015,
    SystemInfo.TIMESTAMP_FREQUENCY: 3,
    IsaInfo.NAME: 1,
    PoolInfo.RUNTIME_ALLOC_ALLOWED: 5,
    SymbolInfo.VARIABLE_ADDRESS: 21,
    SymbolInfo.KERNEL_OBJECT: 22,
    LoadedCodeObjectInfo.LOAD_BASE: 9,
    LoadedCodeObjectInfo.LOAD_SIZE: 10,
}


def test_attributes_have_the_published_numbers():
    assert {attribute.name: int(attribute) for attribute in ATTRIBUTES} == {
        attribute.name: number for attribute, number in ATTRIBUTES.items()
    }


def test_a_status_has_the_name_of_the_header():
    assert status_name(0) == "HSA_STATUS_SUCCESS"
    assert status_name(1) == "HSA_STATUS_INFO_BREAK"
    assert status_name(44) == "HSA_STATUS_CU_MASK_REDUCED"
    assert status_name(0x1000) == "HSA_STATUS_ERROR"
    assert status_name(0x1009) == "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT"
    assert status_name(Status.MEMORY_FAULT) == "HSA_STATUS_ERROR_MEMORY_FAULT"
    assert status_name(12345) == "unknown"
