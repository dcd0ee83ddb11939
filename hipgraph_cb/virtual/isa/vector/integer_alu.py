"""Vector arithmetic on integers and bits: VOP1, VOP2 and VOP3."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from hipgraph_cb.virtual.isa.core.operands import DTYPES
from hipgraph_cb.virtual.isa.vector.vector import Operation, operation, register_operations

Words = Any  # an array of the operand's type; numpy's own annotations lose it at every step
Moves = list[tuple[bool, int, int]]  # see `_byte_moves`
_U32, _U64, _I32, _I64 = np.uint32, np.uint64, np.int32, np.int64
_LOW5, _ONE, _LOW24 = _U32(31), _U32(1), _U32(0xFFFFFF)


def shift_left(value: Words, amount: Words) -> Words:
    return value << (amount & _LOW5)


def shift_right(value: Words, amount: Words) -> Words:
    return value >> (amount & _LOW5)


def shift_right_signed(value: Words, amount: Words) -> Words:
    return value >> (amount & _LOW5).view(_I32)


def signed24(value: Words) -> Words:
    """The low 24 bits as a signed number, i32."""
    return (value << _U32(8)).view(_I32) >> _I32(8)


def _product24(a: Words, b: Words) -> Words:
    return (a & _LOW24) * (b & _LOW24)


def _signed_product24(a: Words, b: Words) -> Words:
    return (signed24(a) * signed24(b)).view(_U32)


def _high_unsigned(a: Words, b: Words) -> Words:
    return (np.multiply(a, b, dtype=_U64) >> _U64(32)).astype(_U32)


def _high_signed(a: Words, b: Words) -> Words:
    return (np.multiply(a, b, dtype=_I64) >> _I64(32)).astype(_I32)


def bit_count(value: Words) -> Words:
    """Set bits of each uint32."""
    value = value - (value >> _ONE & _U32(0x55555555))
    value = (value & _U32(0x33333333)) + (value >> _U32(2) & _U32(0x33333333))
    return ((value + (value >> _U32(4)) & _U32(0x0F0F0F0F)) * _U32(0x01010101)) >> _U32(24)


def bit_reverse(value: Words) -> Words:
    """Bit 0 becomes bit 31."""
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F)):
        value = (value >> _U32(shift) & _U32(mask)) | (value & _U32(mask)) << _U32(shift)
    return value.byteswap()


def leading_zeros(value: Words) -> Words:
    """Zeros above the highest set bit, all ones for none."""
    bits = np.frexp(value.astype(np.float64))[1]
    return np.where(value == 0, -1, 32 - bits).astype(_I32).view(_U32)


def leading_sign_bits(value: Words) -> Words:
    """Index from the top of the first bit that differs from the sign, all ones for none."""
    bits = value.view(_U32)
    return leading_zeros(np.where(value < 0, ~bits, bits))


def trailing_zeros(value: Words) -> Words:
    """Zeros below the lowest set bit, all ones for none."""
    lowest = value & (~value + _ONE)
    bits = np.frexp(lowest.astype(np.float64))[1]
    return np.where(value == 0, -1, bits - 1).astype(_I32).view(_U32)


def extract_unsigned(value: Words, offset: Words, length: Words) -> Words:
    return (value >> (offset & _LOW5)) & ((_ONE << (length & _LOW5)) - _ONE)


def extract_signed(value: Words, offset: Words, length: Words) -> Words:
    """`length` bits from `offset`, sign-extended; 0 for no bits."""
    count = length & _LOW5
    field = (value >> (offset & _LOW5).view(_I32)).view(_U32) & ((_ONE << count) - _ONE)
    up = (_U32(32) - count) & _LOW5
    return (field << up).view(_I32) >> up.view(_I32)


def _pair(high: Words, low: Words) -> Words:
    return high.astype(_U64) << _U64(32) | low


def align_bits(high: Words, low: Words, amount: Words) -> Words:
    return (_pair(high, low) >> (amount & _LOW5).astype(_U64)).astype(_U32)


def align_bytes(high: Words, low: Words, amount: Words) -> Words:
    return (_pair(high, low) >> ((amount & _U32(3)) << _U32(3)).astype(_U64)).astype(_U32)


def permute(high: Words, low: Words, selector: Words) -> Words:
    """Each byte of the selector picks a byte of high:low (0-7), a sign (8-11), 0x00 (12) or 0xFF (13 and more)."""
    if selector.size == 1:
        return _permute_uniform(high, low, int(selector.flat[0]))
    data = _pair(high, low)
    result = np.zeros(np.broadcast_shapes(data.shape, selector.shape), _U32)
    for position in range(4):
        choice = selector >> _U32(8 * position) & _U32(0xFF)
        byte = (data >> ((choice & _U32(7)) << _U32(3)).astype(_U64)).astype(_U32) & _U32(0xFF)
        sign_shift = (((choice & _U32(3)) << _U32(4)) + _U32(15)).astype(_U64)
        sign = (data >> sign_shift & _U64(1)).astype(_U32) * _U32(0xFF)
        byte = np.where(choice < 8, byte, np.where(choice < 12, sign, np.where(choice == 12, 0, 0xFF)))
        result |= byte.astype(_U32) << _U32(8 * position)
    return result


def _permute_uniform(high: Words, low: Words, selector: int) -> Words:
    moves, signs, constant = _byte_moves(selector)
    result: Words = np.full((1, 1), constant, _U32)
    for from_high, shift, mask in moves:
        word = high if from_high else low
        moved = word << _U32(shift) if shift >= 0 else word >> _U32(-shift)
        result = result | moved & _U32(mask)
    for from_high, bit, position in signs:
        word = high if from_high else low
        result = result | (word >> _U32(bit) & _ONE) * _U32(0xFF << position)
    return result


@lru_cache(maxsize=256)
def _byte_moves(selector: int) -> tuple[Moves, Moves, int]:
    """What v_perm_b32 does with one selector, with bytes that move by the same distance taken together.

    Whether from the high word, the shift to the left and the mask of the result; whether from the high word, the sign's
    bit and where its byte goes; the bytes that are constant.
    """
    masks: dict[tuple[bool, int], int] = {}
    signs: Moves = []
    constant = 0
    for position in range(0, 32, 8):
        choice = selector >> position & 0xFF
        if choice < 8:
            move = choice >= 4, position - 8 * (choice & 3)
            masks[move] = masks.get(move, 0) | 0xFF << position
        elif choice < 12:
            signs.append((choice >= 10, 16 * (choice & 1) + 15, position))
        elif choice > 12:
            constant |= 0xFF << position
    return [(*move, mask) for move, mask in masks.items()], signs, constant


def _absolute_difference(a: Words, b: Words) -> Words:
    return np.maximum(a, b) - np.minimum(a, b)


def _byte(value: Words, index: int) -> Words:
    return value >> _U32(8 * index) & _U32(0xFF)


def sum_byte_differences(a: Words, b: Words, c: Words) -> Words:
    for index in range(4):
        c = c + _absolute_difference(_byte(a, index), _byte(b, index))
    return c


def sum_byte_differences_masked(a: Words, b: Words, c: Words) -> Words:
    """Bytes where the reference `b` is zero do not count."""
    for index in range(4):
        reference = _byte(b, index)
        c = c + _absolute_difference(_byte(a, index), reference) * (reference != 0)
    return c


def sum_half_differences(a: Words, b: Words, c: Words) -> Words:
    low, high = _U32(0xFFFF), _U32(16)
    return c + _absolute_difference(a & low, b & low) + _absolute_difference(a >> high, b >> high)


def average_bytes(a: Words, b: Words, c: Words) -> Words:
    """(a + b + rounding bit of c) / 2 for each byte."""
    result: Words = np.zeros((1, 1), _U32)
    for index in range(4):
        total = _byte(a, index) + _byte(b, index) + (_byte(c, index) & _ONE)
        result = result | total >> _ONE << _U32(8 * index)
    return result


def _median(a: Words, b: Words, c: Words) -> Words:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def _saturating(function: Callable[[Words, Words], Words], kind: str) -> Callable[[Words, Words], Words]:
    """`function` in wider arithmetic, clipped to the range of `kind`."""
    info: Any = np.iinfo(DTYPES[kind])

    def apply(a: Words, b: Words) -> Words:
        return np.clip(function(a.astype(_I64), b.astype(_I64)), info.min, info.max).astype(info.dtype)

    return apply


def _saturating_sum(product: Callable[[Words, Words], Words], kind: str) -> Callable[..., Words]:
    """`product` (in 64 bits) plus the third operand, clipped to the range of `kind`."""
    info: Any = np.iinfo(DTYPES[kind])

    def apply(a: Words, b: Words, c: Words) -> Words:
        return np.clip(product(a, b).astype(_I64) + c.view(info.dtype).astype(_I64), info.min, info.max).astype(
            info.dtype
        )

    return apply


def _wide_product(a: Words, b: Words) -> Words:
    return a.astype(_I64) * b.astype(_I64)


def _addition(kind: str) -> dict[str, Operation]:
    signature = f"{kind} {kind} {kind}"
    return {
        f"v_add_{kind}": operation(signature, np.add, saturating=_saturating(np.add, kind)),
        f"v_sub_{kind}": operation(signature, np.subtract, saturating=_saturating(np.subtract, kind)),
        f"v_subrev_{kind}": operation(signature, lambda a, b: b - a, saturating=_saturating(lambda a, b: b - a, kind)),
    }


def _extremes(kind: str) -> dict[str, Operation]:
    two, three = f"{kind} {kind} {kind}", f"{kind} {kind} {kind} {kind}"
    return {
        f"v_min_{kind}": operation(two, np.minimum),
        f"v_max_{kind}": operation(two, np.maximum),
        f"v_min3_{kind}": operation(three, lambda a, b, c: np.minimum(np.minimum(a, b), c)),
        f"v_max3_{kind}": operation(three, lambda a, b, c: np.maximum(np.maximum(a, b), c)),
        f"v_med3_{kind}": operation(three, _median),
        f"v_minmax_{kind}": operation(three, lambda a, b, c: np.maximum(np.minimum(a, b), c)),
        f"v_maxmin_{kind}": operation(three, lambda a, b, c: np.minimum(np.maximum(a, b), c)),
    }


def _wide_shift(function: Callable[[Words, Words], Words]) -> Callable[[Words, Words], Words]:
    """amount (u32), value (64 bits): only six bits of the amount count."""
    return lambda amount, value: function(value, (amount & _U32(63)).astype(value.dtype))


_B2, _B3 = "b32 b32 b32", "b32 b32 b32 b32"
OPERATIONS: dict[str, Operation] = {
    **{name: found for kind in ("u16", "i16", "u32", "i32") for name, found in _addition(kind).items()},
    **{name: found for kind in ("u16", "i16", "u32", "i32") for name, found in _extremes(kind).items()},
    "v_mov_b32": operation("b32 b32", lambda a: a),
    "v_mov_b64": operation("b64 b64", lambda a: a),
    "v_mov_b16": operation("b16 b16", lambda a: a),
    "v_not_b16": operation("b16 b16", np.invert),
    "v_and_b16": operation("b16 b16 b16", np.bitwise_and),
    "v_or_b16": operation("b16 b16 b16", np.bitwise_or),
    "v_xor_b16": operation("b16 b16 b16", np.bitwise_xor),
    "v_not_b32": operation("b32 b32", np.invert),
    "v_and_b32": operation(_B2, np.bitwise_and),
    "v_or_b32": operation(_B2, np.bitwise_or),
    "v_xor_b32": operation(_B2, np.bitwise_xor),
    "v_xnor_b32": operation(_B2, lambda a, b: ~(a ^ b)),
    "v_lshlrev_b32": operation("u32 u32 u32", lambda a, b: shift_left(b, a)),
    "v_lshrrev_b32": operation("u32 u32 u32", lambda a, b: shift_right(b, a)),
    "v_ashrrev_i32": operation("i32 u32 i32", lambda a, b: shift_right_signed(b, a)),
    "v_lshlrev_b16": operation("u16 u16 u16", lambda a, b: b << (a & np.uint16(15))),
    "v_lshrrev_b16": operation("u16 u16 u16", lambda a, b: b >> (a & np.uint16(15))),
    "v_ashrrev_i16": operation("i16 i16 i16", lambda a, b: b >> (a & np.int16(15))),
    "v_lshrrev_b64": operation("u64 u32 u64", _wide_shift(np.right_shift)),
    "v_ashrrev_i64": operation("i64 u32 i64", _wide_shift(np.right_shift)),
    "v_mul_lo_u32": operation("u32 u32 u32", np.multiply),
    "v_mul_lo_u16": operation("u16 u16 u16", np.multiply),
    "v_mul_hi_u32": operation("u32 u32 u32", _high_unsigned),
    "v_mul_hi_i32": operation("i32 i32 i32", _high_signed),
    "v_mul_u32_u24": operation("u32 u32 u32", _product24),
    "v_mul_i32_i24": operation("u32 u32 u32", _signed_product24),
    "v_mul_hi_u32_u24": operation("u32 u32 u32", lambda a, b: _high_unsigned(a & _LOW24, b & _LOW24)),
    "v_mul_hi_i32_i24": operation("i32 u32 u32", lambda a, b: _high_signed(signed24(a), signed24(b))),
    "v_mad_u32_u24": operation(
        "u32 u32 u32 u32",
        lambda a, b, c: _product24(a, b) + c,
        saturating=_saturating_sum(lambda a, b: _wide_product(a & _LOW24, b & _LOW24), "u32"),
    ),
    "v_mad_i32_i24": operation(
        "i32 u32 u32 u32",
        lambda a, b, c: _signed_product24(a, b) + c,
        saturating=_saturating_sum(lambda a, b: _wide_product(signed24(a), signed24(b)), "i32"),
    ),
    "v_mad_u16": operation(
        "u16 u16 u16 u16",
        lambda a, b, c: a * b + c,
        saturating=_saturating_sum(_wide_product, "u16"),
    ),
    "v_mad_i16": operation(
        "i16 i16 i16 i16",
        lambda a, b, c: a * b + c,
        saturating=_saturating_sum(_wide_product, "i16"),
    ),
    "v_mad_legacy_u16": operation(
        "u16 u16 u16 u16",
        lambda a, b, c: a * b + c,
        saturating=_saturating_sum(_wide_product, "u16"),
    ),
    "v_mad_legacy_i16": operation(
        "i16 i16 i16 i16",
        lambda a, b, c: a * b + c,
        saturating=_saturating_sum(_wide_product, "i16"),
    ),
    "v_mad_u32_u16": operation(
        "u32 u16 u16 u32",
        lambda a, b, c: a.astype(_U32) * b + c,
        saturating=_saturating_sum(_wide_product, "u32"),
    ),
    "v_mad_i32_i16": operation(
        "i32 i16 i16 i32",
        lambda a, b, c: a.astype(_I32) * b + c,
        saturating=_saturating_sum(_wide_product, "i32"),
    ),
    "v_add3_u32": operation("u32 u32 u32 u32", lambda a, b, c: a + b + c),
    "v_lshl_add_u32": operation("u32 u32 u32 u32", lambda a, b, c: shift_left(a, b) + c),
    "v_add_lshl_u32": operation("u32 u32 u32 u32", lambda a, b, c: shift_left(a + b, c)),
    "v_lshl_or_b32": operation(_B3, lambda a, b, c: shift_left(a, b) | c),
    "v_and_or_b32": operation(_B3, lambda a, b, c: a & b | c),
    "v_or3_b32": operation(_B3, lambda a, b, c: a | b | c),
    "v_xor3_b32": operation(_B3, lambda a, b, c: a ^ b ^ c),
    "v_xad_u32": operation("u32 u32 u32 u32", lambda a, b, c: (a ^ b) + c),
    "v_bfe_u32": operation("u32 u32 u32 u32", extract_unsigned),
    "v_bfe_i32": operation("i32 i32 u32 u32", extract_signed),
    "v_bfi_b32": operation(_B3, lambda a, b, c: a & b | ~a & c),
    "v_bfm_b32": operation("u32 u32 u32", lambda a, b: ((_ONE << (a & _LOW5)) - _ONE) << (b & _LOW5)),
    "v_bfrev_b32": operation("b32 b32", bit_reverse),
    "v_bcnt_u32_b32": operation("u32 u32 u32", lambda a, b: bit_count(a) + b),
    "v_ffbh_u32": operation("u32 u32", leading_zeros),
    "v_ffbh_i32": operation("u32 i32", leading_sign_bits),
    "v_ffbl_b32": operation("u32 u32", trailing_zeros),
    "v_alignbit_b32": operation(_B3, align_bits),
    "v_alignbyte_b32": operation(_B3, align_bytes),
    "v_perm_b32": operation(_B3, permute),
    "v_sad_u8": operation(
        "u32 u32 u32 u32",
        sum_byte_differences,
        saturating=_saturating_sum(lambda a, b: sum_byte_differences(a, b, a & _U32(0)), "u32"),
    ),
    "v_sad_hi_u8": operation(
        "u32 u32 u32 u32",
        lambda a, b, c: (sum_byte_differences(a, b, c & _U32(0)) << _U32(16)) + c,
        saturating=_saturating_sum(lambda a, b: sum_byte_differences(a, b, a & _U32(0)) << _U32(16), "u32"),
    ),
    "v_sad_u16": operation(
        "u32 u32 u32 u32",
        sum_half_differences,
        saturating=_saturating_sum(lambda a, b: sum_half_differences(a, b, a & _U32(0)), "u32"),
    ),
    "v_sad_u32": operation(
        "u32 u32 u32 u32",
        lambda a, b, c: _absolute_difference(a, b) + c,
        saturating=_saturating_sum(_absolute_difference, "u32"),
    ),
    "v_msad_u8": operation(
        "u32 u32 u32 u32",
        sum_byte_differences_masked,
        saturating=_saturating_sum(lambda a, b: sum_byte_differences_masked(a, b, a & _U32(0)), "u32"),
    ),
    "v_lerp_u8": operation("u32 u32 u32 u32", average_bytes),
    "v_pack_b32_f16": operation("u32 b16 b16", lambda a, b: a.astype(_U32) | b.astype(_U32) << _U32(16)),
}
register_operations({name: found for name, found in OPERATIONS.items() if name != "v_add_u32"})

# registered by address_alu.py
ADD = OPERATIONS["v_add_u32"]
ADDRESS_OPERATIONS: dict[str, Operation] = {
    "v_lshlrev_b64": operation("u64 u32 u64", _wide_shift(np.left_shift)),
    "v_lshl_add_u64": operation("u64 u64 u32 u64", lambda a, b, c: (a << (b & _U32(7)).astype(_U64)) + c),
}
