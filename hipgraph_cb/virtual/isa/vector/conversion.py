"""Conversions between number formats. To integers: towards zero, saturating, NaN gives 0 (CDNA3 ISA)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.vector.vector import Operation, operation, register_operations

Values = Any  # an array of the operand's type
_U32 = np.uint32


def to_integer(value: Values, dtype: type[np.integer[Any]]) -> Values:
    """Towards zero, saturating, NaN to 0."""
    info = np.iinfo(dtype)
    low, high = float(info.min), float(info.max)
    if value.dtype != np.float64 and info.bits == 32:
        inside = np.abs(value).max() < 2147483648.0 if info.min else (value.min() > -1.0 and value.max() < 4294967296.0)
        if inside:
            return value.astype(np.int64).astype(dtype) if not info.min else value.astype(dtype)
    wide = np.trunc(value.astype(np.float64))
    return np.where(np.isnan(wide), 0.0, np.clip(wide, low, high)).astype(np.int64).astype(dtype)


def _integer(dtype: type[np.integer[Any]]) -> Callable[[Values], Values]:
    return lambda value: to_integer(value, dtype)


def to_half_toward_zero(value: NDArray[np.float32]) -> NDArray[np.float16]:
    """f32 to f16 rounding towards zero; a finite value never becomes infinite."""
    half = value.astype(np.float16)
    overshoot = np.abs(half.astype(np.float32)) > np.abs(value)
    result: NDArray[np.float16] = (half.view(np.uint16) - overshoot.astype(np.uint16)).view(np.float16)
    return result


def _pack(low: Values, high: Values) -> Values:
    low, high = low.view(np.uint16), high.view(np.uint16)
    return low.astype(_U32) | high.astype(_U32) << _U32(16)


def _packed_integers(dtype: type[np.integer[Any]]) -> Callable[[Values, Values], Values]:
    return lambda low, high: _pack(to_integer(low, dtype), to_integer(high, dtype))


def _normalised(value: Values, dtype: type[np.integer[Any]]) -> Values:
    """Clamp to -1..1 (0..1 when unsigned), scale by the largest value, round to nearest even."""
    info = np.iinfo(dtype)
    clipped = np.clip(np.where(np.isnan(value), 0.0, value.astype(np.float64)), -1.0 if info.min else 0.0, 1.0)
    return np.rint(clipped * info.max).astype(dtype)


def _saturate(value: Values, dtype: type[np.integer[Any]]) -> Values:
    info = np.iinfo(dtype)
    return np.clip(value, info.min, info.max).astype(dtype)


def _insert_byte(value: Values, position: Values, into: Values) -> Values:
    """v_cvt_pk_u8_f32: `value` as an unsigned byte (nearest even, saturating) replaces one byte of `into`."""
    rounded = np.rint(np.where(np.isnan(value), 0.0, value.astype(np.float64)))
    byte = np.clip(rounded, 0, 255).astype(_U32)
    shift = (position & _U32(3)) << _U32(3)
    return into & ~(_U32(0xFF) << shift) | byte << shift


def _signed_nibble(value: Values) -> Values:
    """v_cvt_off_f32_i4: the low four bits as a signed number, in sixteenths."""
    nibble = (value << _U32(28)).view(np.int32) >> np.int32(28)
    return (nibble / np.float32(16)).astype(np.float32)


def _bytes_from_halves(value: Values) -> Values:
    """v_sat_pk_u8_i16: two signed halves, each clipped to an unsigned byte."""
    low = np.clip((value << _U32(16)).view(np.int32) >> np.int32(16), 0, 255).astype(_U32)
    high = np.clip(value.view(np.int32) >> np.int32(16), 0, 255).astype(_U32)
    return low | high << _U32(8)


def _unsigned_byte(index: int) -> Callable[[Values], Values]:
    shift = _U32(8 * index)
    return lambda value: (value >> shift & _U32(0xFF)).astype(np.float32)


def _round_half_up(value: Values) -> Values:
    return np.floor(value.astype(np.float64) + 0.5)


OPERATIONS: dict[str, Operation] = {
    "v_cvt_f32_i32": operation("f32 i32", lambda value: value.astype(np.float32), directed="convert"),
    "v_cvt_f32_u32": operation("f32 u32", lambda value: value.astype(np.float32), directed="convert"),
    "v_cvt_f64_i32": operation("f64 i32", lambda value: value.astype(np.float64)),
    "v_cvt_f64_u32": operation("f64 u32", lambda value: value.astype(np.float64)),
    "v_cvt_f64_f32": operation("f64 f32", lambda value: value.astype(np.float64), arithmetic=True),
    # the rounding mode of f64 counts (as LLVM's SIModeRegister sets it)
    "v_cvt_f32_f64": operation(
        "f32 f64", lambda value: value.astype(np.float32), arithmetic=True, directed="convert", rounding="f64"
    ),
    "v_cvt_f16_f32": operation("f16 f32", lambda value: value.astype(np.float16), arithmetic=True, directed="convert"),
    "v_cvt_f32_f16": operation("f32 f16", lambda value: value.astype(np.float32), arithmetic=True),
    "v_cvt_f16_u16": operation("f16 u16", lambda value: value.astype(np.float16), directed="convert"),
    "v_cvt_f16_i16": operation("f16 i16", lambda value: value.astype(np.float16), directed="convert"),
    "v_cvt_u16_f16": operation("u16 f16", _integer(np.uint16)),
    "v_cvt_i16_f16": operation("i16 f16", _integer(np.int16)),
    "v_cvt_u32_f32": operation("u32 f32", _integer(np.uint32)),
    "v_cvt_i32_f32": operation("i32 f32", _integer(np.int32)),
    "v_cvt_u32_f64": operation("u32 f64", _integer(np.uint32)),
    "v_cvt_i32_f64": operation("i32 f64", _integer(np.int32)),
    "v_cvt_flr_i32_f32": operation("i32 f32", lambda value: to_integer(np.floor(value), np.int32)),
    "v_cvt_rpi_i32_f32": operation("i32 f32", lambda value: to_integer(_round_half_up(value), np.int32)),
    **{f"v_cvt_f32_ubyte{index}": operation("f32 u32", _unsigned_byte(index)) for index in range(4)},
    "v_cvt_off_f32_i4": operation("f32 u32", _signed_nibble),
    "v_cvt_norm_i16_f16": operation("i16 f16", lambda value: _normalised(value, np.int16)),
    "v_cvt_norm_u16_f16": operation("u16 f16", lambda value: _normalised(value, np.uint16)),
    "v_cvt_pkrtz_f16_f32": operation("u32 f32 f32", lambda a, b: _pack(to_half_toward_zero(a), to_half_toward_zero(b))),
    "v_cvt_pknorm_i16_f32": operation(
        "u32 f32 f32", lambda a, b: _pack(_normalised(a, np.int16), _normalised(b, np.int16))
    ),
    "v_cvt_pknorm_u16_f32": operation(
        "u32 f32 f32", lambda a, b: _pack(_normalised(a, np.uint16), _normalised(b, np.uint16))
    ),
    "v_cvt_pknorm_i16_f16": operation(
        "u32 f16 f16", lambda a, b: _pack(_normalised(a, np.int16), _normalised(b, np.int16))
    ),
    "v_cvt_pknorm_u16_f16": operation(
        "u32 f16 f16", lambda a, b: _pack(_normalised(a, np.uint16), _normalised(b, np.uint16))
    ),
    "v_cvt_pk_i16_i32": operation("u32 i32 i32", lambda a, b: _pack(_saturate(a, np.int16), _saturate(b, np.int16))),
    "v_cvt_pk_u16_u32": operation("u32 u32 u32", lambda a, b: _pack(_saturate(a, np.uint16), _saturate(b, np.uint16))),
    "v_cvt_pk_i16_f32": operation("u32 f32 f32", _packed_integers(np.int16)),
    "v_cvt_pk_u16_f32": operation("u32 f32 f32", _packed_integers(np.uint16)),
    "v_cvt_i32_i16": operation("i32 i16", lambda value: value.astype(np.int32)),
    "v_cvt_u32_u16": operation("u32 u16", lambda value: value.astype(np.uint32)),
    "v_cvt_pk_u8_f32": operation("u32 f32 u32 u32", _insert_byte),
    "v_sat_pk_u8_i16": operation("u16 u32", lambda value: _bytes_from_halves(value).astype(np.uint16)),
}
register_operations(OPERATIONS)
