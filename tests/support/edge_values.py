"""Operand values at the edges of every type, and chunks of waves that hold them."""

from __future__ import annotations

import itertools

import numpy as np
from support.lanes import make_state

from hipgraph_cb.virtual.isa.core.state import State
from hipgraph_cb.virtual.memory import Memory

INTEGERS = (0, 1, 2, 31, 32, 33, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 0x12345678)
# 0, -0, 1, -1.5, smallest and largest denormal, smallest normal, largest, inf, -inf, quiet and signalling NaN
FLOATS = (
    0,
    0x80000000,
    0x3F800000,
    0xBFC00000,
    0x00000001,
    0x807FFFFF,
    0x00800000,
    0x7F7FFFFF,
    0xFF7FFFFF,
    0x7F800000,
    0xFF800000,
    0x7FC00001,
    0x7F800001,
    0x40490FDB,
    0x4B000001,
)
DOUBLES = (
    0,
    1 << 63,
    0x3FF0000000000000,
    0xBFF8000000000000,
    1,
    0x800FFFFFFFFFFFFF,
    0x0010000000000000,
    0x7FEFFFFFFFFFFFFF,
    0x7FF0000000000000,
    0xFFF0000000000000,
    0x7FF8000000000001,
    0x7FF0000000000001,
    0x400921FB54442D18,
    0x41DFFFFFFFE00000,
)
HALVES = (0, 0x8000, 0x3C00, 0xBE00, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x7E01, 0x7C01, 0x4248, 0xFBFF)
LONGS = (
    0,
    1,
    63,
    64,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 32,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
    0x123456789ABCDEF0,
)


def combinations(values: tuple[int, ...], count: int, dtype: type = np.uint32, limit: int = 1024) -> list[np.ndarray]:
    """`count` arrays [waves, 64] that hold all combinations of `values`, or a seeded sample of `limit` of them."""
    rows = np.array(list(itertools.product(range(len(values)), repeat=count)))
    random = np.random.default_rng(len(values) * 10 + count)
    if len(rows) > limit:
        rows = rows[random.choice(len(rows), limit, replace=False)]
    padded = -(-len(rows) // 64) * 64
    rows = rows[np.arange(padded) % len(rows)]
    table = np.array(values, dtype)
    return [table[rows[:, column]].reshape(-1, 64) for column in range(count)]


def state_with(*registers: tuple[int, np.ndarray]) -> State:
    """Waves whose vector registers hold the given arrays (uint32, or uint64 for a pair)."""
    waves = len(registers[0][1])
    state = make_state(Memory(1 << 16), groups=waves)
    for register, value in registers:
        if value.dtype == np.uint64:
            state.write_vgpr64(register, value)
        else:
            state.write_vgpr(register, value.astype(np.uint32))
    return state


def signed(value: int, width: int = 32) -> int:
    """The two's complement reading of the low `width` bits."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value
