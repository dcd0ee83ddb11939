"""Byte differences, cube map faces, the accumulating byte conversion and two over pi."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from support.edge_values import FLOATS, combinations, state_with
from support.lanes import lanes_of, run_code


def byte(word: int, index: int) -> int:
    return word >> 8 * index & 0xFF


def differences(word: int, reference: int, place: int, masked: bool) -> int:
    """Of four bytes from byte `place` on; where `masked` a reference byte of zero does not count."""
    pairs = [(byte(word, place + index), byte(reference, index)) for index in range(4)]
    return sum(abs(a - b) for a, b in pairs if b or not masked)


def three_random(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    random = np.random.default_rng(seed)
    reference = random.integers(0, 1 << 32, (2, 64), dtype=np.uint32)
    reference[0] &= np.uint32(0xFF00FFFF)
    return random.integers(0, 1 << 63, (2, 64), dtype=np.uint64), reference, random


@pytest.mark.parametrize(
    ("code", "masked"),
    [
        ("0800e5d100051204", False),  # v_qsad_pk_u16_u8 v[8:9], v[0:1], v2, v[4:5]
        ("0800e6d100051204", True),  # v_mqsad_pk_u16_u8 v[8:9], v[0:1], v2, v[4:5]
    ],
)
def test_four_sums_of_differences_are_added_to_four_halves(code, masked):
    words, references, random = three_random(1)
    added = random.integers(0, 1 << 63, (2, 64), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    state = state_with((0, words), (2, references), (4, added))
    run_code(state, code)
    expected = []
    for word, reference, old in zip(*(array.ravel().tolist() for array in (words, references, added)), strict=True):
        sums = [differences(word, reference, place, masked) + (old >> 16 * place & 0xFFFF) for place in range(4)]
        expected.append(sum((value & 0xFFFF) << 16 * place for place, value in enumerate(sums)))
    assert state.full(state.read_vgpr64(8)).ravel().tolist() == expected


def test_four_sums_of_differences_are_added_to_four_registers():
    words, references, random = three_random(2)
    added = [random.integers(0, 1 << 32, (2, 64), dtype=np.uint32) for _ in range(4)]
    state = state_with((0, words), (2, references), *((4 + index, value) for index, value in enumerate(added)))
    run_code(state, "0800e7d100051204")  # v_mqsad_u32_u8 v[8:11], v[0:1], v2, v[4:7]
    lanes = list(zip(words.ravel().tolist(), references.ravel().tolist(), strict=True))
    for place in range(4):
        old = added[place].ravel().tolist()
        expected = [
            differences(word, reference, place, True) + before & 0xFFFFFFFF
            for (word, reference), before in zip(lanes, old, strict=True)
        ]
        assert lanes_of(state, 8 + place).ravel().tolist() == expected


def cube(x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """Face, s, t and twice the major axis; ties go to z, then to y."""
    if abs(z) >= abs(x) and abs(z) >= abs(y):
        return (5.0, -x, -y, 2 * z) if z < 0 else (4.0, x, -y, 2 * z)
    if abs(y) >= abs(x):
        return (3.0, x, -z, 2 * y) if y < 0 else (2.0, x, z, 2 * y)
    return (1.0, z, -y, 2 * x) if x < 0 else (0.0, -z, -y, 2 * x)


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("0800c4d100051204", 0),  # v_cubeid_f32 v8, v0, v2, v4
        ("0800c5d100051204", 1),  # v_cubesc_f32 v8, v0, v2, v4
        ("0800c6d100051204", 2),  # v_cubetc_f32 v8, v0, v2, v4
        ("0800c7d100051204", 3),  # v_cubema_f32 v8, v0, v2, v4
    ],
)
def test_cube_map_faces_and_coordinates(code, part):
    numbers = tuple(value for value in FLOATS if not math.isnan(np.uint32(value).view(np.float32)))
    x, y, z = combinations(numbers, 3)
    state = state_with((0, x), (2, y), (4, z))
    run_code(state, code)
    lanes = zip(*(array.view(np.float32).ravel().tolist() for array in (x, y, z)), strict=True)
    with np.errstate(over="ignore"):
        expected = np.array([cube(*lane)[part] for lane in lanes]).astype(np.float32)
    assert np.array_equal(lanes_of(state, 8).ravel(), expected.view(np.uint32))


def test_a_float_becomes_one_byte_of_the_destination():
    values = np.resize(np.array([0, -5, 1.9, 254.999, 255, 300, np.inf, -np.inf, np.nan, 0.5], np.float32), (1, 64))
    places = np.arange(64, dtype=np.uint32).reshape(1, 64)
    state = state_with((0, values.view(np.uint32)), (2, places), (8, np.full((1, 64), 0x11223344, np.uint32)))
    run_code(state, "0800f0d100050200")  # v_cvt_pkaccum_u8_f32 v8, v0, v2
    expected = []
    for value, place in zip(values[0].tolist(), places[0].tolist(), strict=True):
        number = 0 if math.isnan(value) else int(min(max(value, 0), 255))
        shift = 8 * (place & 3)
        expected.append(0x11223344 & ~(0xFF << shift) | number << shift)
    assert lanes_of(state, 8)[0].tolist() == expected


def pi_digits(bits: int) -> Fraction:
    """pi by the Gauss-Legendre iteration, good to more than `bits` bits."""
    unit = 1 << bits + 64
    a, b, t, p = unit, math.isqrt(unit * unit // 2), unit // 4, 1
    for _ in range(14):
        following = (a + b) // 2
        b, t = math.isqrt(a * b), t - p * (a - following) ** 2 // unit
        a, p = following, 2 * p
    return Fraction((a + b) ** 2, 4 * t * unit)


def test_the_segments_of_two_over_pi():
    """For an exponent without extra shift the segments are consecutive groups of 53 bits of 2 / pi."""
    segments = np.resize(np.arange(20, dtype=np.uint32), (1, 64))
    state = state_with((0, np.full((1, 64), 1.0).view(np.uint64)), (2, segments))
    run_code(state, "080092d200050200")  # v_trig_preop_f64 v[8:9], v[0:1], v2
    result = state.full(state.read_vgpr64(8)).view(np.float64)[0]
    two_over_pi = 2 / pi_digits(1300)
    for segment in range(20):
        scaled = two_over_pi * (1 << 53 * (segment + 1))
        assert Fraction(float(result[segment])) == Fraction(int(scaled) & (1 << 53) - 1, 1 << 53 * (segment + 1))


def test_large_arguments_start_further_on_and_huge_ones_are_scaled():
    values = np.resize(np.array([2.0**60, 2.0**1000]), (1, 64))
    state = state_with((0, values.view(np.uint64)), (2, np.zeros((1, 64), np.uint32)))
    run_code(state, "080092d200050200")
    result = state.full(state.read_vgpr64(8)).view(np.float64)[0]
    two_over_pi = 2 / pi_digits(1300)
    for lane, (exponent, factor) in enumerate([(60 + 1023, 1), (1000 + 1023, 1 << 128)]):
        shift = exponent - 1077
        bits = int(two_over_pi * (1 << 53 + shift)) & (1 << 53) - 1
        assert Fraction(float(result[lane])) == Fraction(bits * factor, 1 << 53 + shift)
