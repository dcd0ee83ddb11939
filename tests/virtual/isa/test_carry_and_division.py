"""Carries, the choice by a mask, and the three steps of a division."""

from __future__ import annotations

import numpy as np
import pytest
from support.edge_values import INTEGERS, combinations, state_with
from support.lanes import lanes_of, run_code

pytestmark = pytest.mark.usefixtures("each_way")

M32 = 0xFFFFFFFF
ADDITIONS = [
    ("v_add_co_u32_e32 v4, vcc, v0, v1", "00030832", lambda a, b, c: a + b),
    ("v_sub_co_u32_e32 v4, vcc, v0, v1", "00030834", lambda a, b, c: a - b),
    ("v_subrev_co_u32_e32 v4, vcc, v0, v1", "00030836", lambda a, b, c: b - a),
    ("v_addc_co_u32_e32 v4, vcc, v0, v1, vcc", "00030838", lambda a, b, c: a + b + c),
    ("v_subb_co_u32_e32 v4, vcc, v0, v1, vcc", "0003083a", lambda a, b, c: a - b - c),
    ("v_subbrev_co_u32_e32 v4, vcc, v0, v1, vcc", "0003083c", lambda a, b, c: b - a - c),
    ("v_addc_co_u32_e64 v4, vcc, v0, v1, s[10:11]", "046a1cd100032a00", lambda a, b, c: a + b + (1 - c)),
]


@pytest.mark.parametrize(("text", "code", "rule"), ADDITIONS)
def test_carry_in_and_out(text, code, rule):
    a, b = combinations(INTEGERS, 2)
    carry = np.arange(a.size).reshape(a.shape) % 2 == 1
    state = state_with((0, a), (1, b))
    state.write_mask(106, carry)
    state.write_mask(10, ~carry)
    run_code(state, code)
    raw = [rule(*map(int, lane)) for lane in zip(a.ravel(), b.ravel(), carry.ravel(), strict=True)]
    assert lanes_of(state, 4).ravel().tolist() == [value & M32 for value in raw], text
    assert state.full(state.read_mask(106)).ravel().tolist() == [not 0 <= value <= M32 for value in raw], text


SELECT = [
    ("v_cndmask_b32_e32 v4, v0, v1, vcc", "00030800", False),
    ("v_cndmask_b32_e64 v4, v0, v1, s[10:11]", "040000d100032a00", True),
]


@pytest.mark.parametrize(("text", "code", "inverted"), SELECT)
def test_the_second_source_is_chosen_where_the_mask_is_set(text, code, inverted):
    a, b = combinations(INTEGERS, 2)
    mask = np.arange(a.size).reshape(a.shape) % 3 == 1
    state = state_with((0, a), (1, b))
    state.write_mask(106, mask)
    state.write_mask(10, ~mask)
    run_code(state, code)
    assert (lanes_of(state, 4) == np.where(mask ^ inverted, b, a)).all(), text


# What clang emits for an IEEE division: v0 / v1 -> v9 (f32), v[0:1] / v[2:3] -> v[18:19] (f64)
DIVISION32 = [
    ("v_div_scale_f32 v2, s[10:11], v1, v1, v0", "020ae0d101030204"),
    ("v_rcp_f32_e32 v3, v2", "0245067e"),
    ("v_div_scale_f32 v4, vcc, v0, v1, v0", "046ae0d100030204"),
    ("v_fma_f32 v5, -v2, v3, 1.0", "0500cbd10207ca23"),
    ("v_fmac_f32_e32 v3, v5, v3", "05070676"),
    ("v_mul_f32_e32 v6, v4, v3", "04070c0a"),
    ("v_fma_f32 v7, -v2, v6, v4", "0700cbd1020d1224"),
    ("v_fmac_f32_e32 v6, v7, v3", "07070c76"),
    ("v_fma_f32 v8, -v2, v6, v4", "0800cbd1020d1224"),
    ("v_div_fmas_f32 v9, v8, v3, v6", "0900e2d108071a04"),
    ("v_div_fixup_f32 v9, v9, v1, v0", "0900ded109030204"),
]
DIVISION64 = [
    ("v_div_scale_f64 v[4:5], s[10:11], v[2:3], v[2:3], v[0:1]", "040ae1d102050204"),
    ("v_rcp_f64_e32 v[6:7], v[4:5]", "044b0c7e"),
    ("v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0", "0800ccd1040dca23"),
    ("v_fmac_f64_e32 v[6:7], v[6:7], v[8:9]", "06110c08"),
    ("v_div_scale_f64 v[10:11], vcc, v[0:1], v[2:3], v[0:1]", "0a6ae1d100050204"),
    ("v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0", "0800ccd1040dca23"),
    ("v_fmac_f64_e32 v[6:7], v[6:7], v[8:9]", "06110c08"),
    ("v_mul_f64 v[12:13], v[10:11], v[6:7]", "0c0081d20a0d0200"),
    ("v_fma_f64 v[14:15], -v[4:5], v[12:13], v[10:11]", "0e00ccd104192a24"),
    ("v_div_fmas_f64 v[16:17], v[14:15], v[6:7], v[12:13]", "1000e3d10e0d3204"),
    ("v_div_fixup_f64 v[18:19], v[16:17], v[2:3], v[0:1]", "1200dfd110050204"),
]


def spread_floats(dtype: type, seed: int) -> np.ndarray:
    """Random values over the whole range of exponents, and the specials."""
    random = np.random.default_rng(seed)
    span = {np.float32: 148, np.float64: 1070}[dtype]
    values = random.standard_normal(2048) * 2.0 ** random.integers(-span, span // 1 - 25, 2048).clip(-1020, 1000)
    with np.errstate(all="ignore"):
        values = values.astype(dtype)
    values[:7] = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1]
    return random.permutation(values).reshape(-1, 64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_division_sequence_is_correctly_rounded_over_all_exponents(dtype):
    a, b = spread_floats(dtype, 5), spread_floats(dtype, 6)
    raw = np.dtype(f"u{a.dtype.itemsize}")
    second = 1 if dtype is np.float32 else 2
    state = state_with((0, a.view(raw)), (second, b.view(raw)))
    for _, code in DIVISION32 if dtype is np.float32 else DIVISION64:
        run_code(state, code)
    result = np.array(state.full(state.read_vgpr(9) if dtype is np.float32 else state.read_vgpr64(18))).view(dtype)
    with np.errstate(all="ignore"):
        expected = a / b
    assert ((np.abs(expected) < np.finfo(dtype).tiny) & (expected != 0)).sum() > 10
    np.testing.assert_array_equal(result, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result[number]), np.signbit(expected[number]))


def test_a_denominator_whose_inverse_is_denormal_is_divided_by_exactly():
    random = np.random.default_rng(9)
    b = np.ldexp(random.uniform(1, 2, (4, 64)), random.integers(1021, 1024, (4, 64)))
    a = np.ldexp(random.uniform(-2, 2, (4, 64)), random.integers(-60, 1000, (4, 64)))
    a[0] = 1
    state = state_with((0, a.view(np.uint64)), (2, b.view(np.uint64)))
    for _, code in DIVISION64:
        run_code(state, code)
    np.testing.assert_array_equal(np.array(state.full(state.read_vgpr64(18))).view(np.float64), a / b)
