"""VOP3P: two halves at once, halves chosen and negated one by one, mixed precision, dot products."""

from __future__ import annotations

import numpy as np
import pytest
from support.edge_values import INTEGERS, combinations, signed, state_with
from support.lanes import lanes_of, run_code

M16, M32 = 0xFFFF, 0xFFFFFFFF


def s16(value: int) -> int:
    return signed(value, 16)


def clip(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


INTEGER = [
    ("v_pk_add_u16 v4, v0, v1", "04408ad300030218", lambda a, b, c: a + b),
    ("v_pk_add_i16 v4, v0, v1", "044082d300030218", lambda a, b, c: a + b),
    ("v_pk_sub_u16 v4, v0, v1", "04408bd300030218", lambda a, b, c: a - b),
    ("v_pk_sub_i16 v4, v0, v1", "044083d300030218", lambda a, b, c: a - b),
    ("v_pk_add_u16 v4, v0, v1 clamp", "04c08ad300030218", lambda a, b, c: min(a + b, M16)),
    ("v_pk_sub_i16 v4, v0, v1 clamp", "04c083d300030218", lambda a, b, c: clip(s16(a) - s16(b), -32768, 32767)),
    ("v_pk_mul_lo_u16 v4, v0, v1", "044081d300030218", lambda a, b, c: a * b),
    ("v_pk_mad_u16 v4, v0, v1, v2", "044089d300030a1c", lambda a, b, c: a * b + c),
    ("v_pk_mad_i16 v4, v0, v1, v2", "044080d300030a1c", lambda a, b, c: a * b + c),
    ("v_pk_min_u16 v4, v0, v1", "04408dd300030218", lambda a, b, c: min(a, b)),
    ("v_pk_max_u16 v4, v0, v1", "04408cd300030218", lambda a, b, c: max(a, b)),
    ("v_pk_min_i16 v4, v0, v1", "044088d300030218", lambda a, b, c: min(s16(a), s16(b))),
    ("v_pk_max_i16 v4, v0, v1", "044087d300030218", lambda a, b, c: max(s16(a), s16(b))),
    ("v_pk_lshlrev_b16 v4, v0, v1", "044084d300030218", lambda a, b, c: b << (a & 15)),
    ("v_pk_lshrrev_b16 v4, v0, v1", "044085d300030218", lambda a, b, c: b >> (a & 15)),
    ("v_pk_ashrrev_i16 v4, v0, v1", "044086d300030218", lambda a, b, c: s16(b) >> (a & 15)),
]


@pytest.mark.parametrize(("text", "code", "rule"), INTEGER)
def test_both_halves_of_integers(text, code, rule):
    operands = combinations(INTEGERS, 3)
    state = state_with(*enumerate(operands))
    run_code(state, code)
    expected = []
    for lane in zip(*(operand.ravel().tolist() for operand in operands), strict=True):
        low, high = rule(*(value & M16 for value in lane)), rule(*(value >> 16 for value in lane))
        expected.append(low & M16 | (high & M16) << 16)
    assert lanes_of(state, 4).ravel().tolist() == expected, text


CROSSED = ("v_pk_add_u16 v4, v0, v1 op_sel:[1,0] op_sel_hi:[0,1]", "04488ad300030210")


def test_each_half_of_the_result_chooses_its_halves():
    a, b = combinations(INTEGERS, 2)
    state = state_with((0, a), (1, b))
    run_code(state, CROSSED[1])
    low, high = ((a >> 16) + (b & M16)) & M16, ((a & M16) + (b >> 16)) & M16
    assert (lanes_of(state, 4) == low | high << 16).all()


def halves(seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal((2, 64, 2)).astype(np.float16)
    return np.ascontiguousarray(values)


def packed(values: np.ndarray) -> np.ndarray:
    return values.view(np.uint32).reshape(values.shape[:2])


FLOAT = [
    ("v_pk_add_f16 v4, v0, v1", "04408fd300030218", lambda a, b, c: a + b),
    ("v_pk_mul_f16 v4, v0, v1", "044090d300030218", lambda a, b, c: a * b),
    ("v_pk_min_f16 v4, v0, v1", "044091d300030218", lambda a, b, c: np.minimum(a, b)),
    ("v_pk_max_f16 v4, v0, v1", "044092d300030218", lambda a, b, c: np.maximum(a, b)),
    (
        "v_pk_fma_f16 v4, v0, v1, v2",
        "04408ed300030a1c",
        lambda a, b, c: (a.astype(np.longdouble) * b + c).astype(np.float16),
    ),
    ("v_pk_add_f16 v4, v0, v1 neg_lo:[0,1] neg_hi:[0,1]", "04428fd300030258", lambda a, b, c: a - b),
    ("v_pk_mul_f16 v4, v0, v1 neg_lo:[1,0]", "044090d300030238", lambda a, b, c: a * b * np.array([-1, 1], np.float16)),
    ("v_pk_add_f16 v4, v0, v1 clamp", "04c08fd300030218", lambda a, b, c: np.clip(a + b, 0, 1)),
]


@pytest.mark.parametrize(("text", "code", "rule"), FLOAT)
def test_both_halves_of_floats(text, code, rule):
    a, b, c = halves(1), halves(2), halves(3)
    state = state_with((0, packed(a)), (1, packed(b)), (2, packed(c)))
    run_code(state, code)
    result = lanes_of(state, 4).view(np.float16).reshape(a.shape)
    np.testing.assert_array_equal(result, rule(a, b, c).astype(np.float16))


SINGLE = [
    ("v_pk_add_f32 v[8:9], v[0:1], v[2:3]", "0840b2d300050218", lambda a, b, c: a + b),
    ("v_pk_mul_f32 v[8:9], v[0:1], v[2:3]", "0840b1d300050218", lambda a, b, c: a * b),
    (
        "v_pk_fma_f32 v[8:9], v[0:1], v[2:3], v[4:5]",
        "0840b0d30005121c",
        lambda a, b, c: (a.astype(np.float64) * b + c).astype(np.float32),
    ),
    ("v_pk_mul_f32 v[8:9], v[0:1], s[6:7] op_sel_hi:[1,0]", "0840b1d3000d0008", lambda a, b, c: a * np.float32(3)),
    ("v_pk_add_f32 v[8:9], v[0:1], v[2:3] neg_lo:[0,1] neg_hi:[0,1]", "0842b2d300050258", lambda a, b, c: a - b),
    (
        "v_pk_add_f32 v[8:9], v[0:1], v[2:3] op_sel:[1,0] op_sel_hi:[0,1]",
        "0848b2d300050210",
        lambda a, b, c: a[:, :, ::-1] + b,
    ),
]


@pytest.mark.parametrize(("text", "code", "rule"), SINGLE)
def test_two_singles_at_once(text, code, rule):
    a, b, c = (np.random.default_rng(seed).standard_normal((2, 64, 2)).astype(np.float32) for seed in (4, 5, 6))
    registers = [
        (2 * index + part, value[:, :, part].copy().view(np.uint32))
        for index, value in enumerate((a, b, c))
        for part in (0, 1)
    ]
    state = state_with(*registers)
    state.write_sgpr(6, 0x40400000)
    state.write_sgpr(7, 0x7FC00000)
    run_code(state, code)
    result = np.stack([lanes_of(state, 8), lanes_of(state, 9)], -1).view(np.float32)
    np.testing.assert_array_equal(result, rule(a, b, c))


MOVE = ("v_pk_mov_b32 v[8:9], v[0:1], v[2:3] op_sel:[1,0]", "0848b3d300050218")


def test_pk_mov_takes_a_word_of_each_pair():
    values = combinations(INTEGERS, 4)
    state = state_with(*enumerate(values))
    run_code(state, MOVE[1])
    assert (lanes_of(state, 8) == values[1]).all()
    assert (lanes_of(state, 9) == values[2]).all()


DOTS = [
    ("v_dot4_i32_i8 v4, v0, v1, v2", "0440a8d300030a1c", 8, True),
    ("v_dot4_u32_u8 v4, v0, v1, v2", "0440a9d300030a1c", 8, False),
    ("v_dot8_i32_i4 v4, v0, v1, v2", "0440aad300030a1c", 4, True),
    ("v_dot8_u32_u4 v4, v0, v1, v2", "0440abd300030a1c", 4, False),
    ("v_dot2_i32_i16 v4, v0, v1, v2", "0440a6d300030a1c", 16, True),
    ("v_dot2_u32_u16 v4, v0, v1, v2", "0440a7d300030a1c", 16, False),
]


@pytest.mark.parametrize(("text", "code", "width", "is_signed"), DOTS)
def test_integer_dot_products(text, code, width, is_signed):
    a, b, c = combinations(INTEGERS, 3)
    state = state_with((0, a), (1, b), (2, c))
    run_code(state, code)

    def part(value: int, index: int) -> int:
        bits = value >> width * index & ((1 << width) - 1)
        return signed(bits, width) if is_signed else bits

    expected = []
    for x, y, z in zip(a.ravel().tolist(), b.ravel().tolist(), c.ravel().tolist(), strict=True):
        expected.append(z + sum(part(x, index) * part(y, index) for index in range(32 // width)) & M32)
    assert lanes_of(state, 4).ravel().tolist() == expected, text


HALF_DOT = ("v_dot2_f32_f16 v4, v0, v1, v2", "0440a3d300030a1c")


def test_the_half_dot_product_is_summed_in_single():
    a, b = halves(7), halves(8)
    c = np.random.default_rng(9).standard_normal((2, 64)).astype(np.float32)
    state = state_with((0, packed(a)), (1, packed(b)), (2, c.view(np.uint32)))
    run_code(state, HALF_DOT[1])
    products = a.astype(np.float64) * b
    expected = c + products.sum(-1)
    np.testing.assert_allclose(lanes_of(state, 4).view(np.float32), expected, rtol=1e-5, atol=1e-6)
