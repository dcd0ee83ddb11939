"""Every atomic gives what a loop over the lanes gives, whether cells are shared by none, few or all."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from hipgraph_cb.virtual.isa.memory.atomic_operations import (
    BRAIN_HALVES,
    FLOAT32,
    FLOAT64,
    HALVES,
    INTEGER32,
    INTEGER64,
    perform,
)


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def integer_rules(bits: int) -> dict:
    """The rules of the CDNA3 ISA document, on Python integers; the mask keeps the width."""
    return {
        "add": lambda old, value: old + value,
        "sub": lambda old, value: old - value,
        "rsub": lambda old, value: value - old,
        "and": lambda old, value: old & value,
        "or": lambda old, value: old | value,
        "xor": lambda old, value: old ^ value,
        "umin": min,
        "umax": max,
        "smin": lambda old, value: min(old, value, key=lambda number: signed(number, bits)),
        "smax": lambda old, value: max(old, value, key=lambda number: signed(number, bits)),
        "inc": lambda old, limit: 0 if old >= limit else old + 1,
        "dec": lambda old, limit: limit if old == 0 or old > limit else old - 1,
        "swap": lambda old, value: value,
        "cmpswap": lambda old, value, compare: value if old == compare else old,
        "mskor": lambda old, mask, value: old & ~mask | value,
        "wrap": lambda old, limit, value: old - limit if old >= limit else old + value,
    }


CASES = [(name, bits) for bits in (32, 64) for name in integer_rules(bits)]
# lanes, cells they choose from: no cell shared, some, all of them the same
CROWDS = [(64, 100_000), (500, 40), (500, 3), (300, 1)]


@pytest.mark.parametrize(("lanes", "places"), CROWDS)
@pytest.mark.parametrize(("name", "bits"), CASES)
def test_integer_atomics_are_a_serial_loop_over_the_lanes(name, bits, lanes, places):
    rng = np.random.default_rng(lanes + places)
    operation = (INTEGER32 if bits == 32 else INTEGER64)[name]
    dtype = np.uint32 if bits == 32 else np.uint64
    cells = rng.integers(0, 8, places).astype(dtype)
    cells[: places // 2] = rng.integers(0, 1 << bits, places // 2, dtype=dtype)
    index = rng.integers(0, places, lanes)
    # small numbers, so that comparisons hit, and a few large ones
    operands = [rng.integers(0, 8, lanes).astype(dtype) for _ in range(operation.operands)]
    operands[0][::7] = rng.integers(0, 1 << bits, len(operands[0][::7]), dtype=dtype)
    rule, expected, found = integer_rules(bits)[name], cells.tolist(), []
    for lane in range(lanes):
        cell = int(index[lane])
        found.append(expected[cell])
        given = [int(operand[lane]) for operand in operands]
        expected[cell] = rule(expected[cell], *given) & ((1 << bits) - 1)
    for need_old in (True, False):
        memory = cells.copy()
        old = perform(memory.view(np.uint8), index * (bits // 8), operands, operation, need_old)
        assert memory.tolist() == expected
        assert (old is None) or old.tolist() == found
        assert (old is not None) == need_old


@pytest.mark.parametrize(("lanes", "places"), CROWDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_additions_round_after_every_lane(dtype, lanes, places):
    rng = np.random.default_rng(5)
    cells, index = rng.standard_normal(places).astype(dtype), rng.integers(0, places, lanes)
    values = (rng.standard_normal(lanes) * 10.0 ** rng.integers(-6, 6, lanes)).astype(dtype)
    expected, found = cells.copy(), []
    for lane, cell in enumerate(index):
        found.append(expected[cell])
        expected[cell] = dtype(expected[cell] + values[lane])
    size = np.dtype(dtype).itemsize
    operation = (FLOAT32 if size == 4 else FLOAT64)["add"]
    old = perform(cells.view(np.uint8), index * size, [values.view(f"u{size}")], operation, True)
    assert np.array_equal(cells, expected)
    assert np.array_equal(old.view(dtype), np.array(found))


@pytest.mark.parametrize("name", ["min", "max"])
def test_float_minimum_keeps_the_old_value_when_unordered(name):
    numbers = np.array([1.0, np.nan, -0.0, np.inf, -5.0, np.nan, 0.0], np.float32)
    for start in numbers:
        cells = np.array([start], np.float32)
        expected = start
        for value in numbers:
            better = value < expected if name == "min" else value > expected
            expected = value if better else expected
        index = np.zeros(len(numbers), np.int64)
        perform(cells.view(np.uint8), index, [numbers.view(np.uint32)], FLOAT32[name], False)
        assert cells.view(np.uint32)[0] == np.float32(expected).view(np.uint32)


def test_packed_halves_are_added_apart():
    cells = np.array([[1.5, 65504.0], [0.25, -2.0]], np.float16)
    values = np.array([[0.1, 65504.0], [np.inf, 2.0], [0.2, 1.0]], np.float16)
    index = np.array([0, 1, 0])
    expected = cells.copy()
    with np.errstate(over="ignore"):
        for lane, cell in enumerate(index):
            expected[cell] = expected[cell] + values[lane]
        perform(cells.view(np.uint8).reshape(-1), index * 4, [values.view(np.uint32).reshape(-1)], HALVES, True)
    assert np.array_equal(cells, expected)


def bfloat(value: float) -> int:
    """The nearest bfloat16, ties to even, by comparing both neighbours."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    low, rest = bits >> 16, bits & 0xFFFF
    return low + (rest > 0x8000 or (rest == 0x8000 and low & 1))


def test_packed_bfloats_are_rounded_to_nearest_even():
    cells = np.array([bfloat(1.0) << 16 | bfloat(3.0)], np.uint32)
    values = np.array([bfloat(1 / 256) << 16 | bfloat(0.0117), bfloat(2.0) << 16 | bfloat(-7.0)], np.uint32)
    upper, lower = 1.0, 3.0

    def narrow(bits: int) -> float:
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]

    for value in values.tolist():
        upper = narrow(bfloat(upper + narrow(value >> 16)))
        lower = narrow(bfloat(lower + narrow(value & 0xFFFF)))
    perform(cells.view(np.uint8), np.zeros(2, np.int64), [values], BRAIN_HALVES, False)
    assert cells[0] == bfloat(upper) << 16 | bfloat(lower)
