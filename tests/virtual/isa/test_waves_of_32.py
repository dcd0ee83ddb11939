"""Waves of 32 lanes: a lane mask is one scalar register, and lanes are counted modulo 32.

Each program is assembled by llvm-mc-19 for gfx1100; the comment beside it is its source.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.gfx1100 import bits, fill, make_waves, read, run

from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.isa.core.state import EXEC, M0, VCC, State

LANE = np.arange(32)
EVERY = 0xFFFFFFFF


@pytest.fixture
def state() -> State:
    """v0 is the lane, v1 is 10 in the first wave and 20 in the second."""
    state = make_waves()
    fill(state, 0, LANE)
    fill(state, 1, np.array([[10], [20]]))
    return state


def numbers(state: State, register: int) -> list[int]:
    return np.broadcast_to(state.read_sgpr(register), (state.waves, 1))[:, 0].tolist()


def test_a_comparison_writes_one_register_and_leaves_the_next(state):
    state.write_sgpr(5, 77)
    run(state, "040049d400030200")  # v_cmp_lt_u32 s4, v0, v1
    assert numbers(state, 4) == [bits(LANE < 10), bits(LANE < 20)]
    assert numbers(state, 5) == [77, 77]


def test_the_short_form_of_a_comparison_writes_the_lower_half_of_vcc(state):
    state.write_sgpr(VCC + 1, 77)
    run(state, "0003927c")  # v_cmp_lt_u32 vcc_lo, v0, v1
    assert numbers(state, VCC) == [bits(LANE < 10), bits(LANE < 20)]
    assert numbers(state, VCC + 1) == [77, 77]


def test_lanes_that_are_off_give_zero_in_a_comparison(state):
    state.write_exec((LANE % 2 == 0).reshape(1, -1))
    run(state, "040049d400030200")  # v_cmp_lt_u32 s4, v0, v1
    assert numbers(state, 4) == [bits((LANE < 10) & (LANE % 2 == 0)), bits((LANE < 20) & (LANE % 2 == 0))]


def test_a_comparison_for_exec_writes_exec_alone(state):
    state.write_sgpr(VCC, 77)
    run(state, "0003927d")  # v_cmpx_lt_u32 v0, v1
    assert numbers(state, EXEC) == [bits(LANE < 10), bits(LANE < 20)]
    assert numbers(state, VCC) == [77, 77]


def test_a_branch_saves_exec_and_the_other_branch_gets_the_rest(state):
    # v_cmp_lt_u32 vcc_lo, v0, v1; s_and_saveexec_b32 s2, vcc_lo; v_mov_b32 v2, 1; s_xor_b32 exec_lo, exec_lo, s2;
    # v_mov_b32 v2, 2; s_or_b32 exec_lo, exec_lo, s2
    run(state, "0003927c 6a2082be 8102047e 7e027e8d 8202047e 7e027e8c")
    assert np.array_equal(read(state, 2), np.where(np.stack([LANE < 10, LANE < 20]), 1, 2))
    assert numbers(state, EXEC) == [EVERY, EVERY]


def test_saving_exec_with_a_negated_operand_keeps_the_lanes_of_the_mask_that_were_off(state):
    state.write_sgpr(3, 0x0000FFFF)
    state.write_exec((LANE < 8).reshape(1, -1))
    run(state, "033082be")  # s_and_not1_saveexec_b32 s2, s3
    assert numbers(state, EXEC) == [0xFF00, 0xFF00]
    assert numbers(state, 2) == [0xFF, 0xFF]


def test_the_upper_half_of_exec_reads_as_zero(state):
    run(state, "7f0084be")  # s_mov_b32 s4, exec_hi
    assert numbers(state, 4) == [0, 0]


def test_a_mask_is_copied_and_inverted_as_a_mask_and_read_as_a_number(state):
    # v_cmp_lt_u32 vcc_lo, v0, v1; s_mov_b32 s5, vcc_lo; s_not_b32 s6, vcc_lo
    run(state, "0003927c 6a0085be 6a1e86be")
    assert numbers(state, 5) == [bits(LANE < 10), bits(LANE < 20)]
    assert numbers(state, 6) == [bits(LANE >= 10), bits(LANE >= 20)]


def test_a_choice_by_a_register_takes_its_bits_as_lanes(state):
    state.write_sgpr(4, 0x80000005)
    run(state, "080001d581041100")  # v_cndmask_b32 v8, 1, 2, s4
    assert read(state, 8)[0].tolist() == [2 if 0x80000005 >> lane & 1 else 1 for lane in range(32)]


def test_carries_go_through_the_lower_half_of_vcc(state):
    fill(state, 0, np.where(LANE % 2, EVERY, 5))
    fill(state, 1, np.full(32, 1))
    # v_add_co_u32 v2, vcc_lo, v0, v1; v_add_co_ci_u32 v3, vcc_lo, v0, v1, vcc_lo
    run(state, "026a00d700030200 00030640")
    assert read(state, 2)[0].tolist() == [0 if lane % 2 else 6 for lane in range(32)]
    assert read(state, 3)[0].tolist() == [1 if lane % 2 else 6 for lane in range(32)]
    assert numbers(state, VCC)[0] == bits(LANE % 2 == 1)


def test_what_is_written_to_null_is_lost_and_null_reads_as_zero(state):
    for register in range(100, 108):
        state.write_sgpr(register, register)
    state.write_sgpr(M0, 9)
    fill(state, 4, np.zeros(32))
    fill(state, 5, np.zeros(32))
    # s_mov_b32 null, 5; v_mad_u64_u32 v[2:3], null, v0, v1, v[4:5]; s_add_u32 s8, null, 3
    run(state, "8500fcbe 027cfed600031204 7c830880")
    assert [numbers(state, register)[0] for register in range(100, 108)] == list(range(100, 108))
    assert numbers(state, M0) == [9, 9]
    assert numbers(state, 8) == [3, 3]
    assert np.array_equal(read(state, 2), LANE * np.array([[10], [20]]))


def test_m0_has_another_number_than_in_older_families(state):
    run(state, "ff00fdbe34120000 7d0087be")  # s_mov_b32 m0, 0x1234; s_mov_b32 s7, m0
    assert numbers(state, 7) == numbers(state, M0) == [0x1234, 0x1234]


def test_lanes_are_chosen_modulo_32(state):
    # v_readlane_b32 s9, v0, 33; v_writelane_b32 v6, s9, 34
    fill(state, 6, np.full(32, 99))
    run(state, "090060d700430100 060061d709440100")
    assert numbers(state, 9) == [1, 1]
    assert read(state, 6)[0].tolist() == [99, 99, 1] + 29 * [99]


def test_the_upper_word_of_a_mask_counts_no_lane(state):
    # v_mbcnt_lo_u32_b32 v7, -1, 0; v_mbcnt_hi_u32_b32 v7, -1, v7
    run(state, "07001fd7c1000100 070020d7c10e0200")
    assert read(state, 7)[0].tolist() == list(range(32))


def test_the_first_lane_is_the_first_that_is_on(state):
    state.write_exec((LANE > 12).reshape(1, -1))
    run(state, "0005147e")  # v_readfirstlane_b32 s10, v0
    assert numbers(state, 10) == [13, 13]


def test_masks_of_64_bits_for_exec_are_refused(state):
    with pytest.raises(DeviceFault, match="s_and_saveexec_b64 is not implemented with waves of 32 lanes"):
        run(state, "6a2182be")  # s_and_saveexec_b64 s[2:3], vcc


def test_waves_of_64_lanes_have_masks_of_two_registers():
    state = make_waves(lanes=64)
    fill(state, 0, np.arange(64))
    fill(state, 1, np.array([[40], [50]]))
    run(state, "040049d400030200")  # v_cmp_lt_u32 s[4:5], v0, v1
    assert numbers(state, 4) == [EVERY, EVERY]
    assert numbers(state, 5) == [bits(np.arange(32) < 8), bits(np.arange(32) < 18)]


def test_rounding_and_denormals_have_instructions_of_their_own(state):
    fill(state, 0, np.full(32, 0x00000001))
    fill(state, 1, np.full(32, 0x3F800000))
    # v_add_f32 v2, v0, v1; s_round_mode 1; v_add_f32 v3, v0, v1; s_denorm_mode 0; v_add_f32 v4, v0, v1
    run(state, "00030406 010091bf 00030606 000092bf 00030806")
    assert [read(state, register)[0, 0] for register in (2, 3, 4)] == [0x3F800000, 0x3F800001, 0x3F800000]


def test_a_message_that_gives_registers_back_does_nothing(state):
    run(state, "0300b6bf 8102047e")  # s_sendmsg sendmsg(MSG_DEALLOC_VGPRS); v_mov_b32 v2, 1
    assert read(state, 2)[0].tolist() == 32 * [1]


def test_the_clock_advances_between_two_questions(state):
    run(state, "834d84be 834d86be")  # s_sendmsg_rtn_b64 s[4:5] and s[6:7], sendmsg(MSG_RTN_GET_REALTIME)
    assert state.read_sgpr64(4) < state.read_sgpr64(6)
