"""Waves of 32 lanes: a lane mask is in one scalar register, not in a pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.isa.core.lane_mask import LaneMask, bits_of_number, either
from hipgraph_cb.virtual.isa.core.state import (
    EXEC,
    MASK32,
    Bits,
    MaskOrNumber,
    Number64,
    Scalar32,
    Scalar64,
    State,
    uniform,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.virtual.isa.execution.placement import Placement
    from hipgraph_cb.virtual.memory import Memory


class NarrowState(State):
    """The registers of waves of 32 lanes. The upper half of EXEC reads as zero and cannot be written."""

    def read_pair(self, register: int) -> Number64:
        low, high = self.read_sgpr(register), self.read_sgpr(register + 1)
        if isinstance(low, int) and isinstance(high, int):
            return low | high << 32
        number: NDArray[np.uint64] = np.asarray(low, np.uint64) | np.asarray(high, np.uint64) << np.uint64(32)
        return number

    def read_mask_or_number(self, register: int) -> MaskOrNumber:
        if register == EXEC:
            return MASK32 if self._exec is None else LaneMask(self._exec)
        return self._sgpr[register] if register < EXEC else 0

    def write_mask_or_number(self, register: int, value: Any) -> None:
        if isinstance(value, LaneMask):
            self.write_mask(register, value.bits)
        else:
            self.write_sgpr(register, value if isinstance(value, int) else value.astype(np.uint32, copy=False))

    def read_mask(self, register: int) -> Bits:
        return bits_of_number(self.read_mask_or_number(register), self.lanes)

    def write_mask(self, register: int, bits: Bits) -> None:
        if register >= EXEC:
            if register == EXEC:
                self.write_exec(bits)
            return
        if self._group is not None:
            bits = either(self._group, bits, self.read_mask(register))
        self._sgpr[register] = LaneMask(bits)

    def write_sgpr64(self, register: int, value: Scalar64) -> None:
        number: Any = uniform(value.words(self.shape).astype(np.uint64)) if isinstance(value, LaneMask) else value
        if isinstance(number, int):
            self.write_sgprs(register, [number & MASK32, number >> 32])
        else:
            self.write_sgpr(register, number.astype(np.uint32))
            self.write_sgpr(register + 1, (number >> np.uint64(32)).astype(np.uint32))

    def _mask_half(self, mask: LaneMask, register: int) -> Scalar32:
        if register > EXEC:
            return 0
        word: Scalar32 = uniform(mask.words(self.shape))
        return word

    def _write_exec_half(self, register: int, value: Scalar32) -> None:
        if register == EXEC:
            self.write_exec(bits_of_number(value, self.lanes))


def state_of(memory: Memory, placement: Placement, **sizes: int) -> State:
    """The registers of the waves of a chunk; `sizes` as `State` takes them."""
    return (NarrowState if placement.lanes == 32 else State)(memory, placement, **sizes)
