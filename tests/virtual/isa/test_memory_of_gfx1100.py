"""Memory instructions of gfx1100: under other names, with other codes of operands, and with ranges of their own."""

from __future__ import annotations

import numpy as np
import pytest
from support.gfx1100 import fill, fill_floats, make_waves, read, run

from hipgraph_cb.virtual.isa.targets.gfx11.buffer_formats import NUMBERED
from hipgraph_cb.virtual.isa.targets.gfx11.tables_generated import NAMES
from hipgraph_cb.virtual.memory import Memory

LANE = np.arange(32)
BYTES_RULE = 3 << 28  # OOB_SELECT of a descriptor's fourth word


@pytest.fixture
def memory():
    return Memory(1 << 20)


def with_buffer(memory, values, *, lds_size=0):
    """One wave, the address of a buffer with `values` in s[4:5], and the buffer's bytes."""
    array = np.asarray(values, np.uint32)
    address = memory.allocate(array.nbytes)
    held = memory.bytes(address, array.nbytes).view(np.uint32)
    held[:] = array
    state = make_waves(waves=1, memory=memory, lds_size=lds_size)
    state.write_sgpr64(4, address)
    return state, held


def describe(state, records, *, stride=0, flags=BYTES_RULE):
    """Make the address in s[4:5] a buffer descriptor in s[4:7]."""
    state.write_sgpr64(4, state.read_sgpr64(4) | stride << 48)
    state.write_sgpr(6, records)
    state.write_sgpr(7, flags)


def test_two_words_of_local_memory_are_64_steps_apart():
    state = make_waves(waves=1, lds_size=2048)
    fill(state, 0, 4 * LANE)
    fill(state, 1, 100 + LANE)
    fill(state, 2, 200 + LANE)
    # ds_store_2addr_stride64_b32 v0, v1, v2 offset0:1 offset1:2; ds_load_2addr_stride64_b32 v[2:3], v0 ... the same
    run(state, "01023cd800010200 0102e0d800000002")
    words = state.lds.view(np.uint32)[0]
    assert words[64:96].tolist() == (100 + LANE).tolist()
    assert words[128:160].tolist() == (200 + LANE).tolist()
    assert np.array_equal(read(state, 2)[0], 100 + LANE)
    assert np.array_equal(read(state, 3)[0], 200 + LANE)


def test_a_compare_and_store_has_the_new_value_first():
    state = make_waves(waves=1, lds_size=128)
    state.lds.view(np.uint32)[0] = LANE % 3
    fill(state, 0, 4 * LANE)
    fill(state, 1, np.full(32, 77))
    fill(state, 2, np.full(32, 1))
    run(state, "0000c0d800010203")  # ds_cmpstore_rtn_b32 v3, v0, v1, v2
    assert np.array_equal(read(state, 3)[0], LANE % 3)
    assert np.array_equal(state.lds.view(np.uint32)[0], np.where(LANE % 3 == 1, 77, LANE % 3))


def test_a_load_of_a_half_leaves_the_other(memory):
    state, _ = with_buffer(memory, 0x10000 * (LANE + 1) + LANE)
    fill(state, 0, 4 * LANE)
    fill(state, 2, np.full(32, 0x1234))
    run(state, "00008edc00000402")  # global_load_d16_hi_b16 v2, v0, s[4:5]
    assert np.array_equal(read(state, 2)[0], LANE << 16 | 0x1234)


def test_a_subtraction_in_memory_stops_at_zero(memory):
    state, held = with_buffer(memory, 10 * LANE)
    fill(state, 0, 4 * LANE)
    fill(state, 1, np.full(32, 55))
    run(state, "0040dedc00010402")  # global_atomic_csub_u32 v2, v0, v1, s[4:5] glc
    assert np.array_equal(read(state, 2)[0], 10 * LANE)
    assert np.array_equal(held, np.maximum(10 * LANE - 55, 0))


def test_the_larger_number_stays_in_memory(memory):
    state, held = with_buffer(memory, LANE.astype(np.float32).view(np.uint32))
    fill(state, 0, 4 * LANE)
    fill_floats(state, 1, np.full(32, 7.5))
    run(state, "00404add00010402")  # global_atomic_max_f32 v2, v0, v1, s[4:5] glc
    assert np.array_equal(read(state, 2)[0].view(np.float32), LANE)
    assert np.array_equal(held.view(np.float32), np.maximum(LANE, 7.5))


def test_an_address_made_of_the_number_of_the_lane(memory):
    state, held = with_buffer(memory, 1000 + np.arange(64))
    fill(state, 1, LANE + 5)
    # global_load_addtid_b32 v2, s[4:5] offset:8; global_store_addtid_b32 v1, s[4:5] offset:8
    run(state, "0800a2dc00000402 0800a6dc00010400")
    assert np.array_equal(read(state, 2)[0], 1002 + LANE)
    assert np.array_equal(held[2:34], LANE + 5)


def test_scalar_loads_add_a_register_and_a_number(memory):
    state, _ = with_buffer(memory, 1000 + np.arange(64))
    state.write_sgpr(8, 40)
    # s_load_b32 s6, s[4:5], s8 offset:0x4; s_load_b64 s[10:11], s[4:5], null
    run(state, "820100f404000010 820204f4000000f8")
    assert state.read_sgpr(6) == 1011
    assert state.read_sgpr64(10) == 1000 | 1001 << 32


@pytest.mark.parametrize(
    ("records", "stride", "flags", "inside"),
    [
        (100, 0, BYTES_RULE, 4 * LANE + 8 <= 100),  # bytes
        (0, 0, 2 << 28, LANE < 0),  # not checked, but for an empty range
        (1, 0, 2 << 28, LANE >= 0),
        (1, 16, 0, 4 * LANE + 8 <= 16),  # records, each of which has 16 bytes
        (1, 16, 1 << 28, LANE >= 0),  # records
        (0, 16, 1 << 28, LANE < 0),
    ],
)
def test_the_descriptor_says_how_its_range_is_meant(memory, records, stride, flags, inside):
    state, _ = with_buffer(memory, 1000 + np.arange(64))
    fill(state, 0, 4 * LANE)
    describe(state, records, stride=stride, flags=flags)
    run(state, "040050e00002417c")  # buffer_load_b32 v2, v0, s[4:7], null offen offset:4
    assert np.array_equal(read(state, 2)[0], np.where(inside, 1001 + LANE, 0))


def test_formats_have_the_numbers_that_llvm_prints():
    kinds = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "", "FLOAT")
    ours = {number: f"BUF_FMT_{name}_{kinds[kind]}" for number, (name, kind) in enumerate(NUMBERED, 1)}
    assert {number: name for number, name in NAMES["format"].items() if number} == {
        number: name
        for number, name in ours.items()
        if number > 1  # LLVM does not print the first, its default
    }


def test_elements_are_read_in_the_format_of_the_descriptor(memory):
    halves = np.arange(64, dtype=np.float16)
    state, _ = with_buffer(memory, halves.view(np.uint32))
    fill(state, 0, 4 * (LANE % 16))
    describe(state, 128, flags=BYTES_RULE | 29 << 12 | 4 | 5 << 3 | 0 << 6 | 1 << 9)  # 16_16_FLOAT, x y 0 1
    run(state, "00000ce00002417c")  # buffer_load_format_xyzw v[2:5], v0, s[4:7], null offen
    found = [read(state, register)[0].view(np.float32) for register in (2, 3, 4, 5)]
    index = 2 * (LANE % 16)
    assert np.array_equal(found, [index, index + 1, 0 * index, 0 * index + 1])
