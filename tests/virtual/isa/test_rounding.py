"""The rounding modes of the MODE register, against the host's floating-point unit set to the same mode."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable

import numpy as np
import pytest
from support.edge_values import DOUBLES, FLOATS, HALVES, INTEGERS, combinations, state_with
from support.lanes import lanes_of, run_code

from hipgraph_cb.virtual.isa.core.float_mode import FloatMode

UP, DOWN, ZERO = 1, 2, 3
FESETROUND = {0: 0, UP: 0x800, DOWN: 0x400, ZERO: 0xC00}  # fenv.h of x86-64
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
LIBM.fmaf.restype, LIBM.fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3
LIBM.fma.restype, LIBM.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
LIBM.ldexpf.restype, LIBM.ldexpf.argtypes = ctypes.c_float, [ctypes.c_float, ctypes.c_int]
LIBM.ldexp.restype, LIBM.ldexp.argtypes = ctypes.c_double, [ctypes.c_double, ctypes.c_int]
RAW = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}
VALUES = {"f16": HALVES, "f32": FLOATS, "f64": DOUBLES, "i32": INTEGERS, "u32": INTEGERS}
TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i32": np.int32, "u32": np.uint32}


def on_the_host(mode: int, function: Callable, *operands: np.ndarray) -> np.ndarray:
    """`function` with the host's rounding mode set."""
    with np.errstate(all="ignore"):
        assert LIBM.fesetround(FESETROUND[mode]) == 0
        try:
            return function(*operands)
        finally:
            LIBM.fesetround(0)


def lane_by_lane(function: Callable, dtype: type) -> Callable:
    def apply(*operands: np.ndarray) -> np.ndarray:
        lanes = zip(*(operand.ravel().tolist() for operand in operands), strict=True)
        return np.array([function(*lane) for lane in lanes], dtype).reshape(operands[0].shape)

    return apply


def edge_operands(kinds: tuple[str, ...]) -> list[np.ndarray]:
    """Edge values, followed by random ones of like magnitude whose sums and products are inexact."""
    wide = kinds[0] == "f64"
    table = combinations(VALUES[kinds[0]], len(kinds), np.uint64 if wide else np.uint32, limit=448)
    random = np.random.default_rng(11)
    operands = []
    for kind, raw in zip(kinds, table, strict=True):
        extra = (random.standard_normal((2, 64)) * 1.75 ** random.integers(-9, 9, (2, 64))).astype(TYPES[kind])
        if kind[0] == "f":
            operands.append(np.concatenate([raw.astype(RAW[kind]).view(TYPES[kind]), extra]))
        else:
            operands.append(np.concatenate([raw.view(TYPES[kind]), extra.view(TYPES[kind])]))
    return operands


def executed(code: str, mode: FloatMode, operands: list[np.ndarray], kind: str) -> np.ndarray:
    """Operands in v0, v2, v4, the result from v8."""
    registers = []
    for index, operand in enumerate(operands):
        raw = operand.view(np.dtype(f"u{operand.dtype.itemsize}"))
        registers.append((2 * index, raw if raw.dtype == np.uint64 else raw.astype(np.uint32)))
    state = state_with(*registers)
    run_code(state, code, mode)
    if kind == "f64":
        return np.array(state.full(state.read_vgpr64(8))).view(np.float64)
    return lanes_of(state, 8).astype(RAW[kind]).view(TYPES[kind])


def assert_same(result: np.ndarray, expected: np.ndarray) -> None:
    raw = np.dtype(f"u{result.dtype.itemsize}")
    expected = np.asarray(expected, result.dtype)
    wrong = (result.view(raw) != expected.view(raw)) & ~(np.isnan(result) & np.isnan(expected))
    assert not wrong.any(), (np.argwhere(wrong)[:3], result[wrong][:3], expected[wrong][:3])


NATIVE = [
    ("v_add_f32 v8, v0, v2", "00051002", "f32 f32 f32", np.add),
    ("v_sub_f32 v8, v0, v2", "00051004", "f32 f32 f32", np.subtract),
    ("v_subrev_f32 v8, v0, v2", "00051006", "f32 f32 f32", lambda a, b: b - a),
    ("v_mul_f32 v8, v0, v2", "0005100a", "f32 f32 f32", np.multiply),
    ("v_pk_mul_f32 v[8:9], v[0:1], v[2:3]", "0840b1d300050218", "f32 f32 f32", np.multiply),
    ("v_fma_f32 v8, v0, v2, v4", "0800cbd100051204", "f32 f32 f32 f32", lane_by_lane(LIBM.fmaf, np.float32)),
    ("v_add_f64 v[8:9], v[0:1], v[2:3]", "080080d200050200", "f64 f64 f64", np.add),
    ("v_mul_f64 v[8:9], v[0:1], v[2:3]", "080081d200050200", "f64 f64 f64", np.multiply),
    ("v_fma_f64 v[8:9], v[0:1], v[2:3], v[4:5]", "0800ccd100051204", "f64 f64 f64 f64", lane_by_lane(LIBM.fma, float)),
    ("v_cvt_f32_f64 v8, v[0:1]", "001f107e", "f32 f64", lambda value: value.astype(np.float32)),
    ("v_cvt_f32_i32 v8, v0", "000b107e", "f32 i32", lambda value: value.astype(np.float32)),
    ("v_cvt_f32_u32 v8, v0", "000d107e", "f32 u32", lambda value: value.astype(np.float64).astype(np.float32)),
]


@pytest.mark.parametrize("mode", [UP, DOWN, ZERO])
@pytest.mark.parametrize(("text", "code", "signature", "function"), NATIVE, ids=[row[0] for row in NATIVE])
def test_single_and_double_arithmetic_rounds_as_the_host_does_in_that_mode(text, code, signature, function, mode):
    kind, *kinds = signature.split()
    operands = edge_operands(tuple(kinds))
    counts_as_double = kind == "f64" or "f64" in kinds
    float_mode = FloatMode(round_f16_f64=mode) if counts_as_double else FloatMode(round_f32=mode)
    assert_same(executed(code, float_mode, operands, kind), on_the_host(mode, function, *operands))


def all_halves() -> np.ndarray:
    """Every finite f16 ascending, as f64, and infinity at both ends; -0 and +0 are one."""
    values = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16).astype(np.float64)
    return np.unique(values[~np.isnan(values)])


def to_half(exact: np.ndarray, mode: int) -> np.ndarray:
    """The f16 on the side of `exact` (f64, exact) that the mode wants."""
    table = all_halves()
    above = table[np.minimum(np.searchsorted(table, exact), len(table) - 1)]
    below = table[np.maximum(np.searchsorted(table, exact, "right") - 1, 0)]
    wanted = {UP: above, DOWN: below, ZERO: np.where(exact > 0, below, above)}[mode]
    wanted = np.where(np.isnan(exact), np.nan, np.copysign(wanted, np.where(wanted == 0, exact, wanted)))
    with np.errstate(invalid="ignore"):
        return wanted.astype(np.float16)


def zero_sum(total: np.ndarray, first: np.ndarray, second: np.ndarray, mode: int) -> np.ndarray:
    """IEEE 754, 6.3: a sum that is exactly zero is -0 when rounding down, unless both terms are +0."""
    negative = (np.signbit(first) | np.signbit(second)) if mode == DOWN else (np.signbit(first) & np.signbit(second))
    return np.where(total == 0, np.where(negative, -0.0, 0.0), total)


HALF = [
    ("v_add_f16 v8, v0, v2", "0005103e", 2, lambda m, a, b: zero_sum(a + b, a, b, m)),
    ("v_sub_f16 v8, v0, v2", "00051040", 2, lambda m, a, b: zero_sum(a - b, a, -b, m)),
    ("v_mul_f16 v8, v0, v2", "00051044", 2, lambda m, a, b: a * b),
    ("v_fma_f16 v8, v0, v2, v4", "080006d200051204", 3, lambda m, a, b, c: zero_sum(a * b + c, a * b, c, m)),
]


@pytest.mark.parametrize("mode", [UP, DOWN, ZERO])
@pytest.mark.parametrize(("text", "code", "count", "function"), HALF, ids=[row[0] for row in HALF])
def test_half_arithmetic_gives_the_neighbour_that_the_mode_wants(text, code, count, function, mode):
    random = np.random.default_rng(5)
    operands = edge_operands(("f16",) * count)
    if count == 3:  # keep sums of three exact in f64: no factor far from one
        operands = [random.standard_normal((4, 64)).astype(np.float16) for _ in range(3)]
    wide = [operand.astype(np.float64) for operand in operands]
    with np.errstate(all="ignore"):
        expected = to_half(function(mode, *wide), mode)
    assert_same(executed(code, FloatMode(round_f16_f64=mode), operands, "f16"), expected)


@pytest.mark.parametrize("mode", [UP, DOWN, ZERO])
def test_narrowing_to_half_follows_the_mode_of_half_and_double(mode):
    values = edge_operands(("f32",))[0]
    values = np.concatenate([values, np.linspace(-70000, 70000, 64, dtype=np.float32).reshape(1, 64)])
    result = executed("0015107e", FloatMode(round_f16_f64=mode), [values], "f16")  # v_cvt_f16_f32 v8, v0
    assert_same(result, to_half(values.astype(np.float64), mode))


@pytest.mark.parametrize("mode", [UP, DOWN, ZERO])
@pytest.mark.parametrize(("kind", "code"), [("f32", "080088d200050200"), ("f64", "080084d200050200")])
def test_scaling_into_the_denormals_follows_the_mode(kind, code, mode):
    values = edge_operands((kind,))[0]
    powers = np.resize(np.array([0, -1, -3, -150, 5, 2000, -2000], np.int32), values.shape)
    function = LIBM.ldexpf if kind == "f32" else LIBM.ldexp
    expected = on_the_host(mode, lane_by_lane(function, TYPES[kind]), values, powers)
    float_mode = FloatMode(round_f32=mode) if kind == "f32" else FloatMode(round_f16_f64=mode)
    assert_same(executed(code, float_mode, [values, powers], kind), expected)


def test_the_mode_of_single_precision_leaves_double_alone():
    tenths = np.full((1, 64), 0.1)
    up = FloatMode(round_f32=UP)
    result = executed("080080d200050200", up, [tenths, np.full((1, 64), 0.2)], "f64")  # v_add_f64
    assert result[0, 0] == 0.1 + 0.2


def test_the_last_step_of_a_division_rounds_as_the_mode_says_also_where_it_scales_back():
    random = np.random.default_rng(3)
    a, b, c = (random.standard_normal((1, 64)).astype(np.float32) for _ in range(3))
    for mode in (UP, DOWN, ZERO):
        state = state_with(*((2 * index, value.view(np.uint32)) for index, value in enumerate((a, b, c))))
        state.write_mask(106, np.arange(64).reshape(1, 64) % 2 == 0)
        run_code(state, "0800e2d100051204", FloatMode(round_f32=mode))  # v_div_fmas_f32 v8, v0, v2, v4
        plain = on_the_host(mode, lane_by_lane(LIBM.fmaf, np.float32), a, b, c)
        scaled = np.ldexp(plain, np.where(np.abs(c) >= 2, 64, -64))
        expected = np.where(np.arange(64) % 2 == 0, scaled, plain).astype(np.float32)
        assert_same(lanes_of(state, 8).view(np.float32), expected)
