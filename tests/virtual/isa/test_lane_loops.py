"""The machine code does what a few lines of numpy do, and declines what it is not made for."""

import ctypes
import platform
from pathlib import Path

import numpy as np
import pytest
from support.edge_values import DOUBLES, FLOATS

from hipgraph_cb.virtual.isa.core import lane_loops

WAVES = 5
SHAPES = [(WAVES, 64), (WAVES, 1), (1, 64), (1, 1)]
LIBM = ctypes.CDLL("libm.so.6")
LIBM.fmaf.restype, LIBM.fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3
LIBM.fma.restype, LIBM.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
EDGES = {
    np.float32: np.array(FLOATS, np.uint32).view(np.float32),
    np.float64: np.array(DOUBLES, np.uint64).view(np.float64),
}
FMA = {np.float32: LIBM.fmaf, np.float64: LIBM.fma}

needs_loops = pytest.mark.skipif(lane_loops.LOOPS is None, reason="needs x86-64 with AVX2 and FMA")


def generator() -> np.random.Generator:
    return np.random.default_rng(11)


def test_the_loops_run_where_the_processor_has_the_instructions():
    flags = Path("/proc/cpuinfo").read_text().split("\n\n")[0].split()
    has_instructions = platform.machine() == "x86_64" and {"avx2", "fma"} <= set(flags)
    assert (lane_loops.LOOPS is not None) == has_instructions


@needs_loops
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_multiply_add_rounds_once_as_the_c_library_does(dtype, shape):
    edges = EDGES[dtype]
    a = generator().choice(edges, SHAPES[0])
    b, c = generator().choice(edges[::-1], shape), generator().choice(np.roll(edges, 3), (1, 64))
    result = lane_loops.multiply_add(a, b, c)
    lanes = np.stack([operand.ravel() for operand in np.broadcast_arrays(a, b, c)], axis=1)
    expected = [FMA[dtype](*map(float, lane)) for lane in lanes]
    assert np.array_equal(result, np.array(expected, dtype).reshape(SHAPES[0]), equal_nan=True)
    assert np.array_equal(np.signbit(result)[result == 0], np.signbit(expected)[result.reshape(-1) == 0])


@needs_loops
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_choose_takes_the_one_or_the_other(dtype, shape):
    lanes = generator().random(SHAPES[0]) < 0.5
    chosen, other = generator().integers(0, np.iinfo(dtype).max, (2, *SHAPES[0]), dtype)
    for mask in (lanes, lanes[:1], lanes[:, :1]):
        chosen = chosen[: shape[0], : shape[1]].copy()
        assert np.array_equal(lane_loops.choose(mask, chosen, other), np.where(mask, chosen, other))


@needs_loops
@pytest.mark.parametrize("shape", SHAPES)
def test_unusual_exponents_are_those_out_of_any_of_three_bounds(shape):
    edges = EDGES[np.float32]
    a, b = generator().choice(edges, SHAPES[0]), generator().choice(edges[::-1], shape)
    upper, lower = (np.broadcast_to(x.view(np.uint32) >> 23 & 255, SHAPES[0]).astype(int) for x in (a, b))
    for limits in ([1, 200], [2, 250], [-60, 100]), ([0, 255], [0, 255], [-20, 20]), ([0, 9], [0, 255], [-255, 255]):
        values = upper, lower, upper - lower
        expected = np.logical_or.reduce([(v < low) | (v > high) for v, (low, high) in zip(values, limits, strict=True)])
        assert np.array_equal(lane_loops.unusual_exponents(a, b, np.array(limits, np.int16)), expected)
    everything = np.array([[0, 255], [0, 255], [-255, 255]], np.int16)
    assert lane_loops.unusual_exponents(a, b, everything) is False
    assert lane_loops.unusual_exponents(a.astype(np.float64), b, everything) is None


@needs_loops
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_extent_is_the_lowest_and_highest_of_the_chosen_lanes(dtype):
    indices = generator().integers(3, 2**31, SHAPES[0]).astype(dtype)
    lanes = generator().random(SHAPES[0]) < 0.3
    assert lane_loops.extent(indices, None) == (indices.min(), indices.max())
    assert lane_loops.extent(indices, lanes) == (indices[lanes].min(), indices[lanes].max())
    repeated = np.broadcast_to(indices[:1], lanes.shape)[lanes]
    assert lane_loops.extent(indices[:1], lanes) == (repeated.min(), repeated.max())
    low, high = lane_loops.extent(indices, np.zeros_like(lanes))
    assert low > high


def memory_and_places(dtype: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    memory = generator().integers(0, 256, 1 << 14).astype(np.uint8)
    indices = generator().integers(0, 1 << 10, SHAPES[0]).astype(dtype)
    return memory, indices, np.arange(0, 5 << 8, 1 << 8).reshape(-1, 1)


def word_at(memory: np.ndarray, place: int, size: int) -> int:
    return int.from_bytes(memory[place : place + size].tobytes(), "little")


@needs_loops
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_gather_reads_little_endian_words_at_any_address(dtype, size):
    memory, indices, rows = memory_and_places(dtype)
    lanes = generator().random(SHAPES[0]) < 0.5
    places = 7 + (indices.astype(np.int64) << 2) + rows
    expected = np.array([word_at(memory, place, size) for place in places.flat]).reshape(SHAPES[0])
    assert np.array_equal(lane_loops.gather(memory, 7, indices, 2, size=size, rows=rows), expected)
    chosen = lane_loops.gather(memory, 7, np.where(lanes, indices, dtype(2**31)), 2, size=size, rows=rows, lanes=lanes)
    assert np.array_equal(chosen, np.where(lanes, expected, 0)), "a lane that is not chosen reads nothing, and gives 0"


@needs_loops
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_scatter_writes_lane_by_lane_so_the_highest_wins(dtype, size):
    memory, indices, rows = memory_and_places(dtype)
    indices = indices % 64
    lanes = generator().random(SHAPES[0]) < 0.5
    values = generator().integers(0, 2**32, SHAPES[0], dtype=np.uint32)
    for mask in (None, lanes):
        expected = memory.copy()
        places = 7 + (indices.astype(np.int64) << 2) + rows
        for place, value, is_chosen in zip(places.flat, values.flat, lanes.flat, strict=True):
            if mask is None or is_chosen:
                expected[place : place + size] = np.frombuffer(value.tobytes()[:size], np.uint8)
        assert lane_loops.scatter(memory, 7, indices, values, SHAPES[0], 2, size=size, rows=rows, lanes=mask)
        assert np.array_equal(memory, expected)


@needs_loops
def test_arrays_of_other_kinds_are_declined():
    plain, spaced = np.ones((WAVES, 64), np.float32), np.ones((WAVES, 128), np.float32)[:, ::2]
    assert lane_loops.multiply_add(plain, spaced, plain) is None
    assert lane_loops.multiply_add(*[np.ones(64, np.float32)] * 3) is None
    assert lane_loops.multiply_add(*[np.ones((1, 64), np.float16)] * 3) is None
    bits = np.ones((WAVES, 64), np.bool_)
    assert lane_loops.choose(bits, plain, plain) is None
    assert lane_loops.choose(bits, spaced.view(np.uint32), plain.view(np.uint32)) is None
    memory = np.zeros(64, np.uint8)
    assert lane_loops.gather(memory, 0, np.zeros((1, 64), np.uint64)) is None
    assert not lane_loops.scatter(memory, 0, np.zeros((1, 64), np.uint64), plain.view(np.uint32), (WAVES, 64))
    assert not lane_loops.scatter(memory, 0, np.zeros((1, 64), np.uint32), plain.view(np.uint32), (WAVES, 32))


@needs_loops
def test_a_register_may_be_a_broadcast_or_the_rows_of_another_array():
    whole = generator().standard_normal((8, 64)).astype(np.float32)
    rows, repeated = whole[2:7], np.broadcast_to(whole[:1], SHAPES[0])
    result = lane_loops.multiply_add(rows, repeated, repeated[:, :1])
    expected = (rows.astype(np.float64) * repeated + repeated[:, :1]).astype(np.float32)
    assert np.array_equal(result, expected)


@needs_loops
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_what_leaves_its_bounds_is_declined_whole(dtype):
    memory = np.zeros(4096, np.uint8)
    indices = np.arange(64).astype(dtype).reshape(1, -1)
    values = np.ones((1, 64), np.uint32)
    lanes = np.arange(64).reshape(1, -1) < 60
    for bounds in [(4, 17, 4096), (4, 0, 16 + 63 * 4 + 3), (8, 0, 16 + 63 * 4 + 7)]:
        assert lane_loops.gather(memory, 16, indices, 2, bounds=bounds) is None
        assert not lane_loops.scatter(memory, 16, indices, values, (1, 64), 2, bounds=bounds)
    assert not memory.any()
    assert lane_loops.gather(memory, 16, indices, 2, bounds=(4, 16, 16 + 64 * 4)) is not None
    assert lane_loops.gather(memory, 16, indices, 2, lanes=lanes, bounds=(4, 16, 16 + 60 * 4)) is not None
    assert lane_loops.scatter(memory, 16, indices, values, (1, 64), 2, lanes=lanes, bounds=(4, 16, 16 + 60 * 4))
    no_lane = np.zeros_like(lanes)
    assert not lane_loops.gather(memory, 16, indices, 2, lanes=no_lane, bounds=(4, 0, 0)).any()
