"""Numbers in the elements of a formatted buffer: widths of components, and conversions from and to registers.

The names of AMD's data formats list the widths from the upper bits down, as in 2_10_10_10; here the lowest comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
_U32 = np.uint32

# data format -> bits of each component
WIDTHS: dict[int, tuple[int, ...]] = {
    1: (8,),
    2: (16,),
    3: (8, 8),
    4: (32,),
    5: (16, 16),
    6: (11, 11, 10),
    7: (10, 11, 11),
    8: (2, 10, 10, 10),
    9: (10, 10, 10, 2),
    10: (8,) * 4,
    11: (32, 32),
    12: (16,) * 4,
    13: (32,) * 3,
    14: (32,) * 4,
}
UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 0, 1, 2, 3, 4, 5, 7
INTEGERS = (UINT, SINT)
KINDS = (UNORM, SNORM, USCALED, SSCALED, *INTEGERS, FLOAT)


def is_known(data_format: int, kind: int) -> bool:
    """Whether there is such a format; floats have 10, 11, 16 or 32 bits."""
    widths = WIDTHS.get(data_format, ())
    return bool(widths) and kind in KINDS and (kind != FLOAT or min(widths) >= 10)


def size_of(data_format: int) -> int:
    """Bytes of an element."""
    return sum(WIDTHS[data_format]) // 8


def unpack(words: list[Words], data_format: int) -> list[Words]:
    """The raw components of elements that are given as consecutive words."""
    components, start = [], 0
    for bits in WIDTHS[data_format]:
        word, shift = words[start // 32], _U32(start % 32)
        components.append(word >> shift & _U32((1 << bits) - 1))
        start += bits
    return components


def pack(components: list[Words], data_format: int) -> list[Words]:
    """The inverse of `unpack`."""
    words = [np.zeros_like(components[0]) for _ in range(-(-size_of(data_format) // 4))]
    start = 0
    for raw, bits in zip(components, WIDTHS[data_format], strict=True):
        words[start // 32] = words[start // 32] | (raw & _U32((1 << bits) - 1)) << _U32(start % 32)
        start += bits
    return words


def _signed(raw: Words, bits: int) -> Any:
    shift = 32 - bits
    return (raw << _U32(shift)).view(np.int32) >> np.int32(shift)


def _float_bits(raw: Words, bits: int) -> Words:
    """A float of 10, 11, 16 or 32 bits as f32; the short ones have no sign and an exponent of five bits, as f16."""
    if bits == 32:
        return raw
    half = raw.astype(np.uint16) if bits == 16 else (raw << _U32(15 - bits)).astype(np.uint16)
    return half.view(np.float16).astype(np.float32).view(_U32)


def to_register(raw: Words, bits: int, kind: int) -> Words:
    """A raw component as the 32 bits that a load leaves: an f32, or an integer for UINT and SINT."""
    if kind == UINT:
        return raw
    if kind == SINT:
        extended: Words = _signed(raw, bits).view(_U32)
        return extended
    if kind == FLOAT:
        return _float_bits(raw, bits)
    value: NDArray[Any] = (_signed(raw, bits) if kind in (SNORM, SSCALED) else raw).astype(np.float64)
    if kind == UNORM:
        value = value / ((1 << bits) - 1)
    elif kind == SNORM:
        value = np.maximum(value / ((1 << bits - 1) - 1), -1.0)
    word: Words = value.astype(np.float32).view(_U32)
    return word


def _limits(bits: int, kind: int) -> tuple[int, int]:
    if kind in (SNORM, SSCALED):
        return -(1 << bits - 1) + (kind == SNORM), (1 << bits - 1) - 1
    return 0, (1 << bits) - 1


def from_register(word: Words, bits: int, kind: int) -> Words:
    """The inverse: to nearest even and clipped for normalised numbers, towards zero and clipped for scaled ones."""
    if kind in INTEGERS:
        return word
    value = np.ascontiguousarray(word).view(np.float32)
    if kind == FLOAT:
        return _short_float(value, bits)
    low, high = _limits(bits, kind)
    wide = np.where(np.isnan(value), 0.0, value.astype(np.float64))
    scaled = np.rint(wide * high) if kind in (UNORM, SNORM) else np.trunc(wide)
    return np.clip(scaled, low, high).astype(np.int64).astype(_U32)


def _short_float(value: NDArray[np.float32], bits: int) -> Words:
    if bits == 32:
        return value.view(_U32)
    if bits == 16:
        return value.astype(np.float16).view(np.uint16).astype(_U32)
    positive = np.where(value > 0, value, np.float32(0)) if not np.isnan(value).any() else np.fmax(value, np.float32(0))
    half = positive.astype(np.float32).view(_U32) & _U32(0xFFFFE000 << (15 - bits) & 0xFFFFFFFF)  # towards zero
    shortened: Words = half.view(np.float32).astype(np.float16).view(np.uint16).astype(_U32) >> _U32(15 - bits)
    return shortened
