"""Arithmetic rounded up, down or towards zero, as the MODE register may say; numpy only rounds to nearest.

f16 and f32: the exact value, or an f64 rounded to odd in its place, is narrowed to nearest and put right by a
neighbour (see `exact.odd_sum` for why that is sound). f64: each lane is compared with exact rational arithmetic, which
is slow and rarely used.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.exact import fma64, odd_sum

UP, DOWN, ZERO = 1, 2, 3
Float = Any  # an array of the operand's type
Function = Callable[..., Float]
_F64 = np.float64
_MOST_POWER = 2200  # more than any double needs to become zero or infinite


def narrowed(wide: NDArray[np.float64], dtype: type[np.floating[Any]], mode: int) -> Float:
    """`wide` in a narrower type, rounded as `mode` says."""
    nearest = wide.astype(dtype)
    back = nearest.astype(_F64)
    if mode == UP:
        wrong, aim = back < wide, np.inf
    elif mode == DOWN:
        wrong, aim = back > wide, -np.inf
    else:
        wrong, aim = np.abs(back) > np.abs(wide), 0.0
    return np.where(wrong, np.nextafter(nearest, dtype(aim)), nearest)


def directed(name: str, kind: str, mode: int) -> Function:
    """An operation (a key of `_WIDE`, "mad" or "multiply_legacy") with a result of `kind`, rounded as `mode` says."""
    if name == "mad":
        multiply, add = directed("multiply", kind, mode), directed("add", kind, mode)
        return lambda a, b, c: add(multiply(a, b), c)
    if name == "multiply_legacy":
        multiply = directed("multiply", kind, mode)
        return lambda a, b: np.where((a == 0) | (b == 0), a.dtype.type(0), multiply(a, b))
    if kind == "f64":
        return _directed64(name, mode)
    dtype = {"f16": np.float16, "f32": np.float32}[kind]
    wide = _WIDE[name]
    return lambda *operands: narrowed(_settled(wide(*operands), mode), dtype, mode)


def _settled(parts: tuple[Any, Any], mode: int) -> NDArray[np.float64]:
    """The sum of two f64 (the second may be None), rounded to odd; an exact zero gets the sign that `mode` gives it."""
    first, second = parts
    if second is None:
        return np.asarray(first, _F64)
    first, second = np.broadcast_arrays(first, second)
    total = odd_sum(first, second)
    if mode == DOWN:
        total = np.where((total == 0) & (np.signbit(first) | np.signbit(second)), -0.0, total)
    return total


def _wide(value: Float) -> Any:
    return value.astype(_F64)


# operation -> two terms in f64, each of them exact
_WIDE: dict[str, Callable[..., tuple[Any, Any]]] = {
    "add": lambda a, b: (_wide(a), _wide(b)),
    "subtract": lambda a, b: (_wide(a), -_wide(b)),
    "subtract_reversed": lambda a, b: (_wide(b), -_wide(a)),
    "multiply": lambda a, b: (_wide(a) * _wide(b), None),
    "fma": lambda a, b, c: (_wide(a) * _wide(b), _wide(c)),
    "scale": lambda a, power: (np.ldexp(_wide(a), np.clip(power.astype(np.int32), -400, 400)), None),
    "convert": lambda a: (_wide(a), None),
}
# operation -> to nearest, and the terms of its exact value
_DOUBLE: dict[str, tuple[Function, Callable[..., tuple[Fraction, ...]]]] = {
    "add": (np.add, lambda a, b: (Fraction(a), Fraction(b))),
    "multiply": (np.multiply, lambda a, b: (Fraction(a) * Fraction(b),)),
    "fma": (fma64, lambda a, b, c: (Fraction(a) * Fraction(b), Fraction(c))),
    "scale": (
        lambda a, power: np.ldexp(a, np.clip(power.astype(np.int32), -_MOST_POWER, _MOST_POWER)),
        lambda a, power: (Fraction(a) * Fraction(2) ** max(-_MOST_POWER, min(_MOST_POWER, int(power))),),
    ),
}


def _directed64(name: str, mode: int) -> Function:
    nearest_of, terms_of = _DOUBLE[name]

    def apply(*operands: Any) -> Float:
        operands = tuple(np.broadcast_arrays(*operands))
        result = np.array(nearest_of(*operands), _F64)
        finite = np.logical_and.reduce([np.isfinite(operand) for operand in operands])
        zero = np.zeros(result.shape, np.bool_)
        for place in zip(*np.nonzero(finite), strict=True):
            exact = sum(terms_of(*(operand[place].item() for operand in operands)), Fraction(0))
            zero[place] = exact == 0
            result[place] = corrected(result[place], exact, mode)
        return np.where(zero & _has_negative_term(name, operands), -0.0, result) if mode == DOWN else result

    return apply


def corrected(nearest: float, exact: Fraction, mode: int) -> float:
    """`nearest` or its neighbour, on the side of `exact` that `mode` needs."""
    if np.isinf(nearest):
        above, below = nearest > 0, nearest < 0
    else:
        above, below = Fraction(float(nearest)) > exact, Fraction(float(nearest)) < exact
    if mode == UP and below:
        return float(np.nextafter(nearest, np.inf))
    if mode == DOWN and above:
        return float(np.nextafter(nearest, -np.inf))
    if mode == ZERO and (above if exact > 0 else below):
        return float(np.nextafter(nearest, 0.0))
    return float(nearest)


def _has_negative_term(name: str, operands: tuple[Any, ...]) -> Any:
    """Where a sum has a term below zero or -0: it is -0 when it is exactly zero and rounded down."""
    negative = [np.signbit(operand) for operand in operands]
    if name == "fma":
        return negative[0] ^ negative[1] | negative[2]
    if name == "add":
        return negative[0] | negative[1]
    return False
