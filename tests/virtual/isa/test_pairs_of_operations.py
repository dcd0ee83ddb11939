"""Two operations of one instruction read their sources before either writes (RDNA3 ISA, "Dual issue VALU")."""

from __future__ import annotations

import numpy as np
import pytest
from support.gfx1100 import fill, fill_floats, make_waves, read, run

from hipgraph_cb.virtual.isa.core.state import VCC

LANE = np.arange(32)


def floats(state, register: int) -> list[float]:
    return read(state, register).view(np.float32)[0].tolist()


@pytest.fixture
def state():
    return make_waves()


def test_two_moves_exchange_two_registers(state):
    fill(state, 0, LANE)
    fill(state, 1, LANE + 100)
    run(state, "010110ca00010000")  # v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0
    assert np.array_equal(read(state, 0)[0], LANE + 100)
    assert np.array_equal(read(state, 1)[0], LANE)


def test_lanes_that_are_off_keep_both_registers(state):
    fill(state, 0, LANE)
    fill(state, 1, LANE + 100)
    state.write_exec((LANE < 4).reshape(1, -1))
    run(state, "010110ca00010000")  # v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0
    assert np.array_equal(read(state, 0)[0], np.where(LANE < 4, LANE + 100, LANE))
    assert np.array_equal(read(state, 1)[0], np.where(LANE < 4, LANE, LANE + 100))


@pytest.mark.parametrize(
    ("code", "first", "second"),
    [
        ("010706c902090002", 2 + 5, 3 * 7),  # v_dual_add_f32 v2, v1, v3 :: v_dual_mul_f32 v1, v2, v4
        # v_dual_fmac_f32 v2, v1, v3 :: v_dual_fmaak_f32 v1, v2, v4, 2.0
        ("010702c80209000200000040", 2 * 5 + 3, 3 * 7 + 2),
        ("010710c802010002", 2 * 5 + 3, 3),  # v_dual_fmac_f32 v2, v1, v3 :: v_dual_mov_b32 v1, v2
    ],
)
def test_each_operation_sees_what_was_there_before(state, code, first, second):
    for register, value in ((1, 2.0), (2, 3.0), (3, 5.0), (4, 7.0)):
        fill_floats(state, register, np.full(32, value))
    run(state, code)
    assert floats(state, 2) == 32 * [first]
    assert floats(state, 1) == 32 * [second]


def test_the_second_operation_may_be_on_integers(state):
    for register, value in ((0, 11), (2, 3), (4, 7)):
        fill(state, register, np.full(32, value))
    run(state, "000120ca02090002")  # v_dual_mov_b32 v2, v0 :: v_dual_add_nc_u32 v1, v2, v4
    assert read(state, 2)[0].tolist() == 32 * [11]
    assert read(state, 1)[0].tolist() == 32 * [10]


def test_a_choice_in_a_pair_is_by_vcc(state):
    fill(state, 0, np.full(32, 10))
    fill(state, 1, np.full(32, 20))
    fill(state, 2, LANE)
    state.write_sgpr(VCC, 0xF0F0F0F0)
    run(state, "000362ca81040202")  # v_dual_cndmask_b32 v2, v0, v1 :: v_dual_lshlrev_b32 v3, 1, v2
    assert read(state, 2)[0].tolist() == [20 if lane & 4 else 10 for lane in range(32)]
    assert np.array_equal(read(state, 3)[0], 2 * LANE)
