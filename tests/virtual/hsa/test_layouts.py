"""What queues and signals look like in memory."""

from __future__ import annotations

import ctypes
import struct


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
