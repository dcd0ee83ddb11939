"""Integer sums with the clamp bit, carries with clamp or DPP, and DPP on pairs of registers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.edge_values import INTEGERS, combinations, signed, state_with
from support.lanes import lanes_of, run_code

VCC, LANES = 106, np.arange(64)
U32, I32, U16, I16 = (0, (1 << 32) - 1), (-(1 << 31), (1 << 31) - 1), (0, 0xFFFF), (-0x8000, 0x7FFF)


def low24(value: int) -> int:
    return value & 0xFFFFFF


def bytes_apart(a: int, b: int, width: int = 8, masked: bool = False) -> int:
    mask = (1 << width) - 1
    pairs = [(a >> shift & mask, b >> shift & mask) for shift in range(0, 32, width)]
    return sum(abs(x - y) for x, y in pairs if y or not masked)


SUMS = [
    ("0880c3d100051204", "v_mad_u32_u24", U32, lambda a, b, c: low24(a) * low24(b) + c),
    ("0880c2d100051204", "v_mad_i32_i24", I32, lambda a, b, c: signed(a, 24) * signed(b, 24) + signed(c)),
    ("088004d200051204", "v_mad_u16", U16, lambda a, b, c: (a & 0xFFFF) * (b & 0xFFFF) + (c & 0xFFFF)),
    ("088005d200051204", "v_mad_i16", I16, lambda a, b, c: signed(a, 16) * signed(b, 16) + signed(c, 16)),
    ("0880ebd100051204", "v_mad_legacy_u16", U16, lambda a, b, c: (a & 0xFFFF) * (b & 0xFFFF) + (c & 0xFFFF)),
    ("0880f1d100051204", "v_mad_u32_u16", U32, lambda a, b, c: (a & 0xFFFF) * (b & 0xFFFF) + c),
    ("0880f2d100051204", "v_mad_i32_i16", I32, lambda a, b, c: signed(a, 16) * signed(b, 16) + signed(c)),
    ("0880d9d100051204", "v_sad_u8", U32, lambda a, b, c: bytes_apart(a, b) + c),
    ("0880dad100051204", "v_sad_hi_u8", U32, lambda a, b, c: (bytes_apart(a, b) << 16) + c),
    ("0880dbd100051204", "v_sad_u16", U32, lambda a, b, c: bytes_apart(a, b, 16) + c),
    ("0880dcd100051204", "v_sad_u32", U32, lambda a, b, c: abs(a - b) + c),
    ("0880e4d100051204", "v_msad_u8", U32, lambda a, b, c: bytes_apart(a, b, masked=True) + c),
]


@pytest.mark.parametrize(("code", "name", "limits", "function"), SUMS, ids=[row[1] for row in SUMS])
def test_a_clamped_sum_stays_within_its_type(code, name, limits, function: Callable):
    """v8 = v0, v2, v4 with clamp."""
    operands = combinations(INTEGERS, 3)
    state = state_with((0, operands[0]), (2, operands[1]), (4, operands[2]))
    state.write_vgpr(8, np.zeros((1, 1), np.uint32))
    run_code(state, code)
    mask = 0xFFFF if limits in (U16, I16) else 0xFFFFFFFF
    expected = [
        min(max(function(*lane), limits[0]), limits[1]) & mask
        for lane in zip(*(operand.ravel().tolist() for operand in operands), strict=True)
    ]
    assert (lanes_of(state, 8) & np.uint32(mask)).ravel().tolist() == expected


@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("08ea19d100050200", lambda a, b, carry: a + b),  # v_add_co_u32 v8, vcc, v0, v2 clamp
        ("08ea1dd10005aa01", lambda a, b, carry: a - b - carry),  # v_subb_co_u32 v8, vcc, v0, v2, vcc clamp
    ],
)
def test_a_clamped_carry_saturates_and_is_still_reported(code, function):
    a, b = combinations(INTEGERS, 2)
    state = state_with((0, a), (2, b))
    state.write_mask(VCC, (LANES % 2 == 1).reshape(1, 64))
    run_code(state, code)
    wide = function(a.astype(np.int64), b.astype(np.int64), LANES % 2)
    assert np.array_equal(lanes_of(state, 8), np.clip(wide, 0, 0xFFFFFFFF).astype(np.uint32))
    assert np.array_equal(state.full(state.read_mask(VCC)), (wide < 0) | (wide > 0xFFFFFFFF))


def test_a_carry_with_a_source_from_another_lane():
    a = np.random.default_rng(1).integers(0, 1 << 32, (1, 64), dtype=np.uint32)
    b = np.random.default_rng(2).integers(0, 1 << 32, (1, 64), dtype=np.uint32)
    state = state_with((0, a), (2, b), (8, np.full((1, 64), 7, np.uint32)))
    run_code(state, "fa041032001101ff")  # v_add_co_u32_dpp v8, vcc, v0, v2 row_shr:1
    exists = LANES % 16 != 0
    wide = a[:, LANES - 1].astype(np.int64) + b
    assert np.array_equal(lanes_of(state, 8), np.where(exists, wide & 0xFFFFFFFF, 7))
    assert np.array_equal(state.full(state.read_mask(VCC)), exists & (wide >> 32 > 0))
    carry = state.full(state.read_mask(VCC)).copy()
    run_code(state, "fa04103800b108ff")  # v_addc_co_u32_dpp v8, vcc, v0, v2, vcc quad_perm:[1,0,3,2] bound_ctrl:0
    wide = a[:, LANES ^ 1].astype(np.int64) + b + carry
    assert np.array_equal(lanes_of(state, 8), wide & 0xFFFFFFFF)
    assert np.array_equal(state.full(state.read_mask(VCC)), wide >> 32 > 0)


def test_pairs_of_registers_come_from_one_lane_of_each_row():
    values = np.random.default_rng(3).standard_normal((2, 64))
    state = state_with((0, values.view(np.uint64)))
    run_code(state, "fa70107e005301ff")  # v_mov_b64_dpp v[8:9], v[0:1] row_newbcast:3
    expected = values[:, LANES & ~15 | 3]
    assert np.array_equal(state.full(state.read_vgpr64(8)).view(np.float64), expected)


def test_a_row_mask_keeps_pairs_of_other_rows():
    a, b, c = (np.random.default_rng(seed).integers(-9, 9, (1, 64)).astype(np.float64) for seed in (1, 2, 3))
    state = state_with((0, a.view(np.uint64)), (2, b.view(np.uint64)), (8, c.view(np.uint64)))
    run_code(state, "fa041008005f015f")  # v_fmac_f64_dpp v[8:9], v[0:1], v[2:3] row_newbcast:15 row_mask:0x5
    expected = np.where(LANES // 16 % 2 == 0, a[:, LANES | 15] * b + c, c)
    assert np.array_equal(state.full(state.read_vgpr64(8)).view(np.float64), expected)


def test_a_pair_may_come_from_a_single_register_of_another_lane():
    values = np.random.default_rng(4).standard_normal((1, 64)).astype(np.float32)
    state = state_with((0, values.view(np.uint32)))
    run_code(state, "fa20107e005101ff")  # v_cvt_f64_f32_dpp v[8:9], v0 row_newbcast:1
    assert np.array_equal(state.full(state.read_vgpr64(8)).view(np.float64), values[:, LANES & ~15 | 1])


def test_a_choice_may_negate_what_sdwa_selects():
    a, b = combinations(INTEGERS, 2)
    state = state_with((0, a), (2, b))
    state.write_mask(VCC, (LANES % 2 == 1).reshape(1, 64))
    run_code(state, "f904100000061605")  # v_cndmask_b32_sdwa v8, -v0, v2, vcc dst_sel:DWORD src1_sel:WORD_1
    expected = np.where(LANES % 2 == 1, b >> np.uint32(16), a ^ np.uint32(1 << 31))
    assert np.array_equal(lanes_of(state, 8), expected)
