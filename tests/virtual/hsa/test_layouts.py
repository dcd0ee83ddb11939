"""Structures in memory, compared with the offsets that a C compiler gives for AMD's public headers."""

from __future__ import annotations

import ctypes
import struct

import pytest

from hipgraph_cb.virtual.hsa import layouts

# sizeof and offsetof, as printed by a C program compiled against hsa.h, hsa_ext_amd.h, hsa_ven_amd_loader.h,
# amd_hsa_queue.h and amd_hsa_signal.h.
PUBLISHED = {
    "QueueHeader": (40, {"base_address": 8, "doorbell_signal": 16, "size": 24, "id": 32}),
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
        },
    ),
    "MemoryFaultEvent": (32, {"agent": 8, "virtual_address": 16, "fault_reason_mask": 24}),
    "SegmentDescriptor": (64, {"code_object_storage_base": 24, "segment_base": 48}),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_structure_has_the_published_size_and_offsets(name):
    structure = getattr(layouts, name)
    size, offsets = PUBLISHED[name]
    assert ctypes.sizeof(structure) == size
    assert {field: getattr(structure, field).offset for field in offsets} == offsets


def test_a_queue_describes_itself_in_memory(client):
    queue = client.queue(128)
    kind, features, base, doorbell, size, reserved, _ = struct.unpack("<IIQQIIQ", ctypes.string_at(queue.address, 40))
    assert (kind, features, size, reserved) == (0, 1, 128, 0)
    assert (queue.address % 64, base % 64, doorbell % 64) == (0, 0, 0)
    assert ctypes.c_uint32.from_address(queue.address + 136).value == 128  # where the read index is


def test_every_slot_of_a_new_queue_is_invalid(client):
    queue = client.queue(64)
    assert {ctypes.c_uint16.from_address(queue.base + 64 * slot).value for slot in range(64)} == {1}


def test_queues_have_different_ids(client):
    ids = [ctypes.c_uint64.from_address(client.queue().address + 32).value for _ in range(3)]
    assert len(set(ids)) == 3


def test_a_signal_is_a_structure_of_the_user_kind(client):
    signal = client.signal(-5)
    assert struct.unpack("<qq", ctypes.string_at(signal, 16)) == (1, -5)
    assert signal % 64 == 0


def test_a_doorbell_points_to_where_to_store_and_to_its_queue(client):
    queue = client.queue()
    kind, _ = struct.unpack("<qQ", ctypes.string_at(queue.doorbell, 16))
    assert kind == -1
    assert ctypes.c_uint64.from_address(queue.doorbell + 48).value == queue.address
