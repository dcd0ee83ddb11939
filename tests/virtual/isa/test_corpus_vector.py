"""Every vector ALU instruction that the corpus holds, on edge values under every kind of EXEC, against numpy."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from support.edge_values import DOUBLES, FLOATS, HALVES, INTEGERS, LONGS, combinations, state_with
from support.lanes import lanes_of, run_code

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
LIBM.fmaf.restype, LIBM.fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3
LIBM.fma.restype, LIBM.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
LIBM.ldexpf.restype, LIBM.ldexpf.argtypes = ctypes.c_float, [ctypes.c_float, ctypes.c_int]

VALUES = {"u": INTEGERS, "i": INTEGERS, "f": FLOATS, "f16": HALVES, "f64": DOUBLES, "u64": LONGS, "i64": LONGS}
VALUES["few"] = (0, 1, 2, 3, 4)  # v_lshl_add_u64 shifts by no more
DTYPES = {
    "u32": np.uint32,
    "i32": np.int32,
    "f32": np.float32,
    "f16": np.float16,
    "few": np.uint32,
    "u64": np.uint64,
    "i64": np.int64,
    "f64": np.float64,
}
SENTINEL = 0x5EA5EA555EA5EA55
DESTINATION, VCC = 8, 106
ENDS = np.zeros((1, 64), np.bool_)
ENDS[0, [0, 63]] = True
EXEC = {
    "all": np.ones((1, 64), np.bool_),
    "first and last": ENDS,
    "some": np.random.default_rng(9).random((16, 64)) < 0.5,
    "none": np.zeros((1, 64), np.bool_),
}


class Case(NamedTuple):
    """Sources in v0, v2, v4 (pairs for 64 bits), destination in v8 or VCC.

    A signature is the kind of the result and those of the sources; `~` allows the result one unit in the last place,
    `+` makes the destination the last source.
    """

    text: str
    code: str
    signature: str
    function: Callable

    @property
    def mnemonic(self) -> str:
        return self.text.split()[0]


def case(text: str, code: str, signature: str, function: Callable) -> Case:
    return Case(text, code, signature, function)


def each(function: Callable[[int], int], values: np.ndarray) -> np.ndarray:
    """`function` of every number."""
    return np.array([function(value) for value in values.ravel().tolist()], np.uint32).reshape(values.shape)


def each_float(function: Callable, dtype: type) -> Callable:
    """A function of the C library, lane by lane."""

    def apply(*operands: np.ndarray) -> np.ndarray:
        lanes = zip(*(operand.ravel().tolist() for operand in operands), strict=True)
        return np.array([function(*lane) for lane in lanes], dtype).reshape(operands[0].shape)

    return apply


def half_fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """One rounding: the product is exact in f64; the sum is made in extended precision of 64 bits, which is enough."""
    wide = a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)
    return wide.astype(np.float16)


def saturated(values: np.ndarray, low: int, high: int) -> np.ndarray:
    """Towards zero, saturating, NaN to zero."""
    wide = np.trunc(values.astype(np.float64))
    return np.where(np.isnan(wide), 0, np.clip(wide, low, high)).astype(np.int64)


def larger(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """IEEE mode: a signalling NaN gives NaN, a quiet one loses, +0 is larger than -0."""
    signalling = [np.isnan(x) & (x.view(np.uint32) & np.uint32(0x400000) == 0) for x in (a, b)]
    result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where(a > b, a, b)))
    result = np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), result)
    return np.where(signalling[0] | signalling[1], np.float32(np.nan), result)


def permuted(high: np.ndarray, low: np.ndarray, selectors: np.ndarray) -> np.ndarray:
    """Byte 0-3 of the second, 4-7 of the first source; 8-11 the sign of byte 1, 3, 5, 7; 12 zero; above it ones."""

    def choose(a: int, b: int, selector: int) -> int:
        eight = (a << 32 | b).to_bytes(8, "little")
        result = []
        for byte in selector.to_bytes(4, "little"):
            if byte < 8:
                result.append(eight[byte])
            elif byte < 12:
                result.append(0xFF if eight[2 * byte - 15] & 0x80 else 0)
            else:
                result.append(0 if byte == 12 else 0xFF)
        return int.from_bytes(result, "little")

    lanes = zip(high.ravel().tolist(), low.ravel().tolist(), selectors.ravel().tolist(), strict=True)
    return np.array([choose(*lane) for lane in lanes], np.uint32).reshape(high.shape)


# what follows was assembled with llvm-mc-19; the functions say what the CDNA3 ISA document does
ARITHMETIC = [
    case("v_add3_u32 v8, v0, v2, v4", "0800ffd100051204", "u32 u32 u32 u32", lambda a, b, c: a + b + c),
    case("v_add_f32 v8, v0, v2", "00051002", "f32 f32 f32", np.add),
    case("v_add_f64 v[8:9], v[0:1], v[2:3]", "080080d200050200", "f64 f64 f64", np.add),
    case("v_add_lshl_u32 v8, v0, v2, v4", "0800fed100051204", "u32 u32 u32 u32", lambda a, b, c: a + b << (c & 31)),
    case("v_add_u32 v8, v0, v2", "00051068", "u32 u32 u32", np.add),
    case("v_and_b32 v8, v0, v2", "00051026", "u32 u32 u32", np.bitwise_and),
    case("v_and_or_b32 v8, v0, v2, v4", "080001d200051204", "u32 u32 u32 u32", lambda a, b, c: a & b | c),
    case("v_ashrrev_i32 v8, v0, v2", "00051022", "i32 u32 i32", lambda a, b: b >> (a & 31).astype(np.int32)),
    case(
        "v_ashrrev_i64 v[8:9], v0, v[2:3]",
        "080091d200050200",
        "i64 u32 i64",
        lambda a, b: b >> (a & 63).astype(np.int64),
    ),
    case(
        "v_bcnt_u32_b32 v8, v0, v2",
        "08008bd200050200",
        "u32 u32 u32",
        lambda a, b: each(lambda x: x.bit_count(), a) + b,
    ),
    case(
        "v_bfe_u32 v8, v0, v2, v4",
        "0800c8d100051204",
        "u32 u32 u32 u32",
        lambda a, b, c: a >> (b & 31) & (np.uint32(1) << (c & 31)) - np.uint32(1),
    ),
    case("v_bfrev_b32 v8, v0", "0059107e", "u32 u32", lambda a: each(lambda x: int(f"{x:032b}"[::-1], 2), a)),
    case("v_cvt_f32_f64 v8, v[0:1]", "001f107e", "f32 f64", lambda a: a.astype(np.float32)),
    case("v_cvt_f32_u32 v8, v0", "000d107e", "f32 u32", lambda a: a.astype(np.float32)),
    case("v_cvt_f32_ubyte0 v8, v0", "0023107e", "f32 u32", lambda a: (a & 0xFF).astype(np.float32)),
    case("v_cvt_f64_f32 v[8:9], v0", "0021107e", "f64 f32", lambda a: a.astype(np.float64)),
    case(
        "v_cvt_i32_f32 v8, v0",
        "0011107e",
        "i32 f32",
        lambda a: saturated(a, -(1 << 31), (1 << 31) - 1).astype(np.int32),
    ),
    case("v_cvt_u32_f32 v8, v0", "000f107e", "u32 f32", lambda a: saturated(a, 0, (1 << 32) - 1).astype(np.uint32)),
    case("v_exp_f32 v8, v0", "0041107e", "~f32 f32", lambda a: np.exp2(a.astype(np.float64)).astype(np.float32)),
    case(
        "v_ffbh_u32 v8, v0",
        "005b107e",
        "u32 u32",
        lambda a: each(lambda x: 32 - x.bit_length() if x else 0xFFFFFFFF, a),
    ),
    case("v_fma_f16 v8, v0, v2, v4", "080006d200051204", "f16 f16 f16 f16", half_fma),
    case("v_fma_f32 v8, v0, v2, v4", "0800cbd100051204", "f32 f32 f32 f32", each_float(LIBM.fmaf, np.float32)),
    case(
        "v_fma_f64 v[8:9], v[0:1], v[2:3], v[4:5]",
        "0800ccd100051204",
        "f64 f64 f64 f64",
        each_float(LIBM.fma, np.float64),
    ),
    case("v_fmac_f32 v8, v0, v2", "00051076", "f32 f32 f32 +", each_float(LIBM.fmaf, np.float32)),
    case("v_fmac_f64 v[8:9], v[0:1], v[2:3]", "00051008", "f64 f64 f64 +", each_float(LIBM.fma, np.float64)),
    case(
        "v_frexp_exp_i32_f32 v8, v0",
        "0067107e",
        "i32 f32",
        lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0).astype(np.int32),
    ),
    case("v_frexp_mant_f32 v8, v0", "0069107e", "f32 f32", lambda a: np.where(np.isfinite(a), np.frexp(a)[0], a)),
    case("v_ldexp_f32 v8, v0, v2", "080088d200050200", "f32 f32 i32", each_float(LIBM.ldexpf, np.float32)),
    case("v_lshl_add_u32 v8, v0, v2, v4", "0800fdd100051204", "u32 u32 u32 u32", lambda a, b, c: (a << (b & 31)) + c),
    case(
        "v_lshl_add_u64 v[8:9], v[0:1], v2, v[4:5]",
        "080008d200051204",
        "u64 u64 few u64",
        lambda a, b, c: (a << b.astype(np.uint64)) + c,
    ),
    case("v_lshl_or_b32 v8, v0, v2, v4", "080000d200051204", "u32 u32 u32 u32", lambda a, b, c: a << (b & 31) | c),
    case("v_lshlrev_b32 v8, v0, v2", "00051024", "u32 u32 u32", lambda a, b: b << (a & 31)),
    case(
        "v_lshlrev_b64 v[8:9], v0, v[2:3]",
        "08008fd200050200",
        "u64 u32 u64",
        lambda a, b: b << (a & 63).astype(np.uint64),
    ),
    case("v_lshrrev_b32 v8, v0, v2", "00051020", "u32 u32 u32", lambda a, b: b >> (a & 31)),
    case("v_mad_legacy_u16 v8, v0, v2, v4", "0800ebd100051204", "u32 u32 u32 u32", lambda a, b, c: a * b + c & 0xFFFF),
    case(
        "v_mad_u32_u24 v8, v0, v2, v4",
        "0800c3d100051204",
        "u32 u32 u32 u32",
        lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
    ),
    case("v_max3_f32 v8, v0, v2, v4", "0800d3d100051204", "f32 f32 f32 f32", lambda a, b, c: larger(larger(a, b), c)),
    case("v_max_f32 v8, v0, v2", "00051016", "f32 f32 f32", larger),
    case("v_max_i32 v8, v0, v2", "0005101a", "i32 i32 i32", np.maximum),
    case("v_max_u32 v8, v0, v2", "0005101e", "u32 u32 u32", np.maximum),
    case("v_mov_b32 v8, v0", "0003107e", "u32 u32", lambda a: a),
    case("v_mov_b64 v[8:9], v[0:1]", "0071107e", "u64 u64", lambda a: a),
    case("v_mul_f32 v8, v0, v2", "0005100a", "f32 f32 f32", np.multiply),
    case("v_mul_f64 v[8:9], v[0:1], v[2:3]", "080081d200050200", "f64 f64 f64", np.multiply),
    case(
        "v_mul_hi_i32 v8, v0, v2",
        "080087d200050200",
        "i32 i32 i32",
        lambda a, b: (a.astype(np.int64) * b.astype(np.int64) >> 32).astype(np.int32),
    ),
    case(
        "v_mul_hi_u32 v8, v0, v2",
        "080086d200050200",
        "u32 u32 u32",
        lambda a, b: (a.astype(np.uint64) * b >> np.uint64(32)).astype(np.uint32),
    ),
    case("v_mul_lo_u32 v8, v0, v2", "080085d200050200", "u32 u32 u32", np.multiply),
    case("v_mul_u32_u24 v8, v0, v2", "00051010", "u32 u32 u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    case("v_not_b32 v8, v0", "0057107e", "u32 u32", np.bitwise_not),
    case("v_or3_b32 v8, v0, v2, v4", "080002d200051204", "u32 u32 u32 u32", lambda a, b, c: a | b | c),
    case("v_or_b32 v8, v0, v2", "00051028", "u32 u32 u32", np.bitwise_or),
    case("v_perm_b32 v8, v0, v2, v4", "0800edd100051204", "u32 u32 u32 u32", permuted),
    case("v_rcp_f32 v8, v0", "0045107e", "~f32 f32", lambda a: (1 / a.astype(np.float64)).astype(np.float32)),
    case("v_rcp_f64 v[8:9], v[0:1]", "004b107e", "~f64 f64", lambda a: 1 / a),
    case("v_rcp_iflag_f32 v8, v0", "0047107e", "~f32 f32", lambda a: (1 / a.astype(np.float64)).astype(np.float32)),
    case("v_rndne_f32 v8, v0", "003d107e", "f32 f32", np.rint),
    case("v_sqrt_f32 v8, v0", "004f107e", "~f32 f32", np.sqrt),
    case("v_sub_f16 v8, v0, v2", "00051040", "f16 f16 f16", np.subtract),
    case("v_sub_f32 v8, v0, v2", "00051004", "f32 f32 f32", np.subtract),
    case("v_sub_u32 v8, v0, v2", "0005106a", "u32 u32 u32", np.subtract),
    case("v_trunc_f32 v8, v0", "0039107e", "f32 f32", np.trunc),
    case("v_xad_u32 v8, v0, v2, v4", "0800f3d100051204", "u32 u32 u32 u32", lambda a, b, c: (a ^ b) + c),
    case("v_xor_b32 v8, v0, v2", "0005102a", "u32 u32 u32", np.bitwise_xor),
]
COMPARISONS = [
    case("v_cmp_eq_u32 vcc, v0, v2", "0005947d", "u32", np.equal),
    case("v_cmp_ge_f32 vcc, v0, v2", "00058c7c", "f32", np.greater_equal),
    case("v_cmp_ge_u32 vcc, v0, v2", "00059c7d", "u32", np.greater_equal),
    case("v_cmp_ge_u64 vcc, v[0:1], v[2:3]", "0005dc7d", "u64", np.greater_equal),
    case("v_cmp_gt_f32 vcc, v0, v2", "0005887c", "f32", np.greater),
    case("v_cmp_gt_i32 vcc, v0, v2", "0005887d", "i32", np.greater),
    case("v_cmp_gt_u32 vcc, v0, v2", "0005987d", "u32", np.greater),
    case("v_cmp_le_i32 vcc, v0, v2", "0005867d", "i32", np.less_equal),
    case("v_cmp_le_u32 vcc, v0, v2", "0005967d", "u32", np.less_equal),
    case("v_cmp_lt_f32 vcc, v0, v2", "0005827c", "f32", np.less),
    case("v_cmp_lt_i32 vcc, v0, v2", "0005827d", "i32", np.less),
    case("v_cmp_lt_i64 vcc, v[0:1], v[2:3]", "0005c27d", "i64", np.less),
    case("v_cmp_lt_u32 vcc, v0, v2", "0005927d", "u32", np.less),
    case("v_cmp_ne_u32 vcc, v0, v2", "00059a7d", "u32", np.not_equal),
    case("v_cmp_ngt_f32 vcc, v0, v2", "0005967c", "f32", lambda a, b: ~np.greater(a, b)),
    case("v_cmp_nlt_f32 vcc, v0, v2", "00059c7c", "f32", lambda a, b: ~np.less(a, b)),
]


def operands_of(kinds: list[str]) -> list[np.ndarray]:
    """Arrays [waves, 64] with combinations of the kinds' edge values."""
    tables = [VALUES.get(kind) or VALUES[kind[0]] for kind in kinds]
    shared = max(len(table) for table in tables)
    rows = combinations(tuple(range(shared)), len(kinds), np.int64)
    operands = []
    for kind, table, indices in zip(kinds, tables, rows, strict=True):
        dtype = np.dtype(DTYPES[kind])
        raw = np.array(table, np.uint64).astype(f"u{dtype.itemsize}")
        operands.append(raw[indices % len(table)].view(dtype))
    return operands


def registers_of(operand: np.ndarray) -> np.ndarray:
    raw = operand.view(f"u{operand.dtype.itemsize}")
    return raw if raw.dtype == np.uint64 else raw.astype(np.uint32)


def started(kinds: list[str], exec_bits: np.ndarray, destination: str | None = None):
    """A state with the operands of these kinds in v0, v2, v4, and them."""
    operands = operands_of(kinds)
    places = [2 * index for index in range(len(kinds))]
    if destination is not None:
        places[-1] = DESTINATION
    state = state_with(*zip(places, map(registers_of, operands), strict=True))
    if destination is None:
        state.write_vgpr64(DESTINATION, np.full((1, 1), SENTINEL, np.uint64))
    lanes = np.resize(exec_bits, state.shape)
    state.write_exec(lanes)
    return state, operands, lanes


def result_in(state, kind: str) -> np.ndarray:
    dtype = np.dtype(DTYPES[kind])
    if dtype.itemsize == 8:
        return np.array(state.full(state.read_vgpr64(DESTINATION))).view(dtype)
    words = lanes_of(state, DESTINATION)
    return words.astype(np.uint16).view(dtype) if dtype.itemsize == 2 else words.view(dtype)


def assert_same(result: np.ndarray, expected: np.ndarray, lanes: np.ndarray, *, units: int = 0) -> None:
    """Bit for bit, or within `units` in the last place; NaN is NaN; in lanes that are off what was there before."""
    raw = f"u{result.dtype.itemsize}"
    sentinel = np.full(result.shape, SENTINEL, np.uint64).astype(raw).view(result.dtype)
    wanted = np.where(lanes, np.asarray(expected, result.dtype), sentinel)
    same = result.view(raw) == wanted.view(raw)
    if result.dtype.kind == "f":
        same |= np.isnan(result) & np.isnan(wanted)
        if units:
            distance = result.view(raw).astype(np.int64) - wanted.view(raw).astype(np.int64)
            same |= (np.abs(distance) <= units) & lanes
    wrong = ~same
    assert not wrong.any(), (np.argwhere(wrong)[:3], result[wrong][:3], wanted[wrong][:3])


@pytest.mark.parametrize("exec_name", EXEC)
@pytest.mark.parametrize("row", ARITHMETIC, ids=[row.mnemonic for row in ARITHMETIC])
def test_arithmetic_of_the_corpus(row, exec_name):
    kind, *kinds = row.signature.split()
    accumulates = kinds[-1] == "+"
    if accumulates:
        kinds[-1] = kind
    state, operands, lanes = started(kinds, EXEC[exec_name], kind if accumulates else None)
    run_code(state, row.code)
    with np.errstate(all="ignore"):
        expected = row.function(*operands)
    if accumulates:  # the destination's old value is not a sentinel
        expected = np.where(lanes, expected, operands[-1])
        lanes = np.ones_like(lanes)
    assert_same(result_in(state, kind.lstrip("~")), expected, lanes, units=int(kind[0] == "~"))


@pytest.mark.parametrize("exec_name", EXEC)
@pytest.mark.parametrize("row", COMPARISONS, ids=[row.mnemonic for row in COMPARISONS])
def test_comparisons_of_the_corpus_clear_the_bits_of_lanes_that_are_off(row, exec_name):
    state, (a, b), lanes = started([row.signature] * 2, EXEC[exec_name])
    state.write_mask(VCC, np.ones((1, 64), np.bool_))
    run_code(state, row.code)
    assert np.array_equal(state.full(state.read_mask(VCC)), row.function(a, b) & lanes)


CARRY_IN = np.random.default_rng(5).random((1, 64)) < 0.5


@pytest.mark.parametrize("exec_name", EXEC)
@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("00051038", lambda a, b, carry: a + b + carry),  # v_addc_co_u32 v8, vcc, v0, v2, vcc
        ("0005103a", lambda a, b, carry: a - b - carry),  # v_subb_co_u32 v8, vcc, v0, v2, vcc
        ("00051034", lambda a, b, carry: a - b),  # v_sub_co_u32 v8, vcc, v0, v2
    ],
    ids=["v_addc_co_u32", "v_subb_co_u32", "v_sub_co_u32"],
)
def test_sums_with_carry(code, function, exec_name):
    state, (a, b), lanes = started(["u32", "u32"], EXEC[exec_name])
    carry = np.resize(CARRY_IN, state.shape)
    state.write_mask(VCC, carry)
    run_code(state, code)
    wide = function(a.astype(np.int64), b.astype(np.int64), carry.astype(np.int64))
    assert_same(result_in(state, "u32"), (wide & 0xFFFFFFFF).astype(np.uint32), lanes)
    assert np.array_equal(state.full(state.read_mask(VCC)), ((wide < 0) | (wide >> 32 > 0)) & lanes)


@pytest.mark.parametrize("exec_name", EXEC)
def test_v_cndmask_b32_chooses_by_the_bits_of_vcc(exec_name):
    state, (a, b), lanes = started(["u32", "u32"], EXEC[exec_name])
    chosen = np.resize(CARRY_IN, state.shape)
    state.write_mask(VCC, chosen)
    run_code(state, "00051000")  # v_cndmask_b32 v8, v0, v2, vcc
    assert_same(result_in(state, "u32"), np.where(chosen, b, a), lanes)


@pytest.mark.parametrize("exec_name", EXEC)
def test_v_mad_u64_u32_adds_a_product_and_reports_the_carry(exec_name):
    state, (a, b, c), lanes = started(["u32", "u32", "u64"], EXEC[exec_name])
    run_code(state, "086ae8d100051204")  # v_mad_u64_u32 v[8:9], vcc, v0, v2, v[4:5]
    totals = [x * y + z for x, y, z in zip(*(operand.ravel().tolist() for operand in (a, b, c)), strict=True)]
    expected = np.array([total & (1 << 64) - 1 for total in totals], np.uint64).reshape(a.shape)
    assert_same(result_in(state, "u64"), expected, lanes)
    carry = np.array([total >> 64 > 0 for total in totals]).reshape(a.shape)
    assert np.array_equal(state.full(state.read_mask(VCC)), carry & lanes)


@pytest.mark.parametrize("exec_name", EXEC)
def test_v_mbcnt_counts_the_bits_below_each_lane_regardless_of_exec(exec_name):
    state, (added,), lanes = started(["u32"], EXEC[exec_name])
    mask = 0xF0F0_A5A5_8000_0001
    state.write_sgpr64(10, mask)
    run_code(state, "08008cd20a000200")  # v_mbcnt_lo_u32_b32 v8, s10, v0
    run_code(state, "08008dd20b100200")  # v_mbcnt_hi_u32_b32 v8, s11, v8
    below = np.array([(mask & (1 << lane) - 1).bit_count() for lane in range(64)], np.uint32)
    assert_same(result_in(state, "u32"), added + below, lanes)


@pytest.mark.parametrize("exec_name", EXEC)
@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("0840b2d300050218", lambda a, b, c: a + b),  # v_pk_add_f32 v[8:9], v[0:1], v[2:3]
        ("0840b1d300050218", lambda a, b, c: a * b),  # v_pk_mul_f32 v[8:9], v[0:1], v[2:3]
        ("08408ed30005121c", half_fma),  # v_pk_fma_f16 v8, v0, v2, v4
    ],
    ids=["v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f16"],
)
def test_packed_arithmetic_does_both_halves(code, function, exec_name, request):
    halves = "f16" in request.node.callspec.id
    kind, table = (np.float16, HALVES) if halves else (np.float32, FLOATS)
    raw = np.uint16 if halves else np.uint32
    columns = [[value.astype(raw).view(kind) for value in combinations(table, 3)], []]
    columns[1] = [value[::-1].copy() for value in columns[0]]
    whole = np.uint32 if halves else np.uint64
    words = [np.stack(pair, -1).view(whole)[..., 0] for pair in zip(*columns, strict=True)]
    state = state_with(*((2 * index, word) for index, word in enumerate(words)))
    state.write_vgpr64(DESTINATION, np.full((1, 1), SENTINEL, np.uint64))
    lanes = np.resize(EXEC[exec_name], state.shape)
    state.write_exec(lanes)
    run_code(state, code)
    result = lanes_of(state, DESTINATION) if halves else np.array(state.full(state.read_vgpr64(DESTINATION)))
    with np.errstate(all="ignore"):
        low, high = (function(*column) for column in columns)
    parts = result[..., None].view(kind)
    old = np.full(lanes.shape, SENTINEL, np.uint64).astype(whole)[..., None].view(kind)
    for index, expected in enumerate((low, high)):
        wanted = np.where(lanes, expected, old[..., index])
        same = (parts[..., index].copy().view(raw) == wanted.view(raw)) | np.isnan(parts[..., index]) & np.isnan(wanted)
        assert same.all()


@pytest.mark.parametrize("exec_name", EXEC)
def test_v_readfirstlane_b32_takes_the_first_lane_that_is_on_or_lane_0(exec_name):
    state, (a,), lanes = started(["u32"], EXEC[exec_name])
    run_code(state, "0005287e")  # v_readfirstlane_b32 s20, v0
    expected = a[np.arange(len(a)), lanes.argmax(axis=1)]
    assert np.broadcast_to(np.asarray(state.read_sgpr(20)).ravel(), expected.shape).tolist() == expected.tolist()


@pytest.mark.parametrize("exec_name", EXEC)
@pytest.mark.parametrize("lane", [0, 5, 63, 64])
def test_v_readlane_b32_takes_any_lane_and_counts_modulo_64(exec_name, lane):
    state, (a,), _ = started(["u32"], EXEC[exec_name])
    state.write_sgpr(10, lane)
    run_code(state, "140089d200150000")  # v_readlane_b32 s20, v0, s10
    expected = a[:, lane % 64]
    assert np.broadcast_to(np.asarray(state.read_sgpr(20)).ravel(), expected.shape).tolist() == expected.tolist()
