"""Packed and mixed arithmetic obeys the denormal modes of its operands' width."""

from __future__ import annotations

import numpy as np
import pytest
from support.edge_values import state_with
from support.lanes import lanes_of, run_code

from hipgraph_cb.virtual.isa.core.float_mode import FloatMode

TINY16, TINY32 = np.float16(2.0**-24), np.float32(2.0**-149)


def flushed(value: np.ndarray) -> np.ndarray:
    small = np.abs(value) < np.finfo(value.dtype).tiny
    return np.where(small, np.copysign(value.dtype.type(0), value), value)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_packed_halves(mode):
    a = np.resize(np.array([TINY16, -TINY16, 1, 2.0**-14], np.float16), (1, 64, 2))
    b = np.resize(np.array([TINY16, 2.0**-15, -1, 0.5, 0], np.float16), (1, 64, 2))
    state = state_with((0, a.view(np.uint32)[..., 0].copy()), (2, b.view(np.uint32)[..., 0].copy()))
    run_code(state, "08408fd300050218", FloatMode(denormals_f16_f64=mode))  # v_pk_add_f16 v8, v0, v2
    x, y = (a, b) if mode & 1 else (flushed(a), flushed(b))
    total = x + y if mode & 2 else flushed(x + y)
    assert np.array_equal(lanes_of(state, 8), total.view(np.uint32)[..., 0])


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_packed_singles_and_mixed_sums(mode):
    a = np.resize(np.array([TINY32, 2.0**-140, 2.0**-126, -(2.0**-126)], np.float32), (1, 64))
    b = np.resize(np.array([1, 0.5, 2.0**-126, -2, 8], np.float32), (1, 64))
    pairs = [np.stack([value, value[:, ::-1]], -1).view(np.uint64)[..., 0].copy() for value in (a, b)]
    float_mode = FloatMode(denormals_f32=mode)
    state = state_with((0, pairs[0]), (2, pairs[1]))
    run_code(state, "0840b1d300050218", float_mode)  # v_pk_mul_f32 v[8:9], v[0:1], v[2:3]
    x, y = (a, b) if mode & 1 else (flushed(a), flushed(b))
    product = x * y if mode & 2 else flushed(x * y)
    assert np.array_equal(lanes_of(state, 8).view(np.float32), product)
    assert np.array_equal(np.signbit(lanes_of(state, 8).view(np.float32)), np.signbit(product))
    assert np.array_equal(lanes_of(state, 9).view(np.float32), product[:, ::-1])
    state = state_with((0, a.view(np.uint32)), (2, b.view(np.uint32)), (4, np.zeros((1, 64), np.uint32)))
    run_code(state, "0800a0d300051204", float_mode)  # v_fma_mix_f32 v8, v0, v2, v4
    assert np.array_equal(lanes_of(state, 8).view(np.float32), product)
