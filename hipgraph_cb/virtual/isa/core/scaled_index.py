"""A 64-bit address that is known to be base + (index << shift), kept in these parts until the number is read.

Nearly every access of a compiled kernel is to `array[i]` with a 32-bit `i`. Keeping the parts saves the 64-bit
arithmetic, and the access can be checked and made with the index alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ScaledIndex:
    """base + (index << shift) modulo 2**64. `base`: int, equal in all lanes; `index`: uint32, any register shape."""

    __slots__ = ("base", "index", "shift")

    def __init__(self, base: int, index: NDArray[np.uint32], shift: int) -> None:
        self.base = base
        self.index = index
        self.shift = shift

    def number(self) -> NDArray[np.uint64]:
        """The value as uint64."""
        wide = self.index.astype(np.uint64)
        if self.shift:
            wide <<= np.uint64(self.shift)
        if self.base:
            wide += np.uint64(self.base)
        return wide

    def shifted(self, amount: int) -> ScaledIndex:
        """The same times 2**amount, modulo 2**64; `amount` is 0, or the value's own shift is."""
        return ScaledIndex(self.base << amount & 0xFFFFFFFFFFFFFFFF, self.index, self.shift + amount)

    def moved(self, distance: int) -> ScaledIndex:
        """The same plus `distance`, modulo 2**64."""
        return ScaledIndex((self.base + distance) & 0xFFFFFFFFFFFFFFFF, self.index, self.shift)
