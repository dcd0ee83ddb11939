"""Element types of matrices that numpy has no type for: drawn, and read as double precision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Element(NamedTuple):
    """How elements are stored; `rounding` is the largest relative error of a rounded one, `tiny` the largest below."""

    storage: type
    rounding: float
    tiny: float = 0.0
    largest: float = np.inf


ELEMENTS = {
    "S": Element(np.float32, 2.0**-24),
    "D": Element(np.float64, 2.0**-53),
    "C": Element(np.complex64, 2.0**-23),
    "Z": Element(np.complex128, 2.0**-52),
    "H": Element(np.float16, 2.0**-11, 2.0**-25),
    "B": Element(np.uint16, 2.0**-8),
    "F8": Element(np.uint8, 2.0**-4, 2.0**-11, 240.0),
    "B8": Element(np.uint8, 2.0**-3, 2.0**-18, 57344.0),
    "I8": Element(np.int8, 0.0),
    "I": Element(np.int32, 0.0),
}


def _eight_bits(fraction_bits: int) -> NDArray[np.float64]:
    """The values of the FNUZ encodings, by code; code 0x80 is the only NaN, and the bias is half the exponents."""
    codes = np.arange(256)
    exponent, fraction = (codes & 0x7F) >> fraction_bits, (codes & ((1 << fraction_bits) - 1)) / 2**fraction_bits
    bias = 1 << (6 - fraction_bits)
    magnitude = np.where(exponent, 1 + fraction, 2 * fraction) * 2.0 ** (exponent - bias)
    values = np.where(codes & 0x80, -magnitude, magnitude)
    values[0x80] = np.nan
    return values


_EIGHT_BITS = {"F8": _eight_bits(3), "B8": _eight_bits(2)}


def values_of(kind: str, stored: NDArray[np.generic]) -> NDArray[np.generic]:
    """In double precision, which holds every value of every type."""
    if kind in _EIGHT_BITS:
        return _EIGHT_BITS[kind][stored]
    if kind == "B":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.complex128 if kind in "CZ" else np.float64)


def draw(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.generic]:
    """Stored elements of the size of 1, integers of any size."""
    if kind in _EIGHT_BITS:
        usable = np.flatnonzero(np.abs(np.nan_to_num(_EIGHT_BITS[kind], nan=np.inf)) <= 2)
        return rng.choice(usable.astype(np.uint8), shape)
    if kind in ("I", "I8"):
        bound = {"I": 1000, "I8": 128}[kind]
        return rng.integers(-bound, bound, shape, ELEMENTS[kind].storage)
    values = rng.standard_normal(shape)
    if kind == "B":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind in ("C", "Z"):
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(ELEMENTS[kind].storage)
