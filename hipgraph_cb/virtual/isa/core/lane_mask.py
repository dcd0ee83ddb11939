"""One bit a lane of every wave, kept as booleans until the number is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core import lane_loops

_ALL = np.ones((1, 1), np.bool_)
_NONE = np.zeros((1, 1), np.bool_)
_ONE = np.uint8(1)


class LaneMask:
    """`bits`: bool, broadcasts to [waves, lanes]; never changed after construction."""

    __slots__ = ("_any", "_words", "bits")

    def __init__(self, bits: NDArray[np.bool_]) -> None:
        self.bits = bits
        self._words: NDArray[Any] | None = None
        self._any: bool | NDArray[np.bool_] | None = None

    def words(self, shape: tuple[int, int]) -> NDArray[Any]:
        """The mask of `shape` waves and lanes as numbers [waves, 1] with a bit for each lane; bit n is lane n."""
        if self._words is None:
            full = np.broadcast_to(self.bits, shape)
            self._words = np.ascontiguousarray(np.packbits(full, axis=1, bitorder="little")).view(f"u{shape[1] // 8}")
        return self._words

    def any(self) -> bool | NDArray[np.bool_]:
        """Whether a wave has a bit set: one bool when that is the same for all waves, else [waves, 1]."""
        if self._any is None:
            bits = self.bits
            if not any_set(bits):
                self._any = False
            elif len(bits) == 1:
                self._any = True
            else:
                found = _any_of_row(np.ascontiguousarray(bits))
                self._any = all_set(found) or found
        return self._any


def _any_of_row(bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """`bits.any(axis=1)` as [rows, 1], eight booleans at a time and then half as many columns several times."""
    if bits.shape[1] % 32:
        return np.asarray(bits.any(axis=1, keepdims=True))
    eights = bits.view(np.uint64)
    while eights.shape[1] > 1:
        half = eights.shape[1] // 2
        eights = eights[:, :half] | eights[:, half:]
    found: NDArray[np.bool_] = eights != 0
    return found


def combined(
    function: Callable[[Any, Any], Any], first: NDArray[np.bool_], second: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """A bitwise function of two masks. On booleans numpy takes twenty times as long where one of them is constant."""
    bits: NDArray[np.bool_] = (function(first.view(np.uint8), second.view(np.uint8)) & _ONE).view(np.bool_)
    return bits


def both(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The lanes of both masks, an array in C order; see `combined`."""
    return np.bitwise_and(first.view(np.uint8), second.view(np.uint8), order="C").view(np.bool_)


def either(condition: NDArray[np.bool_], first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """`first` where the condition holds, else `second`; see `combined`."""
    one, other = first.view(np.uint8), second.view(np.uint8)
    bits: NDArray[np.bool_] = (other ^ (other ^ one) & condition.view(np.uint8)).view(np.bool_)
    return bits


def any_set(bits: NDArray[np.bool_]) -> bool:
    """Whether some bit is set. Several times faster than `bits.any()`, and done at the first that is."""
    return bool(bits.item(bits.argmax()))


def all_set(bits: NDArray[np.bool_]) -> bool:
    """Whether all bits are set; see `any_set`."""
    return bool(bits.item(bits.argmin()))


def bits_of_number(value: int | NDArray[Any] | LaneMask, lanes: int) -> NDArray[np.bool_]:
    """The bits of a mask or of a number that has one for each lane: int, or an unsigned array [waves, 1].

    Returns:
        Bool, broadcasts to [waves, lanes].
    """
    if isinstance(value, LaneMask):
        return value.bits
    if isinstance(value, int):
        if value == (1 << lanes) - 1:
            return _ALL
        if value == 0:
            return _NONE
        value = np.array([[value]], np.uint64)
    octets = np.ascontiguousarray(value, f"u{lanes // 8}").view(np.uint8).reshape(-1, lanes // 8)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)


def all_ones(bits: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """0xFFFFFFFF where a bit is set, else 0: choosing with it is several times faster than `numpy.where`."""
    words: NDArray[np.uint32] = np.negative(bits.view(np.int8), dtype=np.int32).view(np.uint32)
    return words


def choose(bits: NDArray[np.bool_], chosen: NDArray[np.uint32], other: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """`chosen` where a bit is set, else `other`."""
    result: NDArray[np.uint32] | None = lane_loops.choose(bits, chosen, other)
    return other ^ (other ^ chosen) & all_ones(bits) if result is None else result
