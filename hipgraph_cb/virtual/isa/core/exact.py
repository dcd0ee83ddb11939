"""Fused multiply-add with one rounding, which numpy does not have.

Where the machine code of lane_loops.py can run, the processor's own instruction does it. Elsewhere:

f32: the product of two f32 is exact in f64. Adding in f64 and narrowing rounds twice, which is wrong only if the f64
sum was inexact and its tail is exactly half a unit of the f32 result. Such lanes are found by one shift and one
minimum, and only they are done again with the f64 sum rounded to odd (S. Boldo, G. Melquiond: "Emulation of a FMA and
correctly rounded sums: proved algorithms using rounding to odd", 2008). f64: the algorithm of the same paper; operands
whose exponents do not allow it go through exact rational arithmetic.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.isa.core import lane_loops

if TYPE_CHECKING:
    from numpy.typing import NDArray

_F32, _F64, _I64, _U64, _U32 = np.float32, np.float64, np.int64, np.uint64, np.uint32
_TAIL = np.int64(35)  # a shift that leaves the 29 bits an f64 has more than an f32
_HALF_TAIL = -(1 << 63)
_MAGNITUDE = np.uint32(0x7FFFFFFF)
_SMALLEST_NORMAL = 0x00800000 << 1
_BLOCK = 256  # waves whose intermediate values stay in the cache
_SPLIT = 134217729.0  # 2**27 + 1


def fma32(a: NDArray[np.float32], b: NDArray[np.float32], c: NDArray[np.float32]) -> NDArray[np.float32]:
    """a * b + c with one rounding, f32."""
    fused: NDArray[np.float32] | None = lane_loops.multiply_add(a, b, c)
    return _fma32(a, b, c) if fused is None else fused


def _fma32(a: NDArray[np.float32], b: NDArray[np.float32], c: NDArray[np.float32]) -> NDArray[np.float32]:
    total: NDArray[np.float64] = np.empty(np.broadcast(a, b, c).shape)
    np.multiply(a, b, out=total, dtype=_F64)
    np.add(total, c, out=total)
    result = total.astype(_F32)
    # From here on the memory of the sum is reused for the tests, since it is in the cache.
    tails = total.view(_I64)
    np.left_shift(tails, _TAIL, out=tails)
    is_doubtful = np.minimum.reduce(tails.reshape(-1)) == _HALF_TAIL or _has_denormal(result, total)
    if is_doubtful and not _is_certainly_exact(a, b, c, result):
        _round_doubtful((a, b, c), result)
    return result


def _has_denormal(values: NDArray[np.float32], scratch: NDArray[np.float64]) -> bool:
    magnitudes = scratch.reshape(-1).view(_U32)[: values.size]
    np.left_shift(values.reshape(-1).view(_U32), _U32(1), out=magnitudes)
    smallest = int(np.minimum.reduce(magnitudes))
    if smallest >= _SMALLEST_NORMAL:
        return False
    magnitudes -= _U32(1)  # zero becomes the largest
    return smallest > 0 or int(magnitudes.min()) < _SMALLEST_NORMAL - 1


def _is_certainly_exact(a: Any, b: Any, c: Any, result: NDArray[np.float32]) -> bool:
    """Whether an f64 can hold the lowest bit of every term in the sum.

    With a factor of few bits that is equal in all lanes, as in y += 2.5 * x, and where a sum nearly cancels, as in the
    steps of a division, half-way sums abound, but are exact.
    """
    bits = result.reshape(-1).view(_U32) & _MAGNITUDE
    highest = (int(np.maximum.reduce(bits)) >> 23) - 126  # the sums are below two to the power of this
    return highest - min(_lowest_bit(a) + _lowest_bit(b), _lowest_bit(c)) <= 53


def _lowest_bit(values: NDArray[np.float32]) -> int:
    """An exponent such that all values are multiples of two to that power."""
    if values.size == 1:
        bits = values.view(_U32).item() & 0x7FFFFFFF
        significand = bits & 0x7FFFFF | (1 << 23 if bits >> 23 else 0)
        return max(bits >> 23, 1) - 151 + (significand & -significand).bit_length()
    magnitudes = values.reshape(-1).view(_U32) << _U32(1)
    magnitudes -= _U32(1)  # zero, a multiple of anything, becomes the largest
    return max(int(np.minimum.reduce(magnitudes)) + 1 >> 24, 1) - 150


def _round_doubtful(operands: tuple[Any, ...], result: NDArray[np.float32]) -> None:
    """Redo the lanes whose f64 sum is half-way or whose result is denormal, unless that sum is exact.

    An exact sum minus one term is the other; of an inexact one the larger term leaves the smaller with its error.
    A result of zero is never wrong: a sum so small has few enough bits to be exact, or is far from half a unit.
    """
    for first in range(0, len(result), _BLOCK):
        rows = slice(first, first + _BLOCK)
        a, b, c = (operand if len(operand) == 1 else operand[rows] for operand in operands)
        product = np.multiply(a, b, dtype=_F64)
        total = product + c
        magnitudes = result[rows].view(_U32) << _U32(1)
        doubtful = total.view(_I64) << _TAIL == _HALF_TAIL
        doubtful |= (magnitudes < _SMALLEST_NORMAL) & (magnitudes > 0)
        if doubtful.any():
            doubtful &= (total - product != c) | (total - c != product)
            lanes = np.flatnonzero(doubtful)
            if lanes.size:
                x, y, z = (_picked(operand, doubtful.shape, lanes).astype(_F64) for operand in (a, b, c))
                result[rows].reshape(-1)[lanes] = odd_sum(x * y, z).astype(_F32)


def _picked(operand: NDArray[Any], shape: tuple[int, ...], lanes: NDArray[np.intp]) -> NDArray[Any]:
    """The elements of `operand`, broadcast to `shape`, at the flat indices `lanes`."""
    if operand.shape == shape:
        return operand.ravel().take(lanes)
    if operand.size == 1:
        return np.broadcast_to(operand.ravel(), lanes.shape)
    return np.broadcast_to(operand, shape)[np.unravel_index(lanes, shape)]


def odd_sum(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """a + b rounded to odd: if inexact, to that neighbour whose last bit is set. Narrowing it rounds correctly."""
    total = a + b
    error = _sum_error(a, b, total)
    bits = total.view(_I64)
    step = np.where((error > 0) == (total > 0), 1, -1)
    adjust = (error != 0) & (bits & 1 == 0) & np.isfinite(total)
    odd: NDArray[np.float64] = np.where(adjust, bits + step, bits).view(_F64)
    return odd


def _sum_error(a: Any, b: Any, total: Any) -> Any:
    """What `total` = a + b lost (Knuth's two-sum)."""
    virtual = total - a
    return (a - (total - virtual)) + (b - virtual)


def fma16(a: NDArray[np.float16], b: NDArray[np.float16], c: NDArray[np.float16]) -> NDArray[np.float16]:
    """a * b + c with one rounding, f16."""
    return odd_sum(a.astype(_F64) * b.astype(_F64), np.broadcast_to(c.astype(_F64), _shape(a, b, c))).astype(np.float16)


def _shape(*arrays: NDArray[Any]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(array.shape for array in arrays))


def fma64(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    """a * b + c with one rounding, f64."""
    fused: NDArray[np.float64] | None = lane_loops.multiply_add(a, b, c)
    return _fma64(a, b, c) if fused is None else fused


def _fma64(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b, c = np.broadcast_arrays(a, b, c)
    product = a * b
    product_error = _product_error(a, b, product)
    low, low_error = _two_sum(c, product_error)
    high, high_error = _two_sum(product, low)
    result = high + odd_sum(high_error, low_error)
    # The error terms are exact while nothing over- or underflows; zeros and specials follow the plain expression.
    plain = product + c
    exact = _in_safe_range(a, b, c)
    finite_factors = np.isfinite(a) & np.isfinite(b)
    plain = np.where(finite_factors & np.isinf(c), c, plain)
    special = ~np.isfinite(plain) & ~(finite_factors & np.isfinite(c))
    zero = (a == 0) | (b == 0)
    result = np.where(special | zero, plain, result)
    slow = np.nonzero(~(exact | special | zero))
    if slow[0].size:
        result[slow] = [_rational(*lane) for lane in zip(a[slow], b[slow], c[slow], strict=True)]
    return result


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    total = a + b
    return total, _sum_error(a, b, total)


def _product_error(a: NDArray[np.float64], b: NDArray[np.float64], product: NDArray[np.float64]) -> Any:
    """a * b - product, by splitting both factors into halves of 26 bits (Dekker)."""
    a_high, b_high = _high_part(a), _high_part(b)
    a_low, b_low = a - a_high, b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _high_part(value: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled = value * _SPLIT
    high: NDArray[np.float64] = scaled - (scaled - value)
    return high


def _in_safe_range(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Exponents (unbiased) of the factors within +-400, of c within +-800 or c zero."""
    exponents = [(value.view(_I64) >> 52 & 0x7FF) - 1023 for value in map(np.ascontiguousarray, (a, b, c))]
    safe: NDArray[np.bool_] = (np.abs(exponents[0]) < 400) & (np.abs(exponents[1]) < 400)
    safe &= (np.abs(exponents[2]) < 800) | (c == 0)
    return safe


def _rational(a: float, b: float, c: float) -> float:
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return 0.0
    try:
        return float(exact)
    except OverflowError:
        return -math.inf if exact < 0 else math.inf
