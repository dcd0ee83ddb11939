"""A kernel whose note and descriptor state different sizes runs on both backends, with the larger (E4)."""

import struct

import numpy as np
import pytest

from hipgraph_cb.code_object.verify import inspect

GROUP, PRIVATE, KERNARG = 0, 4, 8
ITEMS = 256


def with_descriptor(data: bytes, kernel: str, field: int, value: int) -> bytes:
    code_object = inspect(data).code_object
    symbol = code_object.find_symbol(f"{kernel}.kd")
    changed = bytearray(data)
    struct.pack_into("<I", changed, code_object.file_offset(symbol.value, 64, kernel) + field, value)
    return bytes(changed)


@pytest.mark.parametrize(("field", "value"), [(GROUP, 16), (PRIVATE, 64), (KERNARG, 512), (KERNARG, 8)])
def test_a_kernel_runs_whose_descriptor_states_another_size_than_its_note(device, corpus, field, value):
    data = with_descriptor(corpus("clang/k_cl", device).read_bytes(), "saxpy", field, value)
    saxpy = device.load(data)["saxpy"]
    x = np.arange(ITEMS, dtype=np.float32)
    source, target = device.from_host(x), device.from_host(np.ones(ITEMS, np.float32))
    with device.command_buffer() as cb:
        cb.dispatch(saxpy, 1, ITEMS, args=[target, source, 2.0, ITEMS])
    cb.replay()
    np.testing.assert_array_equal(target.to_host(np.float32), 2 * x + 1)


@pytest.mark.parametrize("stated", [0, 16, 4096])
def test_a_launch_has_the_larger_lds_size(device, corpus, stated):
    """The kernel uses 1024 bytes, and its note says so."""
    executable = device.load(with_descriptor(corpus("clang/k_cl", device).read_bytes(), "reduce_lds", GROUP, stated))
    assert executable.verified.exports["reduce_lds"].group_segment_size == max(stated, 1024)
    x = np.arange(ITEMS, dtype=np.float32)
    source, target = device.from_host(x), device.from_host(np.zeros(1, np.float32))
    with device.command_buffer() as cb:
        cb.dispatch(executable["reduce_lds"], 1, args=[target, source, ITEMS])
    cb.replay()
    assert target.to_host(np.float32)[0] == x.sum()
