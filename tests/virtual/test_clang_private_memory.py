"""Kernels that clang -O0 made for gfx942 and gfx1100: locals in scratch, calls, generic pointers; against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.virtual_gpu import VirtualGpu

FIXTURES = Path(__file__).parents[1] / "fixtures" / "memory"
SIZES = (1, 63, 65, 700)
F32, I32 = np.float32, np.int32


@pytest.fixture(params=["gfx942", "gfx1100"])
def gpu(request) -> VirtualGpu:
    return VirtualGpu((FIXTURES / f"generic.{request.param}.hsaco").read_bytes())


def rounded_up(n: int, block: int) -> tuple[int]:
    return (-(-n // block) * block,)


@pytest.mark.parametrize("n", SIZES)
def test_unoptimised_saxpy(gpu, n):
    x, y = np.random.default_rng(1).standard_normal((2, n)).astype(F32)
    px, py = gpu.upload(x), gpu.upload(y)
    gpu.launch("saxpy", rounded_up(n, 64), (64,), [py, px, F32(1.5), n])
    assert np.array_equal(gpu.read(py, n, F32), (F32(1.5) * x.astype(np.float64) + y).astype(F32))


def test_private_arrays_of_bytes_shorts_and_ints(gpu):
    n = 65
    x = np.random.default_rng(2).integers(-(2**31), 2**31, n, dtype=I32)
    px, out = gpu.upload(x), gpu.upload(np.zeros(n, I32))
    gpu.launch("sort_private", rounded_up(n, 64), (64,), [out, px, n])
    wide = x.astype(np.int64)[(np.arange(n)[:, None] + np.arange(16)) % n]
    octets = np.sort(wide & 255, axis=1)
    shorts = np.sort((wide >> 3).astype(np.int16).astype(np.int64), axis=1)
    words = np.sort(wide ^ np.arange(16), axis=1)
    result = np.zeros(n, np.int64)
    for k in range(16):
        result = (result * 31 + octets[:, k] + shorts[:, k] * 7 + words[:, k]).astype(I32).astype(np.int64)
    assert np.array_equal(gpu.read(out, n, I32), result)


@pytest.mark.parametrize("n", SIZES)
def test_a_pointer_may_mean_lds_private_or_device_memory_in_each_lane(gpu, n):
    n = -(-n // 256) * 256
    data = np.random.default_rng(3).integers(-(2**31), 2**31, n, dtype=I32)
    pdata, out = gpu.upload(data), gpu.upload(np.zeros(2 * n, I32))
    gpu.launch("three_kinds", (n,), (256,), [out, pdata, n])
    i = np.arange(n)
    before = np.choose(i % 3, [i % 256 * 10, i * 100 + 2, data])
    after = ((before + 1) & 0xFFFF | (i % 100) << 16).astype(I32)
    expected = np.stack([before, after.astype(np.int64) + (after & 255)], axis=1).astype(I32)
    assert np.array_equal(gpu.read(out, 2 * n, I32).reshape(n, 2), expected)
    changed = np.where(i % 3 == 2, after, data)
    assert np.array_equal(gpu.read(pdata, n, I32), changed)


@pytest.mark.parametrize("use_lds", [0, 1])
def test_an_atomic_through_a_generic_pointer(gpu, use_lds):
    data, out = gpu.upload(np.array([5], I32)), gpu.upload(np.zeros(256, I32))
    gpu.launch("generic_add", (256,), (256,), [out, data, use_lds])
    start = 0 if use_lds else 5
    found = np.sort(gpu.read(out, 256, I32))
    assert np.array_equal(found, start + np.cumsum(np.concatenate(([0], np.arange(255)))))
    assert gpu.read(data, 1, I32)[0] == (5 if use_lds else 5 + 255 * 128)
