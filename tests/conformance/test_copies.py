"""Copies move exactly the bytes they name."""

import numpy as np
import pytest

from hipgraph_cb import Slot

SIZES = (4, 8, 16, 31, 32, 33, 64, 128, 256, 1024, 4096, 16384, 65536)
OFFSETS = ((0, 0), (8, 8), (4, 4), (1, 2))
CLASSES = [(size, *offsets) for size in SIZES for offsets in OFFSETS] + [(1 << 20, 0, 0)]


def source_bytes(count):
    index = np.arange(count)
    return ((index * 131 + (index >> 7) * 17 + 0x5A) & 0xFF).astype(np.uint8)


def test_a_whole_buffer_is_copied(device, run, zeros):
    source, target = device.from_host(np.full(1024, 0x54, np.uint8)), zeros(1024)
    run(lambda cb, a, b: cb.copy_buffer(a, b), source, target)
    assert target.to_host().tolist() == [0x54] * 1024


def test_a_part_is_copied_between_two_fills(device, run, zeros):
    source, target = device.from_host(np.full(512, 0x88, np.uint8)), device.from_host(np.full(1024, 0xEE, np.uint8))

    def record(cb, a, b):
        cb.fill_buffer(b, 0, pattern_length=1, offset=0, length=8)
        cb.copy_buffer(a, b, source_offset=4, target_offset=8, length=508)
        cb.fill_buffer(b, 0, pattern_length=1, offset=516, length=508)

    run(record, source, target)
    assert target.to_host().tolist() == [0] * 8 + [0x88] * 508 + [0] * 508


@pytest.mark.parametrize(("size", "source_offset", "target_offset"), CLASSES)
def test_every_class_of_size_and_alignment_is_copied_exactly(device, run, zeros, size, source_offset, target_offset):
    total = max(source_offset, target_offset) + size + 16
    data = source_bytes(total)
    source, target = device.from_host(data), zeros(total)

    def record(cb, a, b):
        cb.copy_buffer(a, b, source_offset=source_offset, target_offset=target_offset, length=size)

    run(record, source, target)
    expected = np.zeros(total, np.uint8)
    expected[target_offset : target_offset + size] = data[source_offset : source_offset + size]
    assert np.array_equal(target.to_host(), expected)


def test_views_add_their_offsets_to_those_of_the_call(device, run, zeros):
    data = source_bytes(64)
    source, target = device.from_host(data), zeros(64)
    run(
        lambda cb, a, b: cb.copy_buffer(a, b, source_offset=2, target_offset=3, length=5),
        source.view(16, 32),
        target.view(8, 40),
    )
    expected = np.zeros(64, np.uint8)
    expected[11:16] = data[18:23]
    assert np.array_equal(target.to_host(), expected)


def test_parts_of_one_buffer_are_copied_when_they_are_apart(device, run):
    buffer = device.from_host(source_bytes(64))
    run(lambda cb, a: cb.copy_buffer(a, a, source_offset=0, target_offset=32, length=32), buffer)
    assert buffer.to_host()[32:].tolist() == source_bytes(32).tolist()


@pytest.mark.long
def test_bytes_beyond_four_gib_are_reached_by_every_verb(device, kernels):
    """A second for each backend, for the virtual memory of the buffer."""
    far, small = (4 << 30) + 16, device.from_host(np.arange(16, dtype=np.uint32))
    big = device.allocate((4 << 30) + 256)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(big, 7, offset=far, length=16)
        cb.update_buffer(big, bytes(range(16)), offset=far + 16)
        cb.copy_buffer(small, big, target_offset=far + 32, length=64)
        cb.execution_barrier()
        places = [big.view(far + 32, 16), Slot(0, far + 128, 16)]
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=places, constants=[3, 1])
        cb.copy_buffer(Slot(0, far, 64), small)
    cb.replay(bindings=[big])
    expected = [7] * 4 + np.frombuffer(bytes(range(16)), np.uint32).tolist() + list(range(8))
    assert small.to_host(np.uint32).tolist() == expected
    assert big.view(far + 128, 16).to_host(np.uint32).tolist() == [1, 4, 7, 10]
    assert (big.view(0, 256).to_host() == 0xCD).all()
    big.close()
