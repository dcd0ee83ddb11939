"""A wave's MODE register: the floating-point part, and the bits that change what vector instructions are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from hipgraph_cb.cached import cached_property

NEAREST_EVEN = 0
INDEXES_REGISTERS = 1 << 27  # GPR_IDX_EN
SKIPS_VECTORS = 1 << 28  # VSKIP
MODE_BITS = 0x3FF | 1 << 23 | INDEXES_REGISTERS | SKIPS_VECTORS  # of the MODE register: what instructions depend on


@dataclass(frozen=True)
class FloatMode:
    """Rounding (0 = nearest even, 1 = up, 2 = down, 3 = to zero), denormals, and what NaN does to clamp and min/max.

    `denormals_*`: bit 0 keeps denormal inputs, bit 1 keeps denormal results (CDNA3 ISA, MODE register).
    `fp16_overflow`: a result too large for f16 or an 8-bit float becomes the largest number.
    """

    round_f32: int = NEAREST_EVEN
    round_f16_f64: int = NEAREST_EVEN
    denormals_f32: int = 3
    denormals_f16_f64: int = 3
    dx10_clamp: bool = True
    ieee: bool = True
    fp16_overflow: bool = False

    @classmethod
    @lru_cache(maxsize=64)
    def from_rsrc1(cls, rsrc1: int, *, always_clamps_nan: bool = False) -> FloatMode:
        """The mode a wave starts with, from COMPUTE_PGM_RSRC1 of the kernel descriptor.

        Where clamp always makes NaN zero, two bits there have other meanings.
        """
        if always_clamps_nan:
            rsrc1 |= 1 << 21 | 1 << 23
        mode = cls.from_register(rsrc1 >> 12 & 0xFF)
        flags = {"dx10_clamp": 21, "ieee": 23, "fp16_overflow": 26}
        return replace(mode, **{name: bool(rsrc1 >> bit & 1) for name, bit in flags.items()})

    @classmethod
    def from_register(cls, value: int) -> FloatMode:
        """The floating-point part of the MODE hardware register."""
        return cls(
            round_f32=value & 3,
            round_f16_f64=value >> 2 & 3,
            denormals_f32=value >> 4 & 3,
            denormals_f16_f64=value >> 6 & 3,
            dx10_clamp=bool(value >> 8 & 1),
            ieee=bool(value >> 9 & 1),
            fp16_overflow=bool(value >> 23 & 1),
        )

    @cached_property
    def register(self) -> int:
        """The MODE hardware register with this part, and no other bit set."""
        return (
            self.round_f32
            | self.round_f16_f64 << 2
            | self.denormals_f32 << 4
            | self.denormals_f16_f64 << 6
            | int(self.dx10_clamp) << 8
            | int(self.ieee) << 9
            | int(self.fp16_overflow) << 23
        )
