"""Sources from other lanes on gfx1100: DPP of eight and of sixteen lanes, and permutations.

A lane that is off is no source, unless the instruction fetches from inactive lanes.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.gfx1100 import bits, fill, fill_floats, make_waves, read, run

LANE = np.arange(32)
VALUE = 100 + LANE
BEFORE = 7


@pytest.fixture
def state():
    state = make_waves()
    fill(state, 0, VALUE)
    fill(state, 2, np.full(32, BEFORE))
    return state


@pytest.mark.parametrize(
    ("code", "origin"),
    [
        ("e902047e00773905", LANE ^ 7),  # v_mov_b32_dpp v2, v0 dpp8:[7,6,5,4,3,2,1,0]
        ("ea02047e00c154de", LANE ^ 1),  # v_mov_b32_dpp v2, v0 dpp8:[1,0,3,2,5,4,7,6] fi:1
        ("fa02047e006301ff", LANE ^ 3),  # v_mov_b32_dpp v2, v0 row_xmask:3
        ("fa02047e005501ff", LANE & ~15 | 5),  # v_mov_b32_dpp v2, v0 row_share:5
        ("fa02047e00b104ff", LANE ^ 1),  # v_mov_b32_dpp v2, v0 quad_perm:[1,0,3,2] fi:1
    ],
)
def test_each_lane_reads_the_lane_that_the_control_names(state, code, origin):
    run(state, code)
    assert np.array_equal(read(state, 2)[0], VALUE[origin])


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # dpp8:[7,6,5,4,3,2,1,0]: an origin that is off gives zero
        ("e902047e00773905", np.where(LANE % 8 < 3, np.where((LANE ^ 7) % 8 < 3, VALUE[LANE ^ 7], 0), BEFORE)),
        # dpp8:[1,0,3,2,5,4,7,6] fi:1: it is read
        ("ea02047e00c154de", np.where(LANE % 8 < 3, VALUE[LANE ^ 1], BEFORE)),
        # row_xmask:3: the lane keeps what it has
        ("fa02047e006301ff", np.where((LANE % 8 < 3) & ((LANE ^ 3) % 8 < 3), VALUE[LANE ^ 3], BEFORE)),
        # quad_perm:[1,0,3,2] fi:1
        ("fa02047e00b104ff", np.where(LANE % 8 < 3, VALUE[LANE ^ 1], BEFORE)),
    ],
)
def test_an_origin_that_is_off(state, code, expected):
    state.write_exec((LANE % 8 < 3).reshape(1, -1))
    run(state, code)
    assert np.array_equal(read(state, 2)[0], expected)


def test_the_long_encoding_takes_a_source_from_another_lane(state):
    fill(state, 1, np.full(32, 1000))
    # v_add_nc_u32_e64_dpp v2, v0, v1 row_shr:1 bound_ctrl:1
    run(state, "020025d5fa020200001109ff")
    expected = np.where(LANE % 16 == 0, 0, VALUE - 1) + 1000
    assert np.array_equal(read(state, 2)[0], expected)


def test_signs_of_the_long_encoding_count_for_sources_from_other_lanes(state):
    fill_floats(state, 0, LANE + 1.0)
    fill_floats(state, 1, -10.0 * LANE)
    # v_add_f32_e64_dpp v2, -v0, |v1| quad_perm:[3,2,1,0]
    run(state, "020203d5fa020220001b00ff")
    expected = -((LANE ^ 3) + 1.0) + 10.0 * LANE
    assert np.array_equal(read(state, 2)[0].view(np.float32), expected.astype(np.float32))


def test_a_comparison_takes_a_source_from_another_lane(state):
    fill(state, 1, VALUE // 2 * 2)
    # v_cmp_eq_u32_e64_dpp s4, v0, v1 row_ror:1 bound_ctrl:1
    run(state, "04004ad4fa020200002109ff")
    origin = LANE & ~15 | (LANE - 1) & 15
    assert state.read_sgpr(4) == bits(VALUE[origin] == VALUE // 2 * 2)


REVERSED = 0x01234567, 0x89ABCDEF  # place n of a row reads place 7 - n, or 23 - n


def _reversed() -> np.ndarray:
    place = LANE & 15
    return LANE & ~15 | np.where(place < 8, 7 - place, 23 - place)


@pytest.mark.parametrize(
    ("code", "origin"),
    [
        ("02005bd600091400", _reversed()),  # v_permlane16_b32 v2, v0, s4, s5
        ("02005cd600091400", _reversed() ^ 16),  # v_permlanex16_b32 v2, v0, s4, s5
    ],
)
def test_a_row_is_permuted_as_two_scalar_registers_say(state, code, origin):
    state.write_sgpr(4, REVERSED[0])
    state.write_sgpr(5, REVERSED[1])
    run(state, code)
    assert np.array_equal(read(state, 2)[0], VALUE[origin])


@pytest.mark.parametrize(
    ("code", "instead"),
    [
        ("02005cd600091400", BEFORE),  # v_permlanex16_b32 v2, v0, s4, s5
        ("02105cd600091400", 0),  # ... op_sel:[0,1]: bound_ctrl
        ("02085cd600091400", None),  # ... op_sel:[1,0]: fetch inactive
    ],
)
def test_a_permutation_from_lanes_that_are_off(state, code, instead):
    state.write_sgpr(4, REVERSED[0])
    state.write_sgpr(5, REVERSED[1])
    is_on = LANE % 3 > 0
    state.write_exec(is_on.reshape(1, -1))
    run(state, code)
    origin = _reversed() ^ 16
    taken = VALUE[origin] if instead is None else np.where(is_on[origin], VALUE[origin], instead)
    assert np.array_equal(read(state, 2)[0], np.where(is_on, taken, BEFORE))


def test_the_halves_of_a_wave_of_64_lanes_change_places():
    state = make_waves(lanes=64)
    fill(state, 0, np.arange(64))
    fill(state, 2, np.full(64, BEFORE))
    state.write_exec((np.arange(64) < 40).reshape(1, -1))
    run(state, "00cf047e")  # v_permlane64_b32 v2, v0
    lane = np.arange(64)
    assert np.array_equal(read(state, 2)[0], np.where(lane < 40, lane ^ 32, BEFORE))


@pytest.mark.parametrize("lanes", [32, 64])
def test_a_backward_permutation_stays_within_32_lanes(lanes):
    state = make_waves(lanes=lanes, lds_size=64)
    lane = np.arange(lanes)
    fill(state, 0, 4 * (5 * lane + 3))
    fill(state, 1, 100 + lane)
    run(state, "0000ccda00010002")  # ds_bpermute_b32 v2, v0, v1
    assert np.array_equal(read(state, 2)[0], 100 + ((5 * lane + 3) % 32 | lane & 32))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("0087047e", 4),  # v_movrels_b32 v2, v0: v4 to v2
        ("0085047e", None),  # v_movreld_b32 v2, v0: v0 to v6
    ],
)
def test_m0_is_added_to_the_number_of_a_register(state, code, expected):
    state.write_sgpr(124, 4)
    fill(state, 4, LANE + 500)
    run(state, code)
    if expected is None:
        assert np.array_equal(read(state, 6)[0], VALUE)
    else:
        assert np.array_equal(read(state, 2)[0], LANE + 500)


def test_waves_with_different_m0_move_different_registers(state):
    state.write_sgpr(124, np.array([[4], [5]], np.uint32))
    fill(state, 4, LANE + 500)
    fill(state, 5, LANE + 600)
    run(state, "0087047e")  # v_movrels_b32 v2, v0
    assert np.array_equal(read(state, 2), np.stack([LANE + 500, LANE + 600]))


def test_two_registers_are_exchanged_whose_numbers_m0_holds(state):
    state.write_sgpr(124, 3 << 16 | 4)
    fill(state, 4, LANE + 500)
    fill(state, 5, LANE + 600)
    run(state, "00d1047e")  # v_swaprel_b32 v2, v0: v5 and v4
    assert np.array_equal(read(state, 5)[0], LANE + 500)
    assert np.array_equal(read(state, 4)[0], LANE + 600)
