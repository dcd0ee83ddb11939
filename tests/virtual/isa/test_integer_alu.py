"""Integer and bit instructions on edge values; the expected value is computed on Python ints from the written rule."""

from __future__ import annotations

import numpy as np
import pytest
from support.edge_values import INTEGERS, LONGS, combinations, signed, state_with
from support.lanes import lanes_of, run_code

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
s = signed


def s24(value: int) -> int:
    return signed(value, 24)


def s16(value: int) -> int:
    return signed(value, 16)


def u16(value: int) -> int:
    return value & 0xFFFF


def u24(value: int) -> int:
    return value & 0xFFFFFF


def byte(value: int, index: int) -> int:
    return value >> 8 * index & 0xFF


def clip(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


def leading(value: int) -> int:
    return 32 - value.bit_length() if value else -1


def field(value: int, offset: int, length: int, is_signed: bool) -> int:
    bits = (s(value) if is_signed else value) >> (offset & 31) & ((1 << (length & 31)) - 1)
    return signed(bits, length & 31) if is_signed and length & 31 else bits


def permuted(a: int, b: int, selector: int) -> int:
    data, result = a << 32 | b, 0
    for index in range(4):
        choice = byte(selector, index)
        if choice < 8:
            chosen = data >> 8 * choice & 0xFF
        elif choice < 12:
            chosen = 0xFF * (data >> 16 * (choice - 8) + 15 & 1)
        else:
            chosen = 0 if choice == 12 else 0xFF
        result |= chosen << 8 * index
    return result


def bytes_apart(a: int, b: int, skip_zero: bool = False) -> int:
    return sum(abs(byte(a, i) - byte(b, i)) for i in range(4) if not (skip_zero and byte(b, i) == 0))


def halves_apart(a: int, b: int) -> int:
    return abs(u16(a) - u16(b)) + abs((a >> 16) - (b >> 16))


UNARY = [
    ("v_mov_b32_e32 v4, v0", "0003087e", lambda a: a),
    ("v_not_b32_e32 v4, v0", "0057087e", lambda a: ~a),
    ("v_bfrev_b32_e32 v4, v0", "0059087e", lambda a: int(f"{a:032b}"[::-1], 2)),
    ("v_ffbh_u32_e32 v4, v0", "005b087e", leading),
    ("v_ffbl_b32_e32 v4, v0", "005d087e", lambda a: (a & -a).bit_length() - 1),
    ("v_ffbh_i32_e32 v4, v0", "005f087e", lambda a: leading(a ^ M32 if a >> 31 else a)),
    ("v_mov_b32_e32 v4, 0x12345678", "ff02087e78563412", lambda a: 0x12345678),
    ("v_mov_b32_e32 v4, -16", "d002087e", lambda a: -16),
    ("v_mov_b32_e32 v4, 0.5", "f002087e", lambda a: 0x3F000000),
]
BINARY = [
    ("v_add_u32_e32 v4, v0, v1", "00030868", lambda a, b: a + b),
    ("v_sub_u32_e32 v4, v0, v1", "0003086a", lambda a, b: a - b),
    ("v_subrev_u32_e32 v4, v0, v1", "0003086c", lambda a, b: b - a),
    ("v_add_u32_e64 v4, v0, v1 clamp", "048034d100030200", lambda a, b: min(a + b, M32)),
    ("v_sub_u32_e64 v4, v0, v1 clamp", "048035d100030200", lambda a, b: max(a - b, 0)),
    ("v_add_i32 v4, v0, v1", "04009cd200030200", lambda a, b: a + b),
    ("v_sub_i32 v4, v0, v1", "04009dd200030200", lambda a, b: a - b),
    ("v_add_i32 v4, v0, v1 clamp", "04809cd200030200", lambda a, b: clip(s(a) + s(b), -(1 << 31), (1 << 31) - 1)),
    ("v_and_b32_e32 v4, v0, v1", "00030826", lambda a, b: a & b),
    ("v_or_b32_e32 v4, v0, v1", "00030828", lambda a, b: a | b),
    ("v_xor_b32_e32 v4, v0, v1", "0003082a", lambda a, b: a ^ b),
    ("v_xnor_b32_e32 v4, v0, v1", "0003087a", lambda a, b: ~(a ^ b)),
    ("v_lshlrev_b32_e32 v4, v0, v1", "00030824", lambda a, b: b << (a & 31)),
    ("v_lshrrev_b32_e32 v4, v0, v1", "00030820", lambda a, b: b >> (a & 31)),
    ("v_ashrrev_i32_e32 v4, v0, v1", "00030822", lambda a, b: s(b) >> (a & 31)),
    ("v_lshlrev_b16_e32 v4, v0, v1", "00030854", lambda a, b: u16(b << (a & 15))),
    ("v_lshrrev_b16_e32 v4, v0, v1", "00030856", lambda a, b: u16(b) >> (a & 15)),
    ("v_ashrrev_i16_e32 v4, v0, v1", "00030858", lambda a, b: u16(s16(b) >> (a & 15))),
    ("v_mul_lo_u32 v4, v0, v1", "040085d200030200", lambda a, b: a * b),
    ("v_mul_hi_u32 v4, v0, v1", "040086d200030200", lambda a, b: a * b >> 32),
    ("v_mul_hi_i32 v4, v0, v1", "040087d200030200", lambda a, b: s(a) * s(b) >> 32),
    ("v_mul_u32_u24_e32 v4, v0, v1", "00030810", lambda a, b: u24(a) * u24(b)),
    ("v_mul_i32_i24_e32 v4, v0, v1", "0003080c", lambda a, b: s24(a) * s24(b)),
    ("v_mul_hi_u32_u24_e32 v4, v0, v1", "00030812", lambda a, b: u24(a) * u24(b) >> 32),
    ("v_mul_hi_i32_i24_e32 v4, v0, v1", "0003080e", lambda a, b: s24(a) * s24(b) >> 32),
    ("v_mul_lo_u16_e32 v4, v0, v1", "00030852", lambda a, b: u16(a * b)),
    ("v_add_u16_e32 v4, v0, v1", "0003084c", lambda a, b: u16(a + b)),
    ("v_sub_u16_e32 v4, v0, v1", "0003084e", lambda a, b: u16(a - b)),
    ("v_subrev_u16_e32 v4, v0, v1", "00030850", lambda a, b: u16(b - a)),
    ("v_min_u32_e32 v4, v0, v1", "0003081c", min),
    ("v_max_u32_e32 v4, v0, v1", "0003081e", max),
    ("v_min_i32_e32 v4, v0, v1", "00030818", lambda a, b: min(s(a), s(b))),
    ("v_max_i32_e32 v4, v0, v1", "0003081a", lambda a, b: max(s(a), s(b))),
    ("v_min_u16_e32 v4, v0, v1", "00030862", lambda a, b: min(u16(a), u16(b))),
    ("v_max_u16_e32 v4, v0, v1", "0003085e", lambda a, b: max(u16(a), u16(b))),
    ("v_min_i16_e32 v4, v0, v1", "00030864", lambda a, b: u16(min(s16(a), s16(b)))),
    ("v_max_i16_e32 v4, v0, v1", "00030860", lambda a, b: u16(max(s16(a), s16(b)))),
    ("v_bfm_b32 v4, v0, v1", "040093d200030200", lambda a, b: ((1 << (a & 31)) - 1) << (b & 31)),
    ("v_bcnt_u32_b32 v4, v0, v1", "04008bd200030200", lambda a, b: a.bit_count() + b),
    ("v_cvt_pk_u16_u32 v4, v0, v1", "040097d200030200", lambda a, b: min(a, 0xFFFF) | min(b, 0xFFFF) << 16),
    (
        "v_cvt_pk_i16_i32 v4, v0, v1",
        "040098d200030200",
        lambda a, b: u16(clip(s(a), -32768, 32767)) | u16(clip(s(b), -32768, 32767)) << 16,
    ),
    ("v_pack_b32_f16 v4, v0, v1", "0400a0d200030200", lambda a, b: u16(a) | u16(b) << 16),
    ("v_pack_b32_f16 v4, v0, v1 op_sel:[1,1,0]", "0418a0d200030200", lambda a, b: a >> 16 | b >> 16 << 16),
    ("v_add_u32_e32 v4, s6, v1", "06020868", lambda a, b: 77 + b),
    ("v_subrev_u32_e32 v4, 64, v1", "c002086c", lambda a, b: b - 64),
]
TERNARY = [
    ("v_add3_u32 v4, v0, v1, v2", "0400ffd100030a04", lambda a, b, c: a + b + c),
    ("v_lshl_add_u32 v4, v0, v1, v2", "0400fdd100030a04", lambda a, b, c: (a << (b & 31)) + c),
    ("v_add_lshl_u32 v4, v0, v1, v2", "0400fed100030a04", lambda a, b, c: (a + b & M32) << (c & 31)),
    ("v_lshl_or_b32 v4, v0, v1, v2", "040000d200030a04", lambda a, b, c: a << (b & 31) | c),
    ("v_and_or_b32 v4, v0, v1, v2", "040001d200030a04", lambda a, b, c: a & b | c),
    ("v_or3_b32 v4, v0, v1, v2", "040002d200030a04", lambda a, b, c: a | b | c),
    ("v_xad_u32 v4, v0, v1, v2", "0400f3d100030a04", lambda a, b, c: (a ^ b) + c),
    ("v_mad_u32_u24 v4, v0, v1, v2", "0400c3d100030a04", lambda a, b, c: u24(a) * u24(b) + c),
    ("v_mad_i32_i24 v4, v0, v1, v2", "0400c2d100030a04", lambda a, b, c: s24(a) * s24(b) + c),
    ("v_mad_u32_u16 v4, v0, v1, v2", "0400f1d100030a04", lambda a, b, c: u16(a) * u16(b) + c),
    ("v_mad_i32_i16 v4, v0, v1, v2", "0400f2d100030a04", lambda a, b, c: s16(a) * s16(b) + c),
    ("v_mad_legacy_u16 v4, v0, v1, v2", "0400ebd100030a04", lambda a, b, c: u16(a * b + c)),
    ("v_mad_u16 v4, v0, v1, v2", "040004d200030a04", lambda a, b, c: 0xABCD0000 | u16(a * b + c)),
    ("v_mad_u16 v4, v0, v1, v2 op_sel:[0,0,0,1]", "044004d200030a04", lambda a, b, c: u16(a * b + c) << 16 | 0x1234),
    ("v_bfe_u32 v4, v0, v1, v2", "0400c8d100030a04", lambda a, b, c: field(a, b, c, False)),
    ("v_bfe_i32 v4, v0, v1, v2", "0400c9d100030a04", lambda a, b, c: field(a, b, c, True)),
    ("v_bfi_b32 v4, v0, v1, v2", "0400cad100030a04", lambda a, b, c: a & b | ~a & c),
    ("v_alignbit_b32 v4, v0, v1, v2", "0400ced100030a04", lambda a, b, c: (a << 32 | b) >> (c & 31)),
    ("v_alignbyte_b32 v4, v0, v1, v2", "0400cfd100030a04", lambda a, b, c: (a << 32 | b) >> 8 * (c & 3)),
    ("v_perm_b32 v4, v0, v1, v2", "0400edd100030a04", permuted),
    ("v_perm_b32 v4, v0, v1, s7", "0400edd100031e00", lambda a, b, c: permuted(a, b, 0x0D0C0905)),
    ("v_perm_b32 v4, v0, v1, s8", "0400edd100032200", lambda a, b, c: permuted(a, b, 0x0A070B02)),
    ("v_sad_u8 v4, v0, v1, v2", "0400d9d100030a04", lambda a, b, c: bytes_apart(a, b) + c),
    ("v_sad_hi_u8 v4, v0, v1, v2", "0400dad100030a04", lambda a, b, c: (bytes_apart(a, b) << 16) + c),
    ("v_msad_u8 v4, v0, v1, v2", "0400e4d100030a04", lambda a, b, c: bytes_apart(a, b, skip_zero=True) + c),
    ("v_sad_u16 v4, v0, v1, v2", "0400dbd100030a04", lambda a, b, c: halves_apart(a, b) + c),
    ("v_sad_u32 v4, v0, v1, v2", "0400dcd100030a04", lambda a, b, c: abs(a - b) + c),
    (
        "v_lerp_u8 v4, v0, v1, v2",
        "0400cdd100030a04",
        lambda a, b, c: sum((byte(a, i) + byte(b, i) + (byte(c, i) & 1) >> 1) << 8 * i for i in range(4)),
    ),
    ("v_min3_u32 v4, v0, v1, v2", "0400d2d100030a04", min),
    ("v_max3_u32 v4, v0, v1, v2", "0400d5d100030a04", max),
    ("v_med3_u32 v4, v0, v1, v2", "0400d8d100030a04", lambda *x: sorted(x)[1]),
    ("v_min3_i32 v4, v0, v1, v2", "0400d1d100030a04", lambda *x: min(map(s, x))),
    ("v_max3_i32 v4, v0, v1, v2", "0400d4d100030a04", lambda *x: max(map(s, x))),
    ("v_med3_i32 v4, v0, v1, v2", "0400d7d100030a04", lambda *x: sorted(map(s, x))[1]),
]
WIDE = [
    ("v_lshlrev_b64 v[8:9], v4, v[0:1]", "08008fd204010200", lambda a, b, c: a << (c & 63)),
    ("v_lshrrev_b64 v[8:9], v4, v[0:1]", "080090d204010200", lambda a, b, c: a >> (c & 63)),
    ("v_ashrrev_i64 v[8:9], v4, v[0:1]", "080091d204010200", lambda a, b, c: s(a, 64) >> (c & 63)),
    ("v_lshl_add_u64 v[8:9], v[0:1], v4, v[2:3]", "080008d200090a04", lambda a, b, c: (a << (c & 7)) + b),
    (
        "v_lshl_add_u64 v[8:9], v[0:1], 3, s[6:7]",
        "080008d200071900",
        lambda a, b, c: (a << 3) + (77 | 0x0D0C0905 << 32),
    ),
    ("v_lshl_add_u64 v[8:9], s[6:7], 0, v[2:3]", "080008d206000904", lambda a, b, c: (77 | 0x0D0C0905 << 32) + b),
    ("v_mov_b64_e32 v[8:9], v[0:1]", "0071107e", lambda a, b, c: a),
    ("v_mov_b64_e32 v[8:9], -5", "c570107e", lambda a, b, c: -5),
    ("v_mad_u64_u32 v[8:9], s[10:11], v0, v2, v[2:3]", "080ae8d100050a04", lambda a, b, c: (a & M32) * (b & M32) + b),
    ("v_mad_i64_i32 v[8:9], s[10:11], v0, v2, v[2:3]", "080ae9d100050a04", lambda a, b, c: s(a) * s(b) + b),
]


def prepared(operands):
    state = state_with(*enumerate(operands))
    state.write_vgpr(4, np.full((1, 1), 0xABCD1234, np.uint32))
    state.write_sgpr(6, 77)
    state.write_sgpr(7, 0x0D0C0905)
    state.write_sgpr(8, 0x0A070B02)
    return state


@pytest.mark.parametrize(("text", "code", "rule"), [*UNARY, *BINARY, *TERNARY])
def test_every_combination_of_edge_values(text, code, rule):
    count = rule.__code__.co_argcount if hasattr(rule, "__code__") and rule.__code__.co_argcount else None
    count = count or (3 if (text, code, rule) in TERNARY else 2)
    operands = combinations(INTEGERS, count)
    while len(operands) < 3:
        operands.append(np.zeros_like(operands[0]))
    state = prepared(operands)
    run_code(state, code)
    expected = [rule(*map(int, lane)) & M32 for lane in zip(*(x.ravel() for x in operands[:count]), strict=True)]
    assert lanes_of(state, 4).ravel().tolist() == expected, text


@pytest.mark.parametrize(("text", "code", "rule"), WIDE)
def test_64_bit_instructions(text, code, rule):
    a, b = combinations(LONGS, 2, np.uint64)
    amount = combinations(INTEGERS, 2)[0][:1].repeat(len(a), 0)
    state = state_with((0, a), (2, b), (4, amount))
    state.write_sgpr(6, 77)
    state.write_sgpr(7, 0x0D0C0905)
    run_code(state, code)
    lanes = zip(a.ravel(), b.ravel(), amount.ravel(), strict=True)
    expected = [rule(*map(int, lane)) & M64 for lane in lanes]
    assert state.full(state.read_vgpr64(8)).ravel().tolist() == expected, text


def test_inactive_lanes_keep_their_value():
    a, b = combinations(INTEGERS, 2)
    state = prepared([a, b])
    on = np.arange(a.size).reshape(a.shape) % 3 == 0
    state.write_exec(on)
    run_code(state, "00030868")  # v_add_u32_e32 v4, v0, v1
    assert (lanes_of(state, 4) == np.where(on, a + b, 0xABCD1234)).all()
    assert bytes.fromhex("00030868") == bytes.fromhex(BINARY[0][1])


def test_nothing_happens_with_an_empty_exec():
    a, b = combinations(INTEGERS, 2)
    state = prepared([a, b])
    state.write_exec(np.zeros(a.shape, bool))
    for _, code, _ in BINARY[:5]:
        run_code(state, code)
    assert (lanes_of(state, 4) == 0xABCD1234).all()


def test_addresses_kept_as_base_and_index_read_as_numbers():
    index = combinations(INTEGERS, 1)[0]
    state = state_with((0, index), (1, np.zeros((1, 1), np.uint32)))
    state.write_sgpr(6, 0xFFFFFFF0)
    state.write_sgpr(7, 0x7FFF)
    shifted, added = WIDE_ADDRESS
    run_code(state, shifted[1])
    run_code(state, added[1])
    expected = (index.astype(np.uint64) << np.uint64(2)) + np.uint64(0x7FFFFFFFFFF0)
    assert (state.full(state.read_vgpr64(4)) == expected).all()
    assert (lanes_of(state, 5) == expected >> np.uint64(32)).all()
    assert (lanes_of(state, 2) == (index << 2)).all()
    assert (lanes_of(state, 3) == index >> 30).all()


WIDE_ADDRESS = (
    ("v_lshlrev_b64 v[2:3], 2, v[0:1]", "02008fd282000200"),
    ("v_lshl_add_u64 v[4:5], s[6:7], 0, v[2:3]", "040008d206000904"),
)
