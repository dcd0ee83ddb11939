"""Vector arithmetic on f16, f32 and f64: VOP1, VOP2 and VOP3.

Rules for NaN and signed zero in min and max are those of the CDNA3 ISA document in IEEE mode: a signalling NaN gives a
quiet one, a quiet NaN loses against a number, and -0 is smaller than +0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.exact import fma16, fma32, fma64
from hipgraph_cb.virtual.isa.core.operands import LITERAL, VGPR_BASE, Reader, typed, vector_reader32
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.results import result_writer
from hipgraph_cb.virtual.isa.vector.vector import (
    Operation,
    combine,
    operation,
    register_operations,
    rounded,
    rounding_mode,
    source,
    sources,
)

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Float = Any  # an array of the operand's type
FMA: dict[str, Callable[..., Any]] = {"f16": fma16, "f32": fma32, "f64": fma64}
_SIGNED = {2: np.int16, 4: np.int32, 8: np.int64}
_BITS = {2: (np.uint16, 0x7C00, 0x0200), 4: (np.uint32, 0x7F800000, 0x00400000), 8: (np.uint64, 0x7FF << 52, 1 << 51)}


def quieted(value: Float) -> Float:
    """`value` with signalling NaN made quiet."""
    raw, _, quiet = _BITS[value.dtype.itemsize]
    bits = value.view(raw)
    return np.where(np.isnan(value), bits | raw(quiet), bits).view(value.dtype)


def is_signalling(value: Float) -> NDArray[np.bool_]:
    """Where `value` is a signalling NaN."""
    raw, _, quiet = _BITS[value.dtype.itemsize]
    result: NDArray[np.bool_] = np.isnan(value) & (value.view(raw) & raw(quiet) == 0)
    return result


def _has_negative_zero(value: Float) -> bool:
    """As an integer -0 is the lowest of all."""
    bits = value.view(_SIGNED[value.dtype.itemsize])
    return bool(bits.min() == np.iinfo(bits.dtype).min)


def _extreme(choose: Callable[[Float, Float], Float], merge_zero: Callable[[Any, Any], Any]) -> Callable[..., Float]:
    """min or max: `choose` is numpy's, which propagates NaN; `merge_zero` combines the bits of two zeros."""

    def apply(a: Float, b: Float) -> Float:
        result = choose(a, b)
        if np.isnan(result.min()):
            result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))
            loud = is_signalling(a) | is_signalling(b)
            result = np.where(loud, np.where(is_signalling(a), quieted(a), quieted(b)), quieted(result))
        if _has_negative_zero(a) or _has_negative_zero(b):
            raw = _BITS[result.dtype.itemsize][0]
            zeros = (a == 0) & (b == 0)
            result = np.where(zeros, merge_zero(a.view(raw), b.view(raw)), result.view(raw)).view(result.dtype)
        return result

    return apply


minimum = _extreme(np.minimum, np.bitwise_or)
maximum = _extreme(np.maximum, np.bitwise_and)


def _propagating(choose: Any, merge_zero: Any) -> Callable[[Float, Float], Float]:
    """The minimum or maximum of IEEE 754-2019, which is NaN where an operand is."""
    plain = _extreme(choose, merge_zero)

    def apply(a: Float, b: Float) -> Float:
        return np.where(np.isnan(a), quieted(a), np.where(np.isnan(b), quieted(b), plain(a, b)))

    return apply


minimum_or_nan = _propagating(np.minimum, np.bitwise_or)
maximum_or_nan = _propagating(np.maximum, np.bitwise_and)


def minimum3(a: Float, b: Float, c: Float) -> Float:
    return minimum(minimum(a, b), c)


def maximum3(a: Float, b: Float, c: Float) -> Float:
    return maximum(maximum(a, b), c)


def median3(a: Float, b: Float, c: Float) -> Float:
    """The middle one; the smallest of the others when one is NaN."""
    largest = maximum3(a, b, c)
    middle = np.where(largest == a, maximum(b, c), np.where(largest == b, maximum(a, c), maximum(a, b)))
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    return np.where(nan, minimum3(a, b, c), middle) if nan.any() else middle


def fraction(value: Float) -> Float:
    """value - floor(value), always below one."""
    below_one = np.nextafter(value.dtype.type(1), value.dtype.type(0))
    return np.minimum(value - np.floor(value), below_one)


def mantissa(value: Float) -> Float:
    """The significand in [0.5, 1) with the sign; infinities and NaN stay."""
    significand: Any = np.frexp(value)[0]
    return np.where(np.isfinite(value), significand, value)


def exponent(value: Float) -> NDArray[np.int32]:
    """The exponent that belongs to `mantissa`; 0 for infinities and NaN."""
    return np.asarray(np.where(np.isfinite(value), np.frexp(value)[1], 0), np.int32)


def scale(value: Float, power: NDArray[Any]) -> Float:
    """value * 2**power with one rounding."""
    if value.dtype == np.float32:
        limited = np.clip(power.astype(np.int64), -400, 400)
        factor = (limited + 1023 << 52).view(np.float64)  # a power of two, which makes the product in f64 exact
        return (value * factor).astype(np.float32)
    return np.ldexp(value, np.clip(power.astype(np.int32), -5000, 5000))


def reciprocal(value: Float) -> Float:
    return value.dtype.type(1) / value


def reciprocal_root(value: Float) -> Float:
    """1 / sqrt in f64, rounded once for narrower kinds."""
    return (1.0 / np.sqrt(value.astype(np.float64))).astype(value.dtype)


def sine(value: Float) -> Float:
    """sin(2 pi value)."""
    return np.sin(2 * np.pi * np.remainder(value.astype(np.float64), 1.0)).astype(value.dtype)


def cosine(value: Float) -> Float:
    """cos(2 pi value)."""
    return np.cos(2 * np.pi * np.remainder(value.astype(np.float64), 1.0)).astype(value.dtype)


def multiply_legacy(a: Float, b: Float) -> Float:
    """Zero times anything is zero."""
    return np.where((a == 0) | (b == 0), a.dtype.type(0), a * b)


def fma_legacy(a: Float, b: Float, c: Float) -> Float:
    """A fused multiply-add in which zero times anything is zero."""
    zero = a.dtype.type(0)
    is_zero = (a == 0) | (b == 0)
    return fma32(np.where(is_zero, zero, a), np.where(is_zero, zero, b), c)


def _reversed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: function(b, a)


def _widened(function: Callable[[Float], Float]) -> Callable[[Float], Float]:
    """Evaluate an f16 function in f32."""
    return lambda value: function(value.astype(np.float32)).astype(np.float16)


def _arithmetic(kind: str) -> dict[str, Operation]:
    two, three = f"{kind} {kind} {kind}", f"{kind} {kind} {kind} {kind}"
    return {
        f"v_add_{kind}": operation(two, np.add, arithmetic=True, directed="add"),
        f"v_mul_{kind}": operation(two, np.multiply, arithmetic=True, directed="multiply"),
        f"v_min_{kind}": operation(two, minimum, arithmetic=True),
        f"v_max_{kind}": operation(two, maximum, arithmetic=True),
        f"v_minimum_{kind}": operation(two, minimum_or_nan, arithmetic=True),
        f"v_maximum_{kind}": operation(two, maximum_or_nan, arithmetic=True),
        f"v_fma_{kind}": operation(three, FMA[kind], arithmetic=True, directed="fma"),
    }


def _rounding(kind: str) -> dict[str, Operation]:
    one = f"{kind} {kind}"
    return {
        f"v_floor_{kind}": operation(one, np.floor, arithmetic=True),
        f"v_ceil_{kind}": operation(one, np.ceil, arithmetic=True),
        f"v_trunc_{kind}": operation(one, np.trunc, arithmetic=True),
        f"v_rndne_{kind}": operation(one, np.rint, arithmetic=True),
        f"v_fract_{kind}": operation(one, fraction, arithmetic=True),
        f"v_frexp_mant_{kind}": operation(one, mantissa, arithmetic=True),
        f"v_rcp_{kind}": operation(one, reciprocal, arithmetic=True),
        f"v_rsq_{kind}": operation(one, reciprocal_root, arithmetic=True),
        f"v_sqrt_{kind}": operation(one, np.sqrt, arithmetic=True),
    }


def _differences(kind: str) -> dict[str, Operation]:
    two = f"{kind} {kind} {kind}"
    three = f"{two} {kind}"
    least, most = minimum_or_nan, maximum_or_nan
    return {
        f"v_minimum3_{kind}": operation(three, lambda a, b, c: least(least(a, b), c), arithmetic=True),
        f"v_maximum3_{kind}": operation(three, lambda a, b, c: most(most(a, b), c), arithmetic=True),
        f"v_minimummaximum_{kind}": operation(three, lambda a, b, c: most(least(a, b), c), arithmetic=True),
        f"v_maximumminimum_{kind}": operation(three, lambda a, b, c: least(most(a, b), c), arithmetic=True),
        f"v_sub_{kind}": operation(two, np.subtract, arithmetic=True, directed="subtract"),
        f"v_subrev_{kind}": operation(two, _reversed(np.subtract), arithmetic=True, directed="subtract_reversed"),
        f"v_min3_{kind}": operation(f"{two} {kind}", minimum3, arithmetic=True),
        f"v_max3_{kind}": operation(f"{two} {kind}", maximum3, arithmetic=True),
        f"v_med3_{kind}": operation(f"{two} {kind}", median3, arithmetic=True),
        f"v_minmax_{kind}": operation(f"{two} {kind}", lambda a, b, c: maximum(minimum(a, b), c), arithmetic=True),
        f"v_maxmin_{kind}": operation(f"{two} {kind}", lambda a, b, c: minimum(maximum(a, b), c), arithmetic=True),
    }


OPERATIONS: dict[str, Operation] = {
    **{name: described for kind in ("f16", "f32") for name, described in _differences(kind).items()},
    **{name: described for kind in ("f16", "f32", "f64") for name, described in _arithmetic(kind).items()},
    **{name: described for kind in ("f16", "f32", "f64") for name, described in _rounding(kind).items()},
    "v_mul_legacy_f32": operation("f32 f32 f32", multiply_legacy, arithmetic=True, directed="multiply_legacy"),
    "v_fma_legacy_f32": operation("f32 f32 f32 f32", fma_legacy, arithmetic=True),
    "v_mad_f16": operation("f16 f16 f16 f16", lambda a, b, c: a * b + c, arithmetic=True, directed="mad"),
    "v_mad_legacy_f16": operation("f16 f16 f16 f16", lambda a, b, c: a * b + c, arithmetic=True, directed="mad"),
    "v_fma_legacy_f16": operation("f16 f16 f16 f16", fma16, arithmetic=True, directed="fma"),
    "v_rcp_iflag_f32": operation("f32 f32", reciprocal, arithmetic=True),
    "v_exp_f32": operation("f32 f32", np.exp2, arithmetic=True),
    "v_exp_legacy_f32": operation("f32 f32", np.exp2, arithmetic=True),
    "v_log_f32": operation("f32 f32", np.log2, arithmetic=True),
    "v_log_legacy_f32": operation("f32 f32", np.log2, arithmetic=True),
    "v_exp_f16": operation("f16 f16", _widened(np.exp2), arithmetic=True),
    "v_log_f16": operation("f16 f16", _widened(np.log2), arithmetic=True),
    "v_sin_f32": operation("f32 f32", sine, arithmetic=True),
    "v_cos_f32": operation("f32 f32", cosine, arithmetic=True),
    "v_sin_f16": operation("f16 f16", sine, arithmetic=True),
    "v_cos_f16": operation("f16 f16", cosine, arithmetic=True),
    "v_ldexp_f16": operation("f16 f16 i16", scale, arithmetic=True, directed="scale"),
    "v_ldexp_f32": operation("f32 f32 i32", scale, arithmetic=True, directed="scale"),
    "v_ldexp_f64": operation("f64 f64 i32", scale, arithmetic=True, directed="scale"),
    "v_frexp_exp_i16_f16": operation("i16 f16", lambda value: exponent(value).astype(np.int16)),
    "v_frexp_exp_i32_f32": operation("i32 f32", exponent),
    "v_frexp_exp_i32_f64": operation("i32 f64", exponent),
}
register_operations(OPERATIONS)


@semantics("v_fmac_f16", "v_fmac_f32", "v_fmac_f64", "v_fmac_legacy_f32", "v_mac_f16")
def _compile_accumulate(instruction: Instruction, context: CompileContext) -> Compiled:
    """D = S0 * S1 + D; fused for fmac, rounded twice for mac."""
    kind = instruction.mnemonic[-3:]
    readers = sources(instruction, (kind, kind), context, arithmetic=True)
    readers.append(_accumulator(instruction, kind, context))
    return combine(
        _fused_or_not(instruction, kind, context), readers, result_writer(instruction, kind, context, arithmetic=True)
    )


def _fused_or_not(instruction: Instruction, kind: str, context: CompileContext) -> Callable[..., Any]:
    """a * b + c, with one rounding where the mnemonic says fma, else with two."""
    if "legacy" in instruction.mnemonic:
        if rounding_mode(kind, context):
            raise UnsupportedInstruction("this rounding mode")
        return fma_legacy
    if "fma" in instruction.mnemonic:
        return rounded(FMA[kind], "fma", kind, context)
    return rounded(lambda a, b, c: a * b + c, "mad", kind, context)


def _accumulator(instruction: Instruction, kind: str, context: CompileContext) -> Reader:
    """The destination as a source; in the long encoding it has the third set of modifiers."""
    fields = instruction.fields
    halves = fields.get("op_sel", 0)
    own = replace(instruction, fields={**fields, "op_sel": halves & 3 | halves >> 1 & 4}, dpp=None, sdwa=None)
    return source(own, 2, kind, fields["vdst"] + VGPR_BASE, context)


@semantics("v_fmamk_f16", "v_fmaak_f16", "v_fmamk_f32", "v_fmaak_f32", "v_madmk_f16", "v_madak_f16")
def _compile_with_literal(instruction: Instruction, context: CompileContext) -> Compiled:
    """mk: D = S0 * K + S1; ak: D = S0 * S1 + K, with K the literal."""
    kind = instruction.mnemonic[-3:]
    first, second = sources(instruction, (kind, kind), context, arithmetic=True)
    constant = typed(vector_reader32(LITERAL, instruction.literal, kind), kind, negate=False, absolute=False)
    multiply_by_literal = "mk" in instruction.mnemonic
    readers = [first, constant, second] if multiply_by_literal else [first, second, constant]
    return combine(
        _fused_or_not(instruction, kind, context), readers, result_writer(instruction, kind, context, arithmetic=True)
    )
