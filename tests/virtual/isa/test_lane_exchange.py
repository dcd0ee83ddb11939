"""Values that move between the lanes of a wave through the DS unit."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run_code

from hipgraph_cb.virtual.isa.execution import instruction_set  # noqa: F401  # registers the instructions
from hipgraph_cb.virtual.isa.memory.lane_exchange import swizzle_sources
from hipgraph_cb.virtual.memory import Memory

LANES = np.arange(64)
PULL = "04007ed800020004"  # ds_bpermute_b32 v4, v0, v2 offset:4
PUSH = "00007cd800020004"  # ds_permute_b32 v4, v0, v2
QUAD = "39807ad800000004"  # ds_swizzle_b32 v4, v0 offset:0x8039
FLIP = "1f047ad800000004"  # ds_swizzle_b32 v4, v0 offset:0x041f


@pytest.fixture
def state():
    return make_state(Memory(1 << 16), waves_per_group=2)


def fill(state, register, values):
    state.write_vgpr(register, np.asarray(values).astype(np.uint32).reshape(-1, 64))


def both_waves() -> np.ndarray:
    return np.stack([LANES + 100, LANES + 500])


def test_pull_reads_the_lane_that_the_byte_address_names_modulo_the_wave(state):
    sources = (LANES * 7 + 3) % 64
    fill(state, 0, sources * 4 - 4 + 256)  # the offset adds 4; bits above the wave are ignored
    fill(state, 2, both_waves())
    run_code(state, PULL)
    assert np.array_equal(lanes_of(state, 4), both_waves()[:, sources])


def test_pull_reads_zero_from_a_lane_that_is_off(state):
    fill(state, 0, (LANES ^ 1) * 4 - 4)
    fill(state, 2, both_waves())
    fill(state, 4, np.full(64, 9))
    on = np.stack([LANES < 33, LANES >= 0])
    state.write_exec(on)
    run_code(state, PULL)
    partner_on = on[:, LANES ^ 1]
    expected = np.where(on, np.where(partner_on, both_waves()[:, LANES ^ 1], 0), 9)
    assert np.array_equal(lanes_of(state, 4), expected)


def test_push_gives_the_highest_sender_and_zero_without_one(state):
    fill(state, 0, LANES // 3 * 4)
    fill(state, 2, both_waves())
    run_code(state, PUSH)
    expected = np.zeros((2, 64), np.uint32)
    for wave in range(2):
        for lane in range(64):
            expected[wave, lane // 3] = both_waves()[wave, lane]
    assert np.array_equal(lanes_of(state, 4), expected)


def test_push_leaves_out_senders_that_are_off(state):
    fill(state, 0, LANES * 0)
    fill(state, 2, both_waves())
    fill(state, 4, np.full(64, 9))
    state.write_exec((LANES < 5).reshape(1, -1))
    run_code(state, PUSH)
    assert lanes_of(state, 4)[:, :6].tolist() == [[104, 0, 0, 0, 0, 9], [504, 0, 0, 0, 0, 9]]


def test_a_quad_pattern_permutes_four_lanes(state):
    fill(state, 0, both_waves())
    run_code(state, QUAD)
    pattern = np.array([0x39 >> 2 * lane & 3 for lane in range(4)])
    assert np.array_equal(lanes_of(state, 4), both_waves()[:, (LANES & ~3) + pattern[LANES & 3]])


def test_a_mask_pattern_works_within_32_lanes(state):
    fill(state, 0, both_waves())
    run_code(state, FLIP)
    assert np.array_equal(lanes_of(state, 4), both_waves()[:, LANES ^ 1])


@pytest.mark.parametrize("control", [0x0000, 0x7FFF, 0x001F, 0x03E0, 0x1C07])
def test_mask_patterns_and_then_or_then_xor(control):
    kept, added, flipped = control & 31, control >> 5 & 31, control >> 10
    expected = [lane & 32 | (((lane & 31) & kept) | added) ^ flipped for lane in range(64)]
    assert swizzle_sources(control, 64).tolist() == expected


def test_lanes_rotate_to_the_left_and_to_the_right_within_groups():
    left = [lane & 32 | (lane + 3) % 32 for lane in range(64)]
    assert swizzle_sources(0xC000 | 3 << 5, 64).tolist() == left
    right_by_eights = [lane & ~7 | (lane - 2) % 8 for lane in range(64)]
    assert swizzle_sources(0xC000 | 1 << 10 | 2 << 5 | 0b11000, 64).tolist() == right_by_eights


def test_bits_are_reversed_for_a_fourier_transform():
    """The first rows of the tables in the CDNA3 ISA document, which count from one."""
    whole = "1 11 9 19 5 15 d 1d 3 13 b 1b 7 17 f 1f 2 12 a 1a 6 16 e 1e 4 14 c 1c 8 18 10 20"
    halves = "1 9 5 d 3 b 7 f 2 a 6 e 4 c 8 10 11 19 15 1d 13 1b 17 1f 12 1a 16 1e 14 1c 18 20"
    for control, table in ((0xE000, whole), (0xE010, halves), (0xE01F, " ".join(f"{n:x}" for n in range(1, 33)))):
        first = [int(number, 16) - 1 for number in table.split()]
        assert swizzle_sources(control, 64).tolist() == [*first, *(32 + lane for lane in first)]
