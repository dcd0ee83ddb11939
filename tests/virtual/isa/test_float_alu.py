"""Float instructions on edge values: NaN compares as NaN, everything else bit for bit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from support.edge_values import DOUBLES, FLOATS, HALVES, combinations, signed, state_with
from support.lanes import lanes_of, run_code

from hipgraph_cb.virtual.isa.core.exact import fma16, fma32, fma64

pytestmark = pytest.mark.usefixtures("each_way")

TYPES = {
    "f16": (np.float16, np.uint16, HALVES),
    "f32": (np.float32, np.uint32, FLOATS),
    "f64": (np.float64, np.uint64, DOUBLES),
}


def operands_of(kind: str, count: int) -> list[np.ndarray]:
    float_type, raw, values = TYPES[kind]
    return [array.astype(raw).view(float_type) for array in combinations(values, count, np.uint64)]


def as_registers(array: np.ndarray) -> np.ndarray:
    raw = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    return raw if raw.dtype == np.uint64 else raw.astype(np.uint32)


def result_of(code: str, kind: str, operands: list[np.ndarray], register: int = 8) -> np.ndarray:
    """Operands go to v0, v2, v4 (pairs for f64), the result comes from v8."""
    state = state_with(*((2 * index, as_registers(operand)) for index, operand in enumerate(operands)))
    run_code(state, code)
    float_type, raw, _ = TYPES[kind]
    if kind == "f64":
        return np.array(state.full(state.read_vgpr64(register))).view(float_type)
    return lanes_of(state, register).astype(raw).view(float_type)


def assert_same(result: np.ndarray, expected: np.ndarray, text: str) -> None:
    raw = np.dtype(f"u{result.dtype.itemsize}")
    expected = np.asarray(expected, result.dtype)
    both_nan = np.isnan(result) & np.isnan(expected)
    wrong = (result.view(raw) != expected.view(raw)) & ~both_nan
    assert not wrong.any(), (text, np.argwhere(wrong)[:3], result[wrong][:3], expected[wrong][:3])


def is_signalling(value) -> bool:
    raw = np.asarray(value).view(np.dtype(f"u{value.dtype.itemsize}"))
    quiet = {2: 9, 4: 22, 8: 51}[value.dtype.itemsize]
    return bool(np.isnan(value)) and not int(raw) >> quiet & 1


def smaller(a, b):
    """IEEE mode: signalling NaN -> NaN; a number wins against quiet NaN; -0 < +0."""
    if is_signalling(a) or is_signalling(b):
        return a.dtype.type(np.nan)
    if np.isnan(a) or np.isnan(b):
        return b if np.isnan(a) else a
    return a if (a, not np.signbit(a)) < (b, not np.signbit(b)) else b


def larger(a, b):
    if is_signalling(a) or is_signalling(b):
        return a.dtype.type(np.nan)
    if np.isnan(a) or np.isnan(b):
        return b if np.isnan(a) else a
    return a if (a, not np.signbit(a)) > (b, not np.signbit(b)) else b


def lane_by_lane(function, *operands) -> np.ndarray:
    flat = [operand.ravel() for operand in operands]
    return np.array([function(*lane) for lane in zip(*flat, strict=True)], flat[0].dtype).reshape(operands[0].shape)


def fused(a, b, c):
    """Exact rational arithmetic, one rounding; specials by the plain expression."""
    kind = a.dtype.type
    with np.errstate(all="ignore"):
        if not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
            # infinities and NaN come out of a wide evaluation as they should
            return kind(np.longdouble(a) * np.longdouble(b) + np.longdouble(c))
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        if exact == 0:
            return kind(kind(math.copysign(1, a) * math.copysign(1, b)) * kind(0) + (c if c == 0 else kind(0)))
        return rounded(exact, kind)


def rounded(exact: Fraction, kind):
    """The nearest value of a float type, ties to even."""
    info = np.finfo(kind)
    digits = info.nmant + 1
    magnitude = abs(exact)
    power = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length(), int(info.minexp))
    while power > info.minexp and Fraction(2) ** power > magnitude:
        power -= 1
    unit = Fraction(2) ** (power - digits + 1)
    steps = round(magnitude / unit)
    value = steps * unit
    result = kind(np.inf if value > Fraction(float(info.max)) else float(value))
    return -result if exact < 0 else result


UNARY = [
    ("v_floor_f32_e32 v8, v0", "003f107e", np.floor),
    ("v_ceil_f32_e32 v8, v0", "003b107e", np.ceil),
    ("v_trunc_f32_e32 v8, v0", "0039107e", np.trunc),
    ("v_rndne_f32_e32 v8, v0", "003d107e", np.rint),
    ("v_rcp_f32_e32 v8, v0", "0045107e", lambda a: np.float32(1) / a),
    ("v_sqrt_f32_e32 v8, v0", "004f107e", np.sqrt),
    ("v_frexp_mant_f32_e32 v8, v0", "0069107e", lambda a: np.where(np.isfinite(a), np.frexp(a)[0], a)),
    ("v_floor_f64_e32 v[8:9], v[0:1]", "0035107e", np.floor),
    ("v_ceil_f64_e32 v[8:9], v[0:1]", "0031107e", np.ceil),
    ("v_trunc_f64_e32 v[8:9], v[0:1]", "002f107e", np.trunc),
    ("v_rndne_f64_e32 v[8:9], v[0:1]", "0033107e", np.rint),
    ("v_rcp_f64_e32 v[8:9], v[0:1]", "004b107e", lambda a: 1 / a),
    ("v_sqrt_f64_e32 v[8:9], v[0:1]", "0051107e", np.sqrt),
    ("v_frexp_mant_f64_e32 v[8:9], v[0:1]", "0063107e", lambda a: np.where(np.isfinite(a), np.frexp(a)[0], a)),
    ("v_floor_f16_e32 v8, v0", "0089107e", np.floor),
    ("v_rndne_f16_e32 v8, v0", "008f107e", np.rint),
    ("v_sqrt_f16_e32 v8, v0", "007d107e", np.sqrt),
    ("v_rcp_f16_e32 v8, v0", "007b107e", lambda a: np.float16(1) / a),
]
BINARY = [
    ("v_add_f32_e32 v8, v0, v2", "00051002", np.add),
    ("v_sub_f32_e32 v8, v0, v2", "00051004", np.subtract),
    ("v_subrev_f32_e32 v8, v0, v2", "00051006", lambda a, b: b - a),
    ("v_mul_f32_e32 v8, v0, v2", "0005100a", np.multiply),
    ("v_mul_legacy_f32 v8, v0, v2", "0800a1d200050200", lambda a, b: np.where((a == 0) | (b == 0), 0, a * b)),
    ("v_min_f32_e32 v8, v0, v2", "00051014", lambda a, b: lane_by_lane(smaller, a, b)),
    ("v_max_f32_e32 v8, v0, v2", "00051016", lambda a, b: lane_by_lane(larger, a, b)),
    ("v_add_f32_e64 v8, -v0, |v2|", "080201d100050220", lambda a, b: -a + np.abs(b)),
    ("v_mul_f32_e64 v8, -|v0|, v2", "080105d100050220", lambda a, b: -np.abs(a) * b),
    ("v_add_f32_e64 v8, v0, v2 mul:2", "080001d100050208", lambda a, b: (a + b) * 2),
    ("v_add_f32_e64 v8, v0, v2 div:2", "080001d100050218", lambda a, b: (a + b) / 2),
    (
        "v_add_f32_e64 v8, v0, v2 clamp",
        "088001d100050200",
        lambda a, b: np.clip(np.where(np.isnan(a + b), 0, a + b), 0, 1) + 0,
    ),
    ("v_mul_f32_e32 v8, 0.5, v2", "f004100a", lambda a, b: np.float32(0.5) * b),
    ("v_mul_f32_e32 v8, 0x3dcccccd, v2", "ff04100acdcccc3d", lambda a, b: np.float32(0.1) * b),
    ("v_add_f64 v[8:9], v[0:1], v[2:3]", "080080d200050200", np.add),
    ("v_add_f64 v[8:9], v[0:1], -v[2:3]", "080080d200050240", np.subtract),
    ("v_mul_f64 v[8:9], |v[0:1]|, v[2:3]", "080181d200050200", lambda a, b: np.abs(a) * b),
    ("v_min_f64 v[8:9], v[0:1], v[2:3]", "080082d200050200", lambda a, b: lane_by_lane(smaller, a, b)),
    ("v_max_f64 v[8:9], v[0:1], v[2:3]", "080083d200050200", lambda a, b: lane_by_lane(larger, a, b)),
    ("v_add_f16_e32 v8, v0, v2", "0005103e", np.add),
    ("v_sub_f16_e32 v8, v0, v2", "00051040", np.subtract),
    ("v_mul_f16_e32 v8, v0, v2", "00051044", np.multiply),
    ("v_min_f16_e32 v8, v0, v2", "0005105c", lambda a, b: lane_by_lane(smaller, a, b)),
    ("v_max_f16_e32 v8, v0, v2", "0005105a", lambda a, b: lane_by_lane(larger, a, b)),
]
TERNARY = [
    ("v_fma_f32 v8, v0, v2, v4", "0800cbd100051204", lambda a, b, c: lane_by_lane(fused, a, b, c)),
    ("v_fma_f32 v8, v0, -v2, |v4|", "0804cbd100051244", lambda a, b, c: lane_by_lane(fused, a, -b, np.abs(c))),
    ("v_fma_f64 v[8:9], v[0:1], v[2:3], v[4:5]", "0800ccd100051204", lambda a, b, c: lane_by_lane(fused, a, b, c)),
    ("v_fma_f16 v8, v0, v2, v4", "080006d200051204", lambda a, b, c: lane_by_lane(fused, a, b, c)),
    (
        "v_max3_f32 v8, v0, v2, v4",
        "0800d3d100051204",
        lambda a, b, c: lane_by_lane(lambda *x: larger(larger(x[0], x[1]), x[2]), a, b, c),
    ),
    (
        "v_min3_f32 v8, v0, v2, v4",
        "0800d0d100051204",
        lambda a, b, c: lane_by_lane(lambda *x: smaller(smaller(x[0], x[1]), x[2]), a, b, c),
    ),
]


def kind_of(text: str) -> str:
    return text.split()[0].removesuffix("_e32").removesuffix("_e64")[-3:]


@pytest.mark.parametrize(("text", "code", "rule"), [*UNARY, *BINARY, *TERNARY])
def test_every_combination_of_edge_values(text, code, rule):
    kind = kind_of(text)
    count = 1 if (text, code, rule) in UNARY else 2 if (text, code, rule) in BINARY else 3
    operands = operands_of(kind, count)
    with np.errstate(all="ignore"):
        assert_same(result_of(code, kind, operands), rule(*operands), text)


ACCUMULATE = [
    ("v_fmac_f32_e32 v8, v0, v2", "00051076", "f32"),
    ("v_fmac_f64_e32 v[8:9], v[0:1], v[2:3]", "00051008", "f64"),
]


@pytest.mark.parametrize(("text", "code", "kind"), ACCUMULATE)
def test_fmac_adds_to_its_destination_with_one_rounding(text, code, kind):
    a, b, c = operands_of(kind, 3)
    state = state_with((0, as_registers(a)), (2, as_registers(b)), (8, as_registers(c)))
    run_code(state, code)
    wide = state.read_vgpr64(8) if kind == "f64" else state.read_vgpr(8)
    assert_same(np.array(state.full(wide)).view(a.dtype), lane_by_lane(fused, a, b, c), text)


LITERALS = [
    (
        "v_fmamk_f32 v8, v0, 0x40490fdb, v2",
        "0005102edb0f4940",
        lambda a, b: lane_by_lane(lambda x, y: fused(x, np.float32(np.pi), y), a, b),
    ),
    (
        "v_fmaak_f32 v8, v0, v2, 0x40490fdb",
        "00051030db0f4940",
        lambda a, b: lane_by_lane(lambda x, y: fused(x, y, np.float32(np.pi)), a, b),
    ),
]


@pytest.mark.parametrize(("text", "code", "rule"), LITERALS)
def test_a_literal_is_factor_or_addend(text, code, rule):
    operands = operands_of("f32", 2)
    assert_same(result_of(code, "f32", operands), rule(*operands), text)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_fused_multiply_add_rounds_once_where_rounding_twice_goes_wrong(dtype):
    """Sums a hair beside the middle between two results: the tail must not be lost before the last rounding."""
    random = np.random.default_rng(3)
    digits = np.finfo(dtype).nmant + 1
    a = (1 + random.integers(0, 1 << (digits // 2), 3000) * 2.0 ** -(digits // 2)).astype(dtype)
    b = (1 + (2 * random.integers(0, 1 << (digits // 2), 3000) + 1) * 2.0 ** -(digits - digits // 2)).astype(dtype)
    tiny = {np.float16: -13, np.float32: -60, np.float64: -110}[dtype]
    c = (random.standard_normal(3000) * 2.0**tiny).astype(dtype)
    function = {np.float16: fma16, np.float32: fma32, np.float64: fma64}[dtype]
    result = function(a.reshape(1, -1), b.reshape(1, -1), c.reshape(1, -1))
    assert_same(result, lane_by_lane(fused, a.reshape(1, -1), b.reshape(1, -1), c.reshape(1, -1)), str(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fused_multiply_add_at_extreme_exponents(dtype):
    random = np.random.default_rng(4)
    span = 140 if dtype is np.float32 else 1040
    a, b, c = (
        (random.standard_normal(1500) * 2.0 ** random.integers(-span // 2 - 60, span // 2 + 60, 1500).clip(-1000, 1000))
        .astype(dtype)
        .reshape(1, -1)
        for _ in range(3)
    )
    function = fma32 if dtype is np.float32 else fma64
    with np.errstate(all="ignore"):
        assert_same(function(a, b, c), lane_by_lane(fused, a, b, c), str(dtype))


APPROXIMATE = [
    ("v_exp_f32_e32 v8, v0", "0041107e", lambda a: np.exp2(a.astype(np.float64))),
    ("v_log_f32_e32 v8, v0", "0043107e", lambda a: np.log2(np.abs(a.astype(np.float64)))),
    ("v_rsq_f32_e32 v8, v0", "0049107e", lambda a: 1 / np.sqrt(np.abs(a.astype(np.float64)))),
    ("v_sin_f32_e32 v8, v0", "0053107e", lambda a: np.sin(2 * np.pi * a.astype(np.float64))),
    ("v_cos_f32_e32 v8, v0", "0055107e", lambda a: np.cos(2 * np.pi * a.astype(np.float64))),
]


@pytest.mark.parametrize(("text", "code", "rule"), APPROXIMATE)
def test_transcendentals_are_close(text, code, rule):
    a = np.linspace(0.01, 9, 128, dtype=np.float32).reshape(2, 64)
    np.testing.assert_allclose(result_of(code, "f32", [a]), rule(a), rtol=2e-6, atol=2e-6)


EXPONENTS = [
    ("v_frexp_exp_i32_f32_e32 v8, v0", "0067107e", "f32"),
    ("v_frexp_exp_i32_f64_e32 v8, v[0:1]", "0061107e", "f64"),
]


@pytest.mark.parametrize(("text", "code", "kind"), EXPONENTS)
def test_the_exponent_of_infinity_and_nan_is_zero(text, code, kind):
    (a,) = operands_of(kind, 1)
    state = state_with((0, as_registers(a)))
    run_code(state, code)
    expected = [math.frexp(value)[1] if math.isfinite(value) else 0 for value in a.ravel().tolist()]
    assert lanes_of(state, 8).view(np.int32).ravel().tolist() == expected, text


SCALING = [
    ("v_ldexp_f32 v8, v0, v2", "080088d200050200", np.float32, FLOATS),
    ("v_ldexp_f64 v[8:9], v[0:1], v2", "080084d200050200", np.float64, DOUBLES),
]


@pytest.mark.parametrize(("text", "code", "dtype", "values"), SCALING)
def test_ldexp_rounds_once_into_denormals(text, code, dtype, values):
    powers = (0, 1, -1, 64, -64, 200, -200, -149, 2000, -2100, 0x7FFFFFFF, -0x80000000)
    raw = np.dtype(f"u{np.dtype(dtype).itemsize}")
    a = np.array([value for value in values for _ in powers] + [0] * (-len(values) * len(powers) % 64), raw).reshape(
        -1, 64
    )
    power = np.array(
        [p & 0xFFFFFFFF for _ in values for p in powers] + [0] * (a.size - len(values) * len(powers)), np.uint32
    )
    state = state_with((0, a), (2, power.reshape(-1, 64)))
    run_code(state, code)
    result = state.read_vgpr64(8) if dtype is np.float64 else state.read_vgpr(8)

    def scaled(value, exponent: int):
        if not np.isfinite(value) or value == 0:
            return value
        exact = Fraction(float(value)) * Fraction(2) ** max(-5000, min(5000, signed(int(exponent))))
        return rounded(exact, dtype)

    flat = zip(a.view(dtype).ravel(), power, strict=True)
    expected = np.array([scaled(value, exponent) for value, exponent in flat], dtype).reshape(a.shape)
    assert_same(np.array(state.full(result)).view(dtype), expected, text)


def test_the_fraction_is_always_below_one():
    a = np.array([-1e-20, -0.25, 2.75, 1e10, -3.0, 0.0, 0.5, 1.0] * 8, np.float32).reshape(1, 64)
    code = FRACTION[1]
    result = result_of(code, "f32", [a])
    assert (result < 1).all()
    np.testing.assert_array_equal(result[0, 1:8], np.array([0.75, 0.75, 0, 0, 0, 0.5, 0], np.float32))


FRACTION = ("v_fract_f32_e32 v8, v0", "0037107e")
