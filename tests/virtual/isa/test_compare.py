"""Every comparison of every type, and the class tests.

Bytes: v_cmp_NAME_KIND_e64 s[10:11], v0, v2 (pairs for 64 bits).
"""

from __future__ import annotations

import operator

import numpy as np
import pytest
from support.edge_values import DOUBLES, FLOATS, HALVES, INTEGERS, LONGS, combinations, state_with
from support.lanes import run_code

VALUES = {"f16": HALVES, "f32": FLOATS, "f64": DOUBLES, "16": INTEGERS, "32": INTEGERS, "64": LONGS}
DTYPES = {"i": "int", "u": "uint", "f": "float"}
# fmt: off
COMPARISONS = [
    ("f", "i16", "0a00a0d000050200"),
    ("lt", "i16", "0a00a1d000050200"),
    ("eq", "i16", "0a00a2d000050200"),
    ("le", "i16", "0a00a3d000050200"),
    ("gt", "i16", "0a00a4d000050200"),
    ("ne", "i16", "0a00a5d000050200"),
    ("ge", "i16", "0a00a6d000050200"),
    ("t", "i16", "0a00a7d000050200"),
    ("f", "u16", "0a00a8d000050200"),
    ("lt", "u16", "0a00a9d000050200"),
    ("eq", "u16", "0a00aad000050200"),
    ("le", "u16", "0a00abd000050200"),
    ("gt", "u16", "0a00acd000050200"),
    ("ne", "u16", "0a00add000050200"),
    ("ge", "u16", "0a00aed000050200"),
    ("t", "u16", "0a00afd000050200"),
    ("f", "i32", "0a00c0d000050200"),
    ("lt", "i32", "0a00c1d000050200"),
    ("eq", "i32", "0a00c2d000050200"),
    ("le", "i32", "0a00c3d000050200"),
    ("gt", "i32", "0a00c4d000050200"),
    ("ne", "i32", "0a00c5d000050200"),
    ("ge", "i32", "0a00c6d000050200"),
    ("t", "i32", "0a00c7d000050200"),
    ("f", "u32", "0a00c8d000050200"),
    ("lt", "u32", "0a00c9d000050200"),
    ("eq", "u32", "0a00cad000050200"),
    ("le", "u32", "0a00cbd000050200"),
    ("gt", "u32", "0a00ccd000050200"),
    ("ne", "u32", "0a00cdd000050200"),
    ("ge", "u32", "0a00ced000050200"),
    ("t", "u32", "0a00cfd000050200"),
    ("f", "i64", "0a00e0d000050200"),
    ("lt", "i64", "0a00e1d000050200"),
    ("eq", "i64", "0a00e2d000050200"),
    ("le", "i64", "0a00e3d000050200"),
    ("gt", "i64", "0a00e4d000050200"),
    ("ne", "i64", "0a00e5d000050200"),
    ("ge", "i64", "0a00e6d000050200"),
    ("t", "i64", "0a00e7d000050200"),
    ("f", "u64", "0a00e8d000050200"),
    ("lt", "u64", "0a00e9d000050200"),
    ("eq", "u64", "0a00ead000050200"),
    ("le", "u64", "0a00ebd000050200"),
    ("gt", "u64", "0a00ecd000050200"),
    ("ne", "u64", "0a00edd000050200"),
    ("ge", "u64", "0a00eed000050200"),
    ("t", "u64", "0a00efd000050200"),
    ("f", "f16", "0a0020d000050200"),
    ("lt", "f16", "0a0021d000050200"),
    ("eq", "f16", "0a0022d000050200"),
    ("le", "f16", "0a0023d000050200"),
    ("gt", "f16", "0a0024d000050200"),
    ("lg", "f16", "0a0025d000050200"),
    ("ge", "f16", "0a0026d000050200"),
    ("o", "f16", "0a0027d000050200"),
    ("u", "f16", "0a0028d000050200"),
    ("nge", "f16", "0a0029d000050200"),
    ("nlg", "f16", "0a002ad000050200"),
    ("ngt", "f16", "0a002bd000050200"),
    ("nle", "f16", "0a002cd000050200"),
    ("neq", "f16", "0a002dd000050200"),
    ("nlt", "f16", "0a002ed000050200"),
    ("tru", "f16", "0a002fd000050200"),
    ("f", "f32", "0a0040d000050200"),
    ("lt", "f32", "0a0041d000050200"),
    ("eq", "f32", "0a0042d000050200"),
    ("le", "f32", "0a0043d000050200"),
    ("gt", "f32", "0a0044d000050200"),
    ("lg", "f32", "0a0045d000050200"),
    ("ge", "f32", "0a0046d000050200"),
    ("o", "f32", "0a0047d000050200"),
    ("u", "f32", "0a0048d000050200"),
    ("nge", "f32", "0a0049d000050200"),
    ("nlg", "f32", "0a004ad000050200"),
    ("ngt", "f32", "0a004bd000050200"),
    ("nle", "f32", "0a004cd000050200"),
    ("neq", "f32", "0a004dd000050200"),
    ("nlt", "f32", "0a004ed000050200"),
    ("tru", "f32", "0a004fd000050200"),
    ("f", "f64", "0a0060d000050200"),
    ("lt", "f64", "0a0061d000050200"),
    ("eq", "f64", "0a0062d000050200"),
    ("le", "f64", "0a0063d000050200"),
    ("gt", "f64", "0a0064d000050200"),
    ("lg", "f64", "0a0065d000050200"),
    ("ge", "f64", "0a0066d000050200"),
    ("o", "f64", "0a0067d000050200"),
    ("u", "f64", "0a0068d000050200"),
    ("nge", "f64", "0a0069d000050200"),
    ("nlg", "f64", "0a006ad000050200"),
    ("ngt", "f64", "0a006bd000050200"),
    ("nle", "f64", "0a006cd000050200"),
    ("neq", "f64", "0a006dd000050200"),
    ("nlt", "f64", "0a006ed000050200"),
    ("tru", "f64", "0a006fd000050200"),
]
# fmt: on
TESTS = {
    "f": lambda a, b: False,
    "t": lambda a, b: True,
    "tru": lambda a, b: True,
    "lt": operator.lt,
    "eq": operator.eq,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "ne": operator.ne,
    "lg": lambda a, b: a < b or a > b,
    "o": lambda a, b: a == a and b == b,
    "u": lambda a, b: not (a == a and b == b),
    "nge": lambda a, b: not a >= b,
    "nlg": lambda a, b: not (a < b or a > b),
    "ngt": lambda a, b: not a > b,
    "nle": lambda a, b: not a <= b,
    "neq": lambda a, b: a != b,
    "nlt": lambda a, b: not a < b,
}


def operands_of(kind: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """As registers, and as the values of the kind."""
    width = int(kind[1:])
    raw = np.dtype(f"u{width // 8}")
    values = combinations(VALUES.get(kind) or VALUES[kind[1:]], 2, np.uint64)
    narrow = [value.astype(raw) for value in values]
    registers = [value if width == 64 else value.astype(np.uint32) for value in narrow]
    return registers, [value.view(f"{DTYPES[kind[0]]}{width}") for value in narrow]


def lanes_of_mask(state, register: int) -> list[bool]:
    return state.full(state.read_mask(register)).ravel().tolist()


@pytest.mark.parametrize(("name", "kind", "code"), COMPARISONS)
def test_every_combination_of_edge_values(name, kind, code):
    (a, b), (x, y) = operands_of(kind)
    state = state_with((0, a), (2, b))
    run_code(state, code)
    expected = [TESTS[name](*lane) for lane in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)]
    assert lanes_of_mask(state, 10) == expected


SHORT = [
    ("v_cmp_lt_u32_e32 vcc, 40, v0", "a800927d", lambda a: a > 40),
    ("v_cmp_gt_i32_e32 vcc, -16, v0", "d000887d", lambda a: a.view(np.int32) < -16),
    ("v_cmp_eq_f32_e32 vcc, 1.0, v0", "f200847c", lambda a: a.view(np.float32) == 1),
    ("v_cmp_lt_f32_e64 vcc, -v0, |v2|", "6a0241d000050220", lambda a: -a.view(np.float32) < np.float32(2)),
]


@pytest.mark.parametrize(("text", "code", "rule"), SHORT)
def test_constants_and_modifiers(text, code, rule):
    (a,) = combinations(INTEGERS, 1)
    state = state_with((0, a), (2, np.full((1, 1), 0xC0000000, np.uint32)))
    run_code(state, code)
    assert lanes_of_mask(state, 106) == rule(a).ravel().tolist(), text


def test_a_comparison_gives_zero_in_inactive_lanes():
    (a,) = combinations(INTEGERS, 1)
    on = np.arange(64).reshape(1, 64) >= 60
    state = state_with((0, a))
    state.write_exec(on)
    run_code(state, SHORT[0][1])
    assert lanes_of_mask(state, 106) == ((a > 40) & on).ravel().tolist()


CMPX = ("v_cmpx_lt_u32_e32 vcc, 40, v0", "a800b27d")


def test_cmpx_writes_exec_too():
    (a,) = combinations(INTEGERS, 1)
    state = state_with((0, a))
    run_code(state, CMPX[1])
    assert state.exec.tolist() == (a > 40).tolist()
    assert lanes_of_mask(state, 106) == (a > 40).ravel().tolist()


CLASSES = [
    ("v_cmp_class_f32_e64 s[10:11], v0, v2", "0a0010d000050200", "f32"),
    ("v_cmp_class_f64_e64 s[10:11], v[0:1], v2", "0a0012d000050200", "f64"),
    ("v_cmp_class_f16_e64 s[10:11], v0, v2", "0a0014d000050200", "f16"),
]


def class_of(bits: int, width: int) -> int:
    """From the bits alone: sNaN, qNaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf are 0 to 9."""
    digits = {16: 10, 32: 23, 64: 52}[width]
    negative, mantissa = bits >> (width - 1), bits & ((1 << digits) - 1)
    exponent = bits >> digits & ((1 << (width - 1 - digits)) - 1)
    top = (1 << (width - 1 - digits)) - 1
    if exponent == top and mantissa:
        return 1 if mantissa >> (digits - 1) else 0
    positive = 9 if exponent == top else 8 if exponent else 7 if mantissa else 6
    return 11 - positive if negative else positive


@pytest.mark.parametrize(("text", "code", "kind"), CLASSES)
def test_each_value_has_one_class(text, code, kind):
    width = int(kind[1:])
    (a,) = combinations(VALUES[kind], 1, np.uint64)
    registers = a if width == 64 else a.astype(np.uint32)
    for wanted in range(10):
        state = state_with((0, registers), (2, np.full((1, 1), 1 << wanted, np.uint32)))
        run_code(state, code)
        assert lanes_of_mask(state, 10) == [class_of(bits, width) == wanted for bits in a.ravel().tolist()], text
