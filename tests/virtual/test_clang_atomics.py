"""Kernels of clang -O2 for gfx942, gfx1100 and gfx1201 that count, compare and exchange lanes, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from support.virtual_gpu import VirtualGpu

SIZES = (1, 63, 64, 65, 1000, 100003)
F32, I32, U32 = np.float32, np.int32, np.uint32


@pytest.fixture(params=["gfx942", "gfx1100", "gfx1201"])
def gpu(request) -> VirtualGpu:
    return VirtualGpu(f"clang/k_cl.{request.param}.hsaco")


def launch(gpu, name, n, block, arguments):
    gpu.launch(name, (-(-n // block) * block,), (block,), arguments)


@pytest.mark.parametrize("n", SIZES)
def test_a_histogram_counts_every_value(gpu, n):
    x = np.random.default_rng(1).integers(0, 2**32, n, dtype=U32)
    px, out = gpu.upload(x), gpu.upload(np.zeros(256, U32))
    launch(gpu, "hist", n, 256, [out, px, n])
    assert np.array_equal(gpu.read(out, 256, U32), np.bincount(x & 255, minlength=256))


@pytest.mark.parametrize("block", [64, 192, 256])
@pytest.mark.parametrize("n", SIZES)
def test_atomic_sums_are_exact(gpu, n, block):
    x = np.random.default_rng(2).integers(-1000, 1000, n, dtype=I32)
    px, out = gpu.upload(x), gpu.upload(np.zeros(1, I32))
    launch(gpu, "reduce_atomic", n, block, [out, px, n])
    assert gpu.read(out, 1, I32)[0] == x.sum()


@pytest.mark.parametrize("n", SIZES)
def test_a_compare_and_swap_loop_finds_the_maximum(gpu, n):
    x = np.random.default_rng(3).standard_normal(n).astype(F32)
    px, out = gpu.upload(x), gpu.upload(np.full(1, -np.inf, F32))
    launch(gpu, "cas_max", n, 256, [out, px, n])
    assert gpu.read(out, 1, F32)[0] == x.max()


@pytest.mark.parametrize("n", SIZES)
def test_a_wave_sums_through_permutes_dpp_and_its_first_lane(gpu, n):
    x = np.random.default_rng(4).integers(-1000, 1000, n, dtype=I32)
    px, out = gpu.upload(x), gpu.upload(np.zeros(n, I32))
    launch(gpu, "wavesum", n, 192, [out, px, n])
    waves = np.zeros(-(-n // 192) * 192, np.int64)
    waves[:n] = x
    lanes = 32 if gpu.settings.target.processor != "gfx942" else 64
    halves = np.repeat(waves.reshape(-1, 32).sum(axis=1), 32).reshape(-1, lanes)
    from_left = np.where(np.arange(lanes) % 16, halves[:, np.arange(lanes) - 1], 0)
    expected = halves + 2 * from_left + halves[:, :1]
    assert np.array_equal(gpu.read(out, n, I32), expected.reshape(-1)[:n])
