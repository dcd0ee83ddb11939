"""v_div_scale, v_div_fmas and v_div_fixup: the three steps around a correctly rounded division.

The scaling rules are those of the CDNA3 ISA document. For v_div_fmas the document gives one factor (2**32); only a
factor that undoes v_div_scale's 2**64 (2**128 in f64) in the right direction gives the quotient, so the exponent of the
addend, which is the quotient so far, decides between 2**64 and 2**-64. Where quotient and inverse denominator are both
denormal the document scales the denominator up, past infinity; only down gives the quotient. For v_div_fixup the
document tests an infinite denominator for overflow, which an earlier rule has caught already; what overflows for
certain is a numerator whose exponent is that much larger, and there the steps before give NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.cached import cached_property
from hipgraph_cb.virtual.isa.core import lane_loops
from hipgraph_cb.virtual.isa.core.exact import odd_sum
from hipgraph_cb.virtual.isa.core.float_mode import NEAREST_EVEN
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.results import result_writer
from hipgraph_cb.virtual.isa.core.rounding import corrected, narrowed
from hipgraph_cb.virtual.isa.core.state import VCC, State
from hipgraph_cb.virtual.isa.vector.float_alu import FMA, quieted
from hipgraph_cb.virtual.isa.vector.vector import operation, register_operations, rounded, rounding_mode, sources

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Float = Any  # an array of the operand's type
_NOWHERE = np.zeros((1, 1), np.bool_)
_DENORMAL_UNIT = 1074  # f64 denormals are multiples of 2**-1074


@dataclass(frozen=True)
class Format:
    """Numbers of the rules for one float format."""

    raw: type[np.unsignedinteger[Any]]
    mantissa_bits: int
    exponent_mask: int
    power: int
    far_apart: int
    tiny_numerator: int
    underflow: int
    overflow: int


FORMATS = {
    "f16": Format(np.uint16, 10, 31, 0, 0, 0, -30, 64),
    "f32": Format(np.uint32, 23, 255, 64, 96, 23, -150, 128),
    "f64": Format(np.uint64, 52, 2047, 128, 768, 53, -1075, 1024),
}


def biased_exponent(value: Float, form: Format) -> NDArray[np.int64]:
    """The exponent field of the number."""
    bits = value.view(form.raw) >> form.raw(form.mantissa_bits)
    exponent: NDArray[np.int64] = (bits & form.raw(form.exponent_mask)).astype(np.int64)
    return exponent


def _is_denormal(value: Float) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = (np.abs(value) < np.finfo(value.dtype).tiny) & (value != 0)
    return result


@dataclass(frozen=True)
class Plain:
    """Exponents (biased, as in the numbers; bounds included) with which a division needs no special rule."""

    numerator: tuple[int, int]
    denominator: tuple[int, int]
    gap: tuple[int, int]  # the numerator's less the denominator's

    @cached_property
    def limits(self) -> NDArray[np.int16]:
        """The same as one array."""
        return np.array([self.numerator, self.denominator, self.gap], np.int16)


@lru_cache
def _plain_scale(form: Format) -> Plain:
    """Where neither the inverse of the denominator nor the quotient is denormal, and no scaling is requested."""
    top = form.exponent_mask
    return Plain((form.tiny_numerator + 1, top), (1, top - 3), (2 - (top >> 1), form.far_apart - 1))


@lru_cache
def _plain_fixup(form: Format) -> Plain:
    """Where neither number is zero, denormal, infinite or NaN, and the quotient's exponent is not out of bounds."""
    usual = (1, form.exponent_mask - 1)
    return Plain(usual, usual, (form.underflow, form.overflow))


def exceptional(operands: tuple[Float, Float, Float], form: Format, plain: Plain) -> NDArray[np.intp] | None:
    """Flat indices, in the shape of all operands, of the lanes that are not `plain`; None for none.

    The operands are any value, the denominator and the numerator.
    """
    value, denominator, numerator = operands
    outside = lane_loops.unusual_exponents(numerator, denominator, plain.limits)
    if outside is None:
        outside = _unusual_exponents(numerator, denominator, form, plain)
    if outside is False:
        return None
    return np.flatnonzero(np.broadcast_to(outside, np.broadcast_shapes(value.shape, outside.shape)))


def _unusual_exponents(
    numerator: Float, denominator: Float, form: Format, plain: Plain
) -> NDArray[np.bool_] | Literal[False]:
    """The lanes that are not `plain`, False for none."""
    numerators, denominators = _exponent_bounds(numerator, form), _exponent_bounds(denominator, form)
    gap = numerators[0] - denominators[1], numerators[1] - denominators[0]
    bounds = ((numerators, plain.numerator), (denominators, plain.denominator), (gap, plain.gap))
    if all(allowed[0] <= low and high <= allowed[1] for (low, high), allowed in bounds):
        return False
    upper, lower = _narrow_exponent(numerator, form), _narrow_exponent(denominator, form)
    outside = _outside(upper - lower, plain.gap) | _outside(upper, plain.numerator) | _outside(lower, plain.denominator)
    return outside if outside.any() else False


def _narrow_exponent(value: Float, form: Format) -> NDArray[np.int16]:
    """`biased_exponent` in as few bits as it needs."""
    words = value.view(np.uint16).reshape(*value.shape, -1)[..., -1]  # the uppermost 16 bits
    above = form.mantissa_bits - 16 * (value.itemsize // 2 - 1)
    exponent: NDArray[np.int16] = (words >> np.uint16(above) & np.uint16(form.exponent_mask)).view(np.int16)
    return exponent


def _outside(values: NDArray[np.int16], bounds: tuple[int, int]) -> NDArray[np.bool_]:
    """One comparison: as an unsigned number, a value below the bounds is above them."""
    low, high = bounds
    outside: NDArray[np.bool_] = (values - np.int16(low)).view(np.uint16) > np.uint16(high - low)
    return outside


def _exponent_bounds(value: Float, form: Format) -> tuple[int, int]:
    """The lowest and the highest exponent field."""
    magnitudes = value.view(form.raw) & form.raw(np.iinfo(form.raw).max >> 1)
    return int(magnitudes.min()) >> form.mantissa_bits, int(magnitudes.max()) >> form.mantissa_bits


def div_scale(value: Float, denominator: Float, numerator: Float, form: Format) -> tuple[Float, NDArray[np.bool_]]:
    """The scaled `value` (which is the denominator or the numerator) and whether v_div_fmas has to scale back."""
    lanes = exceptional((value, denominator, numerator), form, _plain_scale(form))
    if lanes is None:
        return value, _NOWHERE
    value, denominator, numerator = np.broadcast_arrays(value, denominator, numerator)
    flags = np.zeros(value.shape, np.bool_)
    scaled = value.copy()
    chosen, below, above = (operand.reshape(-1)[lanes] for operand in (value, denominator, numerator))
    scaled.reshape(-1)[lanes], flags.reshape(-1)[lanes] = _scale_by_the_rules(chosen, below, above, form)
    return scaled, flags


def _scale_by_the_rules(
    value: Float, denominator: Float, numerator: Float, form: Format
) -> tuple[Float, NDArray[np.bool_]]:
    gap = biased_exponent(numerator, form) - biased_exponent(denominator, form)
    inverse_tiny = _is_denormal(1.0 / denominator.astype(np.float64))
    quotient_tiny = _is_denormal(numerator / denominator)
    is_denominator, is_numerator = value == denominator, value == numerator
    up, down = np.ldexp(value, form.power), np.ldexp(value, -form.power)
    nan = np.full_like(value, np.nan)
    only_denominator = np.where(is_denominator, up, value)
    rules = (
        ((numerator == 0) | (denominator == 0), nan, False),
        (gap >= form.far_apart, only_denominator, True),
        (_is_denormal(denominator), up, False),
        (inverse_tiny & quotient_tiny, np.where(is_denominator, down, value), True),
        (inverse_tiny, down, False),
        (quotient_tiny, np.where(is_numerator, up, value), True),
        (biased_exponent(numerator, form) <= form.tiny_numerator, up, False),
    )
    scaled = np.select([rule[0] for rule in rules], [rule[1] for rule in rules], value)
    flag = np.select([rule[0] for rule in rules], [np.full(value.shape, rule[2]) for rule in rules], False)
    return scaled, flag


@semantics("v_div_scale_f32", "v_div_scale_f64")
def _compile_scale(instruction: Instruction, context: CompileContext) -> Compiled:
    kind = instruction.mnemonic[-3:]
    form = FORMATS[kind]
    first, second, third = sources(instruction, (kind, kind, kind), context, arithmetic=True)
    write = result_writer(instruction, kind, context)
    flag = instruction.fields["sdst"]

    def step(state: State) -> None:
        scaled, scale_back = div_scale(first(state), second(state), third(state), form)
        write(state, scaled)
        state.write_compare(flag, scale_back)

    return step


@semantics("v_div_fmas_f32", "v_div_fmas_f64")
def _compile_fused(instruction: Instruction, context: CompileContext) -> Compiled:
    kind = instruction.mnemonic[-3:]
    form, mode = FORMATS[kind], rounding_mode(kind, context)
    fma = rounded(FMA[kind], "fma", kind, context)
    first, second, third = sources(instruction, (kind, kind, kind), context, arithmetic=True)
    write = result_writer(instruction, kind, context, arithmetic=True)

    def step(state: State) -> None:
        addend = third(state)
        total: Any = fma(first(state), second(state), addend)
        scaled = state.read_mask(VCC)
        if scaled.any():
            middle = form.exponent_mask >> 1
            power = np.where(biased_exponent(addend, form) > middle, form.power, -form.power)
            scaled_back = scaled_fma(first(state), second(state), addend, power, mode)
            total = np.where(scaled, scaled_back, total)
        write(state, total)

    return step


def scaled_fma(a: Float, b: Float, c: Float, power: NDArray[np.int64], mode: int = NEAREST_EVEN) -> Float:
    """(a * b + c) * 2**power with one rounding, which matters where the result is denormal."""
    a, b, c, power = np.broadcast_arrays(a, b, c, power)
    if a.dtype == np.float32:
        wide = np.ldexp(odd_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)), power)
        return narrowed(wide, np.float32, mode) if mode else wide.astype(np.float32)
    total = FMA["f64"](a, b, c)
    result = np.ldexp(total, power)
    inexact = np.isfinite(total) & (total != 0)
    if not mode:
        inexact &= np.abs(result) < np.finfo(np.float64).tiny
    for lane in np.argwhere(inexact):
        place = tuple(lane)
        exact = Fraction(float(a[place])) * Fraction(float(b[place])) + Fraction(float(c[place]))
        exact *= Fraction(2) ** int(power[place])
        if abs(result[place]) < np.finfo(np.float64).tiny:
            result[place] = round(exact * 2**_DENORMAL_UNIT) * 2.0**-_DENORMAL_UNIT
        if mode:
            result[place] = corrected(result[place], exact, mode)
    return result


def div_fixup(quotient: Float, denominator: Float, numerator: Float) -> Float:
    """The quotient with its sign, or what the special cases of the operands demand."""
    form = FORMATS[f"f{quotient.dtype.itemsize * 8}"]
    sign = form.raw(np.iinfo(form.raw).max // 2 + 1)
    bits = (denominator.view(form.raw) ^ numerator.view(form.raw)) & sign | quotient.view(form.raw) & ~sign
    fixed = np.ascontiguousarray(bits).view(quotient.dtype)
    lanes = exceptional((quotient, denominator, numerator), form, _plain_fixup(form))
    if lanes is not None:
        operands = (np.broadcast_to(operand, fixed.shape) for operand in (quotient, denominator, numerator))
        chosen, below, above = (operand.reshape(-1)[lanes] for operand in operands)
        fixed.reshape(-1)[lanes] = _fixup_by_the_rules(chosen, below, above, form)
    return fixed


def _fixup_by_the_rules(quotient: Float, denominator: Float, numerator: Float, form: Format) -> Float:
    kind = quotient.dtype.type
    magnitude = np.abs(quotient)
    gap = biased_exponent(numerator, form) - biased_exponent(denominator, form)
    magnitude = np.where(gap < form.underflow, kind(0), np.where(gap > form.overflow, kind(np.inf), magnitude))
    magnitude = np.where(np.isinf(denominator) | (numerator == 0), kind(0), magnitude)
    magnitude = np.where((denominator == 0) | np.isinf(numerator), kind(np.inf), magnitude)
    signed = np.copysign(magnitude, np.where(np.signbit(denominator) ^ np.signbit(numerator), kind(-1), kind(1)))
    invalid = (denominator == 0) & (numerator == 0) | np.isinf(denominator) & np.isinf(numerator)
    signed = np.where(invalid, -kind(np.nan), signed)
    signed = np.where(np.isnan(denominator), quieted(denominator), signed)
    return np.where(np.isnan(numerator), quieted(numerator), signed)


register_operations(
    {
        **{
            f"v_div_fixup_{kind}": operation(f"{kind} {kind} {kind} {kind}", div_fixup, arithmetic=True)
            for kind in FORMATS
        },
        "v_div_fixup_legacy_f16": operation("f16 f16 f16 f16", div_fixup, arithmetic=True),
    }
)
