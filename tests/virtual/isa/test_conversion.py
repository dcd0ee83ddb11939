"""Conversions: towards zero and saturating to integers, one rounding to floats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.edge_values import DOUBLES, FLOATS, HALVES, INTEGERS, combinations, signed, state_with
from support.lanes import lanes_of, run_code

MORE_FLOATS = (*FLOATS, 0x4F000000, 0xCF000000, 0x4F800000, 0xBF7FFFFF, 0x4EFFFFFF, 0x3F000000, 0x3FC00000, 0xC0200000)


def saturated(value: float, low: int, high: int) -> int:
    """Towards zero, clipped, NaN to 0."""
    if math.isnan(value):
        return 0
    return high if value >= high else low if value <= low else int(value)


def up(value: float) -> float:
    return value if not math.isfinite(value) else math.floor(value + 0.5)


def down(value: float) -> float:
    return value if not math.isfinite(value) else math.floor(value)


I32, U32, I16, U16 = (-(1 << 31), (1 << 31) - 1), (0, (1 << 32) - 1), (-(1 << 15), (1 << 15) - 1), (0, (1 << 16) - 1)
TO_INTEGER = [
    ("v_cvt_i32_f32_e32 v8, v0", "0011107e", "f4", lambda x: saturated(x, *I32)),
    ("v_cvt_u32_f32_e32 v8, v0", "000f107e", "f4", lambda x: saturated(x, *U32)),
    ("v_cvt_i32_f64_e32 v8, v[0:1]", "0007107e", "f8", lambda x: saturated(x, *I32)),
    ("v_cvt_u32_f64_e32 v8, v[0:1]", "002b107e", "f8", lambda x: saturated(x, *U32)),
    ("v_cvt_i16_f16_e32 v8, v0", "0079107e", "f2", lambda x: saturated(x, *I16) & 0xFFFF),
    ("v_cvt_u16_f16_e32 v8, v0", "0077107e", "f2", lambda x: saturated(x, *U16)),
    ("v_cvt_flr_i32_f32_e32 v8, v0", "001b107e", "f4", lambda x: saturated(down(x), *I32)),
    ("v_cvt_rpi_i32_f32_e32 v8, v0", "0019107e", "f4", lambda x: saturated(up(x), *I32)),
]


@pytest.mark.parametrize(("text", "code", "dtype", "rule"), TO_INTEGER)
def test_to_integers(text, code, dtype, rule):
    values = {"f2": HALVES, "f4": MORE_FLOATS, "f8": DOUBLES}[dtype]
    (raw,) = combinations(values, 1, np.uint64)
    narrow = raw.astype(f"u{dtype[1]}")
    state = state_with((0, narrow if dtype == "f8" else narrow.astype(np.uint32)))
    run_code(state, code)
    expected = [rule(value) & 0xFFFFFFFF for value in narrow.view(dtype).ravel().tolist()]
    assert lanes_of(state, 8).ravel().tolist() == expected, text


TO_FLOAT = [
    ("v_cvt_f32_i32_e32 v8, v0", "000b107e", np.float32, signed),
    ("v_cvt_f32_u32_e32 v8, v0", "000d107e", np.float32, int),
    ("v_cvt_f64_i32_e32 v[8:9], v0", "0009107e", np.float64, signed),
    ("v_cvt_f64_u32_e32 v[8:9], v0", "002d107e", np.float64, int),
    ("v_cvt_f16_i16_e32 v8, v0", "0075107e", np.float16, lambda x: signed(x, 16)),
    ("v_cvt_f16_u16_e32 v8, v0", "0073107e", np.float16, lambda x: x & 0xFFFF),
    ("v_cvt_f32_ubyte0_e32 v8, v0", "0023107e", np.float32, lambda x: x & 0xFF),
    ("v_cvt_f32_ubyte1_e32 v8, v0", "0025107e", np.float32, lambda x: x >> 8 & 0xFF),
    ("v_cvt_f32_ubyte2_e32 v8, v0", "0027107e", np.float32, lambda x: x >> 16 & 0xFF),
    ("v_cvt_f32_ubyte3_e32 v8, v0", "0029107e", np.float32, lambda x: x >> 24),
]


def bits_of_result(state, dtype: type) -> list[int]:
    if dtype is np.float64:
        return state.full(state.read_vgpr64(8)).ravel().tolist()
    return lanes_of(state, 8).ravel().tolist()


@pytest.mark.parametrize(("text", "code", "dtype", "rule"), TO_FLOAT)
def test_from_integers(text, code, dtype, rule):
    (a,) = combinations((*INTEGERS, 0x1000001, 0xFFFFFF7F, 0xFFFFFF80), 1)
    state = state_with((0, a))
    run_code(state, code)
    with np.errstate(all="ignore"):
        expected = np.array([np.int64(rule(value)) for value in a.ravel().tolist()]).astype(dtype)
    assert bits_of_result(state, dtype) == expected.view(f"u{expected.dtype.itemsize}").tolist(), text


BETWEEN = [
    ("v_cvt_f64_f32_e32 v[8:9], v0", "0021107e", "f4", np.float64),
    ("v_cvt_f32_f64_e32 v8, v[0:1]", "001f107e", "f8", np.float32),
    ("v_cvt_f16_f32_e32 v8, v0", "0015107e", "f4", np.float16),
    ("v_cvt_f32_f16_e32 v8, v0", "0017107e", "f2", np.float32),
]


@pytest.mark.parametrize(("text", "code", "dtype", "target"), BETWEEN)
def test_between_float_formats(text, code, dtype, target):
    values = {"f2": HALVES, "f4": (*MORE_FLOATS, 0x477FEFFF, 0x477FF000, 0x33000000, 0x33000001), "f8": DOUBLES}[dtype]
    (raw,) = combinations(values, 1, np.uint64)
    narrow = raw.astype(f"u{dtype[1]}")
    state = state_with((0, narrow if dtype == "f8" else narrow.astype(np.uint32)))
    run_code(state, code)
    with np.errstate(all="ignore"):
        expected = narrow.view(dtype).astype(target).ravel()
    raw_result = np.array(bits_of_result(state, target), f"u{expected.dtype.itemsize}").view(target)
    np.testing.assert_array_equal(raw_result, expected)
    np.testing.assert_array_equal(np.signbit(raw_result), np.signbit(expected))


PACKED = [
    ("v_cvt_pkrtz_f16_f32 v8, v0, v2", "080096d200050200"),
    ("v_cvt_pknorm_i16_f32 v8, v0, v2", "080094d200050200"),
    ("v_cvt_pknorm_u16_f32 v8, v0, v2", "080095d200050200"),
]


def test_packing_to_half_rounds_towards_zero():
    values = np.array([1.0009765, -1.0009765, 65519, 65536, 1e30, 3e-8, -6e-8, 0.1], np.float32)
    a = np.tile(values, 8).reshape(1, 64)
    state = state_with((0, a.view(np.uint32)), (2, (-a).view(np.uint32)))
    run_code(state, PACKED[0][1])
    word = lanes_of(state, 8)
    low, high = (word & 0xFFFF).astype(np.uint16).view(np.float16), (word >> 16).astype(np.uint16).view(np.float16)
    assert (np.abs(low.astype(np.float64)) <= np.abs(a.astype(np.float64))).all()
    # the next half away from zero is too far
    bigger = np.nextafter(np.abs(low), np.float16(np.inf)).astype(np.float64)
    assert ((bigger > np.abs(a)) | np.isinf(bigger)).all()
    assert np.isfinite(low).all()
    assert (high == -low).all()


@pytest.mark.parametrize("index", [1, 2])
def test_packing_to_normalised_integers(index):
    values = np.array([0, 1, -1, 0.5, -0.5, 2, -2, np.nan], np.float32)
    a = np.tile(values, 8).reshape(1, 64)
    state = state_with((0, a.view(np.uint32)), (2, a.view(np.uint32)))
    run_code(state, PACKED[index][1])
    is_signed = index == 1
    expected = (
        [0, 32767, -32767, 16384, -16384, 32767, -32767, 0] if is_signed else [0, 65535, 0, 32768, 0, 65535, 0, 0]
    )
    word = lanes_of(state, 8)[0, :8]
    assert (word & 0xFFFF).tolist() == [value & 0xFFFF for value in expected]
    assert (word >> 16).tolist() == [value & 0xFFFF for value in expected]
