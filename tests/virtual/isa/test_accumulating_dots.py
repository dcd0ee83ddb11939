"""VOP2 dot products that add to their destination, against Python's integers and numpy, lane by lane."""

from __future__ import annotations

import numpy as np
import pytest
from support.edge_values import INTEGERS, combinations, signed, state_with
from support.lanes import lanes_of, run_code


def parts(word: int, width: int) -> list[int]:
    return [signed(word >> shift, width) for shift in range(0, 32, width)]


@pytest.mark.parametrize(
    ("code", "width", "clamp"),
    [
        ("00051070", 16, False),  # v_dot2c_i32_i16 v8, v0, v2
        ("00051072", 8, False),  # v_dot4c_i32_i8 v8, v0, v2
        ("00051074", 4, False),  # v_dot8c_i32_i4 v8, v0, v2
        ("088039d100050200", 8, True),  # v_dot4c_i32_i8_e64 v8, v0, v2 clamp
    ],
)
def test_integer_dot_products_are_added_to_the_destination(code, width, clamp):
    a, b, c = combinations(INTEGERS, 3)
    state = state_with((0, a), (2, b), (8, c))
    run_code(state, code)
    expected = []
    for x, y, z in zip(a.ravel().tolist(), b.ravel().tolist(), c.ravel().tolist(), strict=True):
        total = signed(z) + sum(p * q for p, q in zip(parts(x, width), parts(y, width), strict=True))
        expected.append((min(max(total, -(1 << 31)), (1 << 31) - 1) if clamp else total) & 0xFFFFFFFF)
    assert lanes_of(state, 8).ravel().tolist() == expected


def test_a_dpp_source_moves_between_lanes_first():
    lanes = np.arange(64, dtype=np.uint32).reshape(1, 64)
    state = state_with((0, lanes), (2, np.full((1, 64), 3, np.uint32)), (8, np.zeros((1, 64), np.uint32)))
    run_code(state, "fa041072001109ff")  # v_dot4c_i32_i8_dpp v8, v0, v2 row_shr:1 bound_ctrl:0
    expected = [0 if lane % 16 == 0 else 3 * (lane - 1) for lane in range(64)]
    assert lanes_of(state, 8)[0].tolist() == expected


def random_halves(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((4, 64, 2)).astype(np.float16)


def packed(halves: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(halves).view(np.uint32)[..., 0]


def test_the_half_dot_product_adds_its_products_in_single_precision():
    a, b = random_halves(1), random_halves(2)
    c = np.random.default_rng(3).standard_normal((4, 64)).astype(np.float32)
    state = state_with((0, packed(a)), (2, packed(b)), (8, c.view(np.uint32)))
    run_code(state, "0005106e")  # v_dot2c_f32_f16 v8, v0, v2
    products = a.astype(np.float32) * b.astype(np.float32)
    assert np.array_equal(lanes_of(state, 8).view(np.float32), c + products[..., 0] + products[..., 1])


def test_packed_halves_are_multiplied_and_added_with_one_rounding():
    a, b, c = random_halves(4), random_halves(5), random_halves(6)
    state = state_with((0, packed(a)), (2, packed(b)), (8, packed(c)))
    run_code(state, "00051078")  # v_pk_fmac_f16 v8, v0, v2
    wide = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)  # exact: 11 bits each
    assert np.array_equal(lanes_of(state, 8), packed(wide.astype(np.float16)))
