"""Scalar instructions: all waves equal, and each wave with its own value; results and SCC from Python ints."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.edge_values import INTEGERS, LONGS, signed
from support.lanes import make_state, run_code

from hipgraph_cb.virtual.memory import Memory

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
s = signed
KEEP = object()  # SCC stays


def s64(value: int) -> int:
    return signed(value, 64)


def nonzero(value: int, width: int = 32) -> tuple[int, bool]:
    value &= (1 << width) - 1
    return value, value != 0


def wide(value: int) -> tuple[int, bool]:
    return nonzero(value, 64)


def carried(value: int) -> tuple[int, bool]:
    return value & M32, not 0 <= value <= M32


def overflowed(value: int) -> tuple[int, bool]:
    return value & M32, not -(1 << 31) <= value < 1 << 31


def field(value: int, control: int, width: int, is_signed: bool) -> tuple[int, bool]:
    offset, length = control & (width - 1), control >> 16 & 0x7F
    bits = (signed(value, width) if is_signed else value) >> offset & ((1 << length) - 1)
    if is_signed and 0 < length < width:
        bits = signed(bits, length)
    return nonzero(bits, width)


BINARY = [
    ("s_add_u32 s0, s2, s4", "02040080", lambda a, b: carried(a + b)),
    ("s_sub_u32 s0, s2, s4", "02048080", lambda a, b: carried(a - b)),
    ("s_addc_u32 s0, s2, s4", "02040082", lambda a, b: carried(a + b + 1)),
    ("s_subb_u32 s0, s2, s4", "02048082", lambda a, b: carried(a - b - 1)),
    ("s_add_i32 s0, s2, s4", "02040081", lambda a, b: overflowed(s(a) + s(b))),
    ("s_sub_i32 s0, s2, s4", "02048081", lambda a, b: overflowed(s(a) - s(b))),
    ("s_mul_i32 s0, s2, s4", "02040092", lambda a, b: (a * b & M32, KEEP)),
    ("s_mul_hi_u32 s0, s2, s4", "02040096", lambda a, b: (a * b >> 32, KEEP)),
    ("s_mul_hi_i32 s0, s2, s4", "02048096", lambda a, b: (s(a) * s(b) >> 32 & M32, KEEP)),
    ("s_and_b32 s0, s2, s4", "02040086", lambda a, b: nonzero(a & b)),
    ("s_or_b32 s0, s2, s4", "02040087", lambda a, b: nonzero(a | b)),
    ("s_xor_b32 s0, s2, s4", "02040088", lambda a, b: nonzero(a ^ b)),
    ("s_andn2_b32 s0, s2, s4", "02040089", lambda a, b: nonzero(a & ~b)),
    ("s_orn2_b32 s0, s2, s4", "0204008a", lambda a, b: nonzero(a | ~b)),
    ("s_nand_b32 s0, s2, s4", "0204008b", lambda a, b: nonzero(~(a & b))),
    ("s_nor_b32 s0, s2, s4", "0204008c", lambda a, b: nonzero(~(a | b))),
    ("s_xnor_b32 s0, s2, s4", "0204008d", lambda a, b: nonzero(~(a ^ b))),
    ("s_lshl_b32 s0, s2, s4", "0204008e", lambda a, b: nonzero(a << (b & 31))),
    ("s_lshr_b32 s0, s2, s4", "0204008f", lambda a, b: nonzero(a >> (b & 31))),
    ("s_ashr_i32 s0, s2, s4", "02040090", lambda a, b: nonzero(s(a) >> (b & 31))),
    ("s_bfm_b32 s0, s2, s4", "02040091", lambda a, b: (((1 << (a & 31)) - 1) << (b & 31) & M32, KEEP)),
    ("s_bfe_u32 s0, s2, s4", "02048092", lambda a, b: field(a, b, 32, False)),
    ("s_bfe_i32 s0, s2, s4", "02040093", lambda a, b: field(a, b, 32, True)),
    ("s_absdiff_i32 s0, s2, s4", "02040095", lambda a, b: nonzero(abs(s(a - b)))),
    ("s_min_i32 s0, s2, s4", "02040083", lambda a, b: (min(s(a), s(b)) & M32, s(a) < s(b))),
    ("s_max_i32 s0, s2, s4", "02040084", lambda a, b: (max(s(a), s(b)) & M32, s(a) > s(b))),
    ("s_min_u32 s0, s2, s4", "02048083", lambda a, b: (min(a, b), a < b)),
    ("s_max_u32 s0, s2, s4", "02048084", lambda a, b: (max(a, b), a > b)),
    ("s_cselect_b32 s0, s2, s4", "02040085", lambda a, b: (a, KEEP)),
    ("s_lshl1_add_u32 s0, s2, s4", "02040097", lambda a, b: carried((a << 1) + b)),
    ("s_lshl4_add_u32 s0, s2, s4", "02048098", lambda a, b: carried((a << 4) + b)),
    ("s_pack_ll_b32_b16 s0, s2, s4", "02040099", lambda a, b: (a & 0xFFFF | (b & 0xFFFF) << 16, KEEP)),
    ("s_pack_lh_b32_b16 s0, s2, s4", "02048099", lambda a, b: (a & 0xFFFF | b >> 16 << 16, KEEP)),
    ("s_pack_hh_b32_b16 s0, s2, s4", "0204009a", lambda a, b: (a >> 16 | b >> 16 << 16, KEEP)),
    ("s_mov_b32 s0, s2", "020080be", lambda a, b: (a, KEEP)),
    ("s_not_b32 s0, s2", "020480be", lambda a, b: nonzero(~a)),
    ("s_abs_i32 s0, s2", "023080be", lambda a, b: nonzero(abs(s(a)))),
    ("s_sext_i32_i8 s0, s2", "021680be", lambda a, b: (s(a, 8) & M32, KEEP)),
    ("s_sext_i32_i16 s0, s2", "021780be", lambda a, b: (s(a, 16) & M32, KEEP)),
    ("s_brev_b32 s0, s2", "020880be", lambda a, b: (int(f"{a:032b}"[::-1], 2), KEEP)),
    ("s_bcnt0_i32_b32 s0, s2", "020a80be", lambda a, b: nonzero(32 - a.bit_count())),
    ("s_bcnt1_i32_b32 s0, s2", "020c80be", lambda a, b: nonzero(a.bit_count())),
    ("s_ff1_i32_b32 s0, s2", "021080be", lambda a, b: ((f"{a:032b}"[::-1].find("1")) & M32, KEEP)),
    ("s_ff0_i32_b32 s0, s2", "020e80be", lambda a, b: ((f"{a:032b}"[::-1].find("0")) & M32, KEEP)),
    ("s_flbit_i32_b32 s0, s2", "021280be", lambda a, b: (f"{a:032b}".find("1") & M32, KEEP)),
    ("s_flbit_i32 s0, s2", "021480be", lambda a, b: (f"{a:032b}".find("0" if a >> 31 else "1") & M32, KEEP)),
    ("s_quadmask_b32 s0, s2", "022880be", lambda a, b: nonzero(sum(1 << q for q in range(8) if a >> 4 * q & 15))),
    ("s_wqm_b32 s0, s2", "020680be", lambda a, b: nonzero(sum(15 << 4 * q for q in range(8) if a >> 4 * q & 15))),
    ("s_bitset1_b32 s0, s2", "021a80be", lambda a, b: (77 | 1 << (a & 31), KEEP)),
    ("s_bitset0_b32 s0, s2", "021880be", lambda a, b: (77 & ~(1 << (a & 31)), KEEP)),
    ("s_movk_i32 s0, 0x8001", "018000b0", lambda a, b: (0xFFFF8001, KEEP)),
    ("s_addk_i32 s0, 0x8001", "018000b7", lambda a, b: overflowed(77 - 0x7FFF)),
    ("s_mulk_i32 s0, -3", "fdff80b7", lambda a, b: (77 * -3 & M32, KEEP)),
    ("s_cmovk_i32 s0, 0x12", "120080b0", lambda a, b: (0x12, KEEP)),
    ("s_add_u32 s0, s2, 0x12345678", "02ff008078563412", lambda a, b: carried(a + 0x12345678)),
]
WIDE = [
    ("s_and_b64 s[0:1], s[2:3], s[4:5]", "02048086", lambda a, b: wide(a & b)),
    ("s_or_b64 s[0:1], s[2:3], s[4:5]", "02048087", lambda a, b: wide(a | b)),
    ("s_xor_b64 s[0:1], s[2:3], s[4:5]", "02048088", lambda a, b: wide(a ^ b)),
    ("s_andn2_b64 s[0:1], s[2:3], s[4:5]", "02048089", lambda a, b: wide(a & ~b)),
    ("s_orn2_b64 s[0:1], s[2:3], s[4:5]", "0204808a", lambda a, b: wide(a | ~b)),
    ("s_nand_b64 s[0:1], s[2:3], s[4:5]", "0204808b", lambda a, b: wide(~(a & b))),
    ("s_nor_b64 s[0:1], s[2:3], s[4:5]", "0204808c", lambda a, b: wide(~(a | b))),
    ("s_xnor_b64 s[0:1], s[2:3], s[4:5]", "0204808d", lambda a, b: wide(~(a ^ b))),
    ("s_lshl_b64 s[0:1], s[2:3], s4", "0204808e", lambda a, b: wide(a << (b & 63))),
    ("s_lshr_b64 s[0:1], s[2:3], s4", "0204808f", lambda a, b: wide(a >> (b & 63))),
    ("s_ashr_i64 s[0:1], s[2:3], s4", "02048090", lambda a, b: wide(s64(a) >> (b & 63))),
    ("s_bfe_u64 s[0:1], s[2:3], s4", "02048093", lambda a, b: field(a, b & M32, 64, False)),
    ("s_bfe_i64 s[0:1], s[2:3], s4", "02040094", lambda a, b: field(a, b & M32, 64, True)),
    ("s_bfm_b64 s[0:1], s2, s4", "02048091", lambda a, b: (((1 << (a & 63)) - 1) << (b & 63) & M64, KEEP)),
    ("s_cselect_b64 s[0:1], s[2:3], s[4:5]", "02048085", lambda a, b: (a, KEEP)),
    ("s_mov_b64 s[0:1], s[2:3]", "020180be", lambda a, b: (a, KEEP)),
    ("s_not_b64 s[0:1], s[2:3]", "020580be", lambda a, b: wide(~a)),
    ("s_brev_b64 s[0:1], s[2:3]", "020980be", lambda a, b: (int(f"{a:064b}"[::-1], 2), KEEP)),
    ("s_bcnt1_i32_b64 s0, s[2:3]", "020d80be", lambda a, b: (77 << 32 | a.bit_count(), a != 0)),
    ("s_ff1_i32_b64 s0, s[2:3]", "021180be", lambda a, b: (77 << 32 | f"{a:064b}"[::-1].find("1") & M32, KEEP)),
    ("s_flbit_i32_b64 s0, s[2:3]", "021380be", lambda a, b: (77 << 32 | f"{a:064b}".find("1") & M32, KEEP)),
    (
        "s_bitreplicate_b64_b32 s[0:1], s2",
        "023780be",
        lambda a, b: (sum(3 << 2 * i for i in range(32) if a >> i & 1), KEEP),
    ),
    ("s_mov_b64 s[0:1], 0x80000000", "ff0180be00000080", lambda a, b: (0x80000000, KEEP)),
    ("s_mov_b64 s[0:1], -7", "c70180be", lambda a, b: (-7 & M64, KEEP)),
]


def put(state, register: int, values: list[int], width: int) -> None:
    dtype = np.uint32 if width == 32 else np.uint64
    value = values[0] if len(set(values)) == 1 else np.array(values, dtype).reshape(-1, 1)
    (state.write_sgpr if width == 32 else state.write_sgpr64)(register, value)


def per_wave(value, waves: int) -> list[int]:
    return np.broadcast_to(np.asarray(value, np.uint64), (waves, 1)).ravel().tolist()


def check(text: str, code: str, rule, pairs: list[tuple[int, int]], width: int, scc: bool) -> None:
    state = make_state(Memory(1 << 16), groups=len(pairs))
    for register, column in ((2, 0), (4, 1)):
        put(state, register, [pair[column] for pair in pairs], width)
    state.write_sgpr(0, 77)
    state.write_sgpr(1, 77)
    state.write_scc(scc)
    run_code(state, code)
    result = state.read_sgpr(0) if width == 32 else state.read_sgpr64(0)
    outcomes = [rule(*pair) for pair in pairs]
    assert per_wave(result, len(pairs)) == [outcome[0] for outcome in outcomes], text
    expected = [scc if outcome[1] is KEEP else outcome[1] for outcome in outcomes]
    assert [bool(flag) for flag in per_wave(state.read_scc(), len(pairs))] == expected, text


@pytest.mark.parametrize(("text", "code", "rule"), BINARY)
def test_32_bits(text, code, rule):
    pairs = list(itertools.product(INTEGERS, repeat=2))
    check(text, code, rule, pairs, 32, True)
    for pair in pairs[::7]:
        check(text, code, rule, [pair], 32, True)


@pytest.mark.parametrize(("text", "code", "rule"), WIDE)
def test_64_bits(text, code, rule):
    pairs = list(itertools.product(LONGS, repeat=2))
    narrowed = " s2," in text or text.endswith(" s2")
    pairs = [(a & M32, b) for a, b in pairs] if narrowed else pairs
    check(text, code, rule, pairs, 64, True)
    for pair in pairs[::5]:
        check(text, code, rule, [pair], 64, True)


COMPARISONS = [
    ("s_cmp_eq_i32 s2, s4", "020400bf", lambda a, b: a == b),
    ("s_cmp_lg_u32 s2, s4", "020407bf", lambda a, b: a != b),
    ("s_cmp_gt_i32 s2, s4", "020402bf", lambda a, b: s(a) > s(b)),
    ("s_cmp_ge_i32 s2, s4", "020403bf", lambda a, b: s(a) >= s(b)),
    ("s_cmp_lt_i32 s2, s4", "020404bf", lambda a, b: s(a) < s(b)),
    ("s_cmp_le_i32 s2, s4", "020405bf", lambda a, b: s(a) <= s(b)),
    ("s_cmp_gt_u32 s2, s4", "020408bf", lambda a, b: a > b),
    ("s_cmp_ge_u32 s2, s4", "020409bf", lambda a, b: a >= b),
    ("s_cmp_lt_u32 s2, s4", "02040abf", lambda a, b: a < b),
    ("s_cmp_le_u32 s2, s4", "02040bbf", lambda a, b: a <= b),
    ("s_cmpk_lt_i32 s2, 0xffff", "ffff02b3", lambda a, b: s(a) < -1),
    ("s_cmpk_gt_u32 s2, 0xffff", "ffff02b5", lambda a, b: a > 0xFFFF),
    ("s_bitcmp1_b32 s2, s4", "02040dbf", lambda a, b: bool(a >> (b & 31) & 1)),
    ("s_bitcmp0_b32 s2, s4", "02040cbf", lambda a, b: not a >> (b & 31) & 1),
]


@pytest.mark.parametrize(("text", "code", "rule"), COMPARISONS)
def test_comparisons(text, code, rule):
    pairs = list(itertools.product(INTEGERS, repeat=2))
    check(text, code, lambda a, b: (77, rule(a, b)), pairs, 32, False)
    for pair in pairs[::7]:
        check(text, code, lambda a, b: (77, rule(a, b)), [pair], 32, False)


SAVES = [
    ("s_and_saveexec_b64 s[0:1], s[2:3]", "022080be", lambda mask, live: mask & live),
    ("s_or_saveexec_b64 s[0:1], s[2:3]", "022180be", lambda mask, live: mask | live),
    ("s_xor_saveexec_b64 s[0:1], s[2:3]", "022280be", lambda mask, live: mask ^ live),
    ("s_andn2_saveexec_b64 s[0:1], s[2:3]", "022380be", lambda mask, live: mask & ~live),
    ("s_andn1_saveexec_b64 s[0:1], s[2:3]", "023380be", lambda mask, live: ~mask & live),
]


@pytest.mark.parametrize("live", [M64, 0xFF00FF, 0])
@pytest.mark.parametrize(("text", "code", "rule"), SAVES)
def test_saveexec_stores_the_old_exec_and_counts_the_new_one(text, code, rule, live):
    state = make_state(Memory(1 << 16), groups=2)
    state.write_sgpr64(126, live)
    state.write_sgpr64(2, 0x0F0F_0000_0000_FFFF)
    run_code(state, code)
    expected = rule(0x0F0F_0000_0000_FFFF, live) & M64
    assert (state.read_sgpr64(126), state.read_sgpr64(0), state.read_scc()) == (expected, live, expected != 0), text
