"""16-bit instructions of gfx1100 write one half of a register and leave the other.

In a short encoding, vector registers from 128 on are the upper halves of those from 0 on (RDNA3 ISA, "16-bit").
"""

from __future__ import annotations

import numpy as np
import pytest
from support.gfx1100 import fill, make_waves, read, run

LANE = np.arange(32)
LOW, HIGH = 1000 + LANE, 2000 + LANE


def vop1(opcode: int, destination: int, source: int) -> str:
    return (0x3F << 25 | destination << 17 | opcode << 9 | 256 + source).to_bytes(4, "little").hex()


def vop2(opcode: int, destination: int, first: int, second: int) -> str:
    return (opcode << 25 | destination << 17 | second << 9 | 256 + first).to_bytes(4, "little").hex()


MOV_B16, CVT_F32_F16, CVT_F16_F32, SWAP_B16, NOT_B16 = 0x1C, 0x0B, 0x0A, 0x66, 0x69
ADD_F16, FMAC_F16 = 0x32, 0x36
UPPER = 128


def words(low, high) -> np.ndarray:
    return np.asarray(low, np.uint32) | np.asarray(high, np.uint32) << np.uint32(16)


def half(values) -> np.ndarray:
    return np.asarray(values, np.float16).view(np.uint16).astype(np.uint32)


@pytest.fixture
def state():
    """v0 has halves 1000 + lane and 2000 + lane, v1 has 7 and 9."""
    state = make_waves()
    fill(state, 0, words(LOW, HIGH))
    fill(state, 1, np.full(32, words(7, 9)))
    return state


@pytest.mark.parametrize(
    ("destination", "source", "low", "high"),
    [(1, UPPER, HIGH, 9), (UPPER + 1, 0, 7, LOW), (1, 0, LOW, 9), (UPPER + 1, UPPER, 7, HIGH)],
)
def test_a_move_takes_and_writes_the_halves_that_it_names(state, destination, source, low, high):
    run(state, vop1(MOV_B16, destination, source))
    assert np.array_equal(read(state, 1)[0], words(low + 0 * LANE, high + 0 * LANE))


def test_an_addition_of_upper_halves_leaves_the_lower_one(state):
    fill(state, 2, words(half(LANE), half(2 * LANE)))
    run(state, vop2(ADD_F16, UPPER + 1, UPPER + 2, 2))
    assert np.array_equal(read(state, 1)[0], words(7, half(3.0 * LANE)))


def test_a_multiply_add_has_the_half_that_it_writes_as_its_addend(state):
    fill(state, 2, words(half(LANE), half(np.full(32, 2.0))))
    fill(state, 1, words(half(np.full(32, 5.0)), half(np.full(32, 100.0))))
    run(state, vop2(FMAC_F16, UPPER + 1, 2, UPPER + 2))
    assert np.array_equal(read(state, 1)[0], words(half(np.full(32, 5.0)), half(100.0 + 2 * LANE)))


def test_conversions_name_the_half_only_of_what_has_16_bits(state):
    fill(state, 2, words(half(LANE), half(LANE + 0.5)))
    run(state, vop1(CVT_F32_F16, 200, UPPER + 2) + vop1(CVT_F16_F32, UPPER + 1, 200))
    assert np.array_equal(read(state, 200)[0].view(np.float32), LANE + np.float32(0.5))
    assert np.array_equal(read(state, 1)[0], words(7, half(LANE + 0.5)))


def test_two_halves_are_exchanged(state):
    run(state, vop1(SWAP_B16, 1, UPPER))
    assert np.array_equal(read(state, 1)[0], words(HIGH, 9))
    assert np.array_equal(read(state, 0)[0], words(LOW, 7))


def test_the_long_encoding_chooses_halves_by_op_sel(state):
    # v_add_nc_u16 v1, v0, v0 op_sel:[0,1,1]
    run(state, "015003d700010200")
    assert np.array_equal(read(state, 1)[0], words(7, LOW + HIGH))


def test_a_choice_by_lanes_writes_one_half(state):
    state.write_sgpr(4, 0x0000FFFF)
    # v_cndmask_b16 v1, v0, v0, s4 op_sel:[0,1,0]
    run(state, "01105dd600011200")
    assert np.array_equal(read(state, 1)[0], words(np.where(LANE < 16, HIGH, LOW), 9))
