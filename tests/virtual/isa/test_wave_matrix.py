"""WMMA against numpy, with the layouts that the RDNA3 ISA document gives for A, B and C."""

from __future__ import annotations

import numpy as np
import pytest
from support.gfx1100 import fill, make_waves, read, run
from support.matrices import SIDE, A, B, C, bf16, f16, packed, random


def put_rows(state, first: int, words: np.ndarray) -> None:
    """Row n in lane n, and again in the lanes from 16 on."""
    for index in range(words.shape[1]):
        fill(state, first + index, np.tile(words[:, index], state.lanes // SIDE))


def put_result(state, first: int, words: np.ndarray) -> None:
    """Register r, lane n: row r * (lanes / 16) + n // 16, column n % 16."""
    for index, lanes in enumerate(np.asarray(words, np.uint32).reshape(-1, state.lanes)):
        fill(state, first + index, lanes)


def result(state, first: int) -> np.ndarray:
    count = SIDE * SIDE // state.lanes
    return np.stack([read(state, first + index)[0] for index in range(count)]).reshape(SIDE, SIDE)


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize(
    ("code", "encode"),
    [
        ("104040cc0011421c", f16),  # v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23]
        ("104041cc0011421c", bf16),  # v_wmma_f32_16x16x16_bf16
    ],
)
def test_halves_are_multiplied_into_single_precision(lanes, code, encode):
    state = make_waves(lanes=lanes)
    a, b, c = random((3, SIDE, SIDE), "f")
    put_rows(state, A, packed(encode(a), 16))
    put_rows(state, B, packed(encode(b.T), 16))
    put_result(state, C, np.ascontiguousarray(c, np.float32).view(np.uint32))
    run(state, code)
    assert np.array_equal(result(state, C).view(np.float32), a @ b + c)


@pytest.mark.parametrize(
    ("code", "encode", "upper"),
    [
        ("104042cc0011421c", f16, False),  # v_wmma_f16_16x16x16_f16
        ("106042cc0011421c", f16, True),  # ... op_sel:[0,0,1]
        ("104043cc0011421c", bf16, False),  # v_wmma_bf16_16x16x16_bf16
    ],
)
def test_results_of_16_bits_take_one_half_and_leave_the_other(code, encode, upper):
    state = make_waves()
    a, b = random((2, SIDE, SIDE), "f")
    c = random((SIDE, SIDE), "f", 6)
    put_rows(state, A, packed(encode(a), 16))
    put_rows(state, B, packed(encode(b.T), 16))
    other = np.uint32(0x1234)
    held = encode(c) << np.uint32(16) | other if upper else encode(c) | other << np.uint32(16)
    put_result(state, C, held)
    run(state, code)
    wide = np.float32(a @ b + c)
    expected = f16(wide) if encode is f16 else (wide.view(np.uint32) + np.uint32(0x8000)) >> np.uint32(16)
    found = result(state, C)
    low, high = found & np.uint32(0xFFFF), found >> np.uint32(16)
    assert np.array_equal(high if upper else low, expected)
    assert ((low if upper else high) == other).all()


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize(
    ("code", "width", "left", "right"),
    [
        ("104044cc0011421c", 8, "u8", "u8"),  # v_wmma_i32_16x16x16_iu8 v[16:23], v[0:3], v[8:11], v[16:23]
        ("104044cc0011423c", 8, "i8", "u8"),  # ... neg_lo:[1,0,0]
        ("104045cc0011425c", 4, "u4", "i4"),  # v_wmma_i32_16x16x16_iu4 ... neg_lo:[0,1,0]
    ],
)
def test_integers_have_the_signs_that_neg_gives_them(lanes, code, width, left, right):
    state = make_waves(lanes=lanes)
    a, b = random((SIDE, SIDE), left), random((SIDE, SIDE), right, 6)
    c = np.arange(256).reshape(SIDE, SIDE) - 100
    put_rows(state, A, packed(a, width))
    put_rows(state, B, packed(b.T, width))
    put_result(state, C, c.astype(np.int32).view(np.uint32))
    run(state, code)
    assert np.array_equal(result(state, C).view(np.int32), a @ b + c)


def test_clamp_keeps_sums_in_32_bits():
    state = make_waves()
    ones = np.full((SIDE, SIDE), 127)
    put_rows(state, A, packed(ones, 8))
    put_rows(state, B, packed(ones, 8))
    put_result(state, C, np.full((SIDE, SIDE), 0x7FFFFF00))
    run(state, "10c044cc0011427c")  # v_wmma_i32_16x16x16_iu8 ... neg_lo:[1,1,0] clamp
    assert (result(state, C) == 0x7FFFFFFF).all()


def test_the_addend_may_be_a_constant():
    state = make_waves()
    a, b = random((2, SIDE, SIDE), "f")
    put_rows(state, A, packed(f16(a), 16))
    put_rows(state, B, packed(f16(b.T), 16))
    run(state, "104040cc0011ca1b")  # v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], 1.0
    assert np.array_equal(result(state, C).view(np.float32), a @ b + 1)


def test_signs_of_the_upper_elements_and_of_the_addend():
    state = make_waves()
    a, b, c = random((3, SIDE, SIDE), "f")
    put_rows(state, A, packed(f16(a), 16))
    put_rows(state, B, packed(f16(b.T), 16))
    put_result(state, C, np.ascontiguousarray(c, np.float32).view(np.uint32))
    run(state, "104140cc0011429c")  # ... neg_lo:[0,0,1] neg_hi:[1,0,0]
    signs = np.tile([1, -1], SIDE // 2)
    assert np.array_equal(result(state, C).view(np.float32), (a * signs) @ b - c)


def test_lanes_that_are_off_take_part():
    state = make_waves()
    a, b = random((2, SIDE, SIDE), "f")
    put_rows(state, A, packed(f16(a), 16))
    put_rows(state, B, packed(f16(b.T), 16))
    put_result(state, C, np.zeros((SIDE, SIDE)))
    state.write_exec((np.arange(32) < 3).reshape(1, -1))
    run(state, "104040cc0011421c")
    assert np.array_equal(result(state, C).view(np.float32), a @ b)
