"""Calls of the older shape, debug groups, and fills with long patterns, on a device."""

import numpy as np
import pytest


def test_pushed_constants_and_bindings_reach_the_kernel(device, kernels, zeros):
    source, target = device.from_host(np.array([1, 2, 3, 4], np.uint32)), zeros(16)
    with device.command_buffer() as cb:
        cb.push_descriptor_set(0, [source, target])
        cb.push_constants(0, [3, 10])
        cb.dispatch(kernels["scale_and_offset"], 1)
    cb.replay()
    assert target.to_host(np.uint32).tolist() == [13, 16, 19, 22]


def test_debug_groups_and_discards_change_no_byte(device, zeros):
    target = zeros(16)
    with device.command_buffer() as cb, cb.debug_group("outer"):
        cb.discard_buffer(target)
        with cb.debug_group("inner"):
            cb.fill_buffer(target, 9)
    cb.replay()
    assert target.to_host(np.uint32).tolist() == [9] * 4
    assert cb.recording.where(0) == "command 0 in 'inner' in 'outer'"


@pytest.mark.parametrize(
    "pattern", [np.float64(1.25), np.complex128(1 + 2j), bytes(range(8)), bytes(range(16)), bytes([1, 2]) * 8]
)
@pytest.mark.parametrize(("offset", "count"), [(0, 1), (16, 3), (48, 5)])
def test_long_patterns_fill_like_numpy(device, zeros, pattern, offset, count):
    raw = np.frombuffer(bytes(memoryview(pattern)), np.uint8)
    target, length = zeros(256), 16 * count
    with device.command_buffer() as cb:
        cb.fill_buffer(target, pattern, offset=offset, length=length)
    cb.replay()
    expected = np.zeros(256, np.uint8)
    expected[offset : offset + length] = np.resize(raw, length)
    assert np.array_equal(target.to_host(), expected)
