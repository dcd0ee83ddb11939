"""Kernels that clang -O2 made for gfx942, gfx1100 and gfx1201, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from support.virtual_gpu import VirtualGpu

SIZES = (1, 63, 64, 65, 1000)
BLOCKS = (50, 192, 256)
F32, I32, U32 = np.float32, np.int32, np.uint32


@pytest.fixture(params=["gfx942", "gfx1100", "gfx1201"])
def gpu(request) -> VirtualGpu:
    return VirtualGpu(f"clang/k_cl.{request.param}.hsaco")


def random(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def grid_for(n: int, block: int) -> tuple[int]:
    return (-(-n // block) * block,)


def fused(a, b, c) -> np.ndarray:
    """a * b + c in f64; exact before narrowing for the values used here but for a double rounding."""
    return (np.asarray(a, np.float64) * b + c).astype(F32)


def run_map(gpu, name, block, out, *inputs, extra=()) -> np.ndarray:
    """A kernel whose first argument is its result; then its inputs, then n."""
    result = gpu.upload(out)
    arrays = [gpu.upload(array) for array in inputs]
    gpu.launch(name, grid_for(out.size, block), (block,), [result, *arrays, *extra, out.size])
    return gpu.read(result, out.size, out.dtype)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("n", SIZES)
def test_saxpy_is_a_fused_multiply_add(gpu, n, block):
    x, y = random().standard_normal((2, n), F32)
    result = run_map(gpu, "saxpy", block, y, x, extra=[F32(2.5)])
    assert np.array_equal(result, fused(x, 2.5, y))


def test_saxpy_over_a_million_elements_with_a_ragged_end(gpu):
    x, y = random().standard_normal((2, 1000003), F32)
    assert np.array_equal(run_map(gpu, "saxpy", 192, y, x, extra=[F32(-0.3)]), fused(x, F32(-0.3), y))


def test_nothing_is_written_past_the_end(gpu):
    y = np.ones(300, F32)
    py, px = gpu.upload(y), gpu.upload(y)
    gpu.launch("saxpy", (512,), (256,), [py, px, F32(1), 257])
    assert gpu.read(py, 300, F32).tolist() == [2.0] * 257 + [1.0] * 43


def test_a_grid_that_ends_within_a_group_runs_only_its_items(gpu):
    y = np.ones(300, F32)
    py, px = gpu.upload(y), gpu.upload(y)
    gpu.launch("saxpy", (260,), (256,), [py, px, F32(1), 300])
    assert gpu.read(py, 300, F32).tolist() == [2.0] * 260 + [1.0] * 40


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("n", [*SIZES, 100003])
def test_vexp_is_close_to_exp_over_one_plus_root(gpu, n, block):
    x = random().uniform(-4, 4, n).astype(F32)
    result = run_map(gpu, "vexp", block, np.zeros(n, F32), x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(result, np.exp(wide) / (1 + np.sqrt(np.abs(wide))), rtol=1e-5)


@pytest.mark.parametrize("n", [1, 64, 1000, 65536, 1000003])
def test_reduce_lds_sums_each_share(gpu, n):
    x = random().standard_normal(n, F32)
    groups = 8 if n < 100000 else 100
    px, out = gpu.upload(x), gpu.upload(np.zeros(groups, F32))
    gpu.launch("reduce_lds", (groups * 256,), (256,), [out, px, n])
    padded = np.zeros(-(-n // (groups * 256)) * groups * 256)
    padded[:n] = x
    expected = padded.reshape(-1, groups, 256).sum(axis=(0, 2))
    np.testing.assert_allclose(gpu.read(out, groups, F32), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (17, 33, 5), (64, 48, 32)])
def test_matmul_naive_at_shapes_that_do_not_fit_the_group(gpu, m, n, k):
    a, b = random().standard_normal((m, k), F32), random(8).standard_normal((k, n), F32)
    pa, pb, pc = gpu.upload(a), gpu.upload(b), gpu.upload(np.zeros((m, n), F32))
    grid = (-(-n // 16) * 16, -(-m // 16) * 16)
    gpu.launch("matmul_naive", grid, (16, 16), [pc, pa, pb, m, n, k])
    np.testing.assert_allclose(gpu.read(pc, m * n, F32).reshape(m, n), a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [16, 64])
def test_matmul_lds(gpu, size):
    a, b = random().standard_normal((2, size, size), F32)
    pa, pb, pc = gpu.upload(a), gpu.upload(b), gpu.upload(np.zeros((size, size), F32))
    gpu.launch("matmul_lds", (size, size), (16, 16), [pc, pa, pb, size, size, size])
    np.testing.assert_allclose(gpu.read(pc, size * size, F32).reshape(size, size), a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("n", SIZES)
def test_integer_division_and_bit_counts(gpu, n, block):
    x = random().integers(-(2**31), 2**31, n, dtype=I32)
    z = random(8).integers(0, 2**32, n, dtype=U32)
    x[: min(n, 2)] = [-(2**31), 0][: min(n, 2)]
    divisor = (z | 1).view(I32)
    remainder = np.fmod(x.astype(np.int64), divisor)
    ones = np.array([int(value).bit_count() for value in z])
    leading = np.array([32 - int(value | 1).bit_length() for value in z])
    wide = x.astype(np.int64)
    quotient = np.trunc(wide / 7).astype(np.int64)
    expected = (quotient + z % 13 + (wide >> 3) + ones - leading + remainder).astype(I32)
    assert np.array_equal(run_map(gpu, "iops", block, np.zeros(n, I32), x, z), expected)


@pytest.mark.parametrize("n", SIZES)
def test_64_bit_integers(gpu, n):
    x = random().integers(-(2**63), 2**63 - 1, n, dtype=np.int64)
    expected = x * x + (x >> 5) - (x << 3) + np.where(x < 0, 1, -1)
    assert np.array_equal(run_map(gpu, "i64ops", 192, np.zeros(n, np.int64), x), expected)


@pytest.mark.parametrize("n", SIZES)
def test_double_division_is_correctly_rounded(gpu, n):
    x = random().standard_normal(n) * 10.0 ** random(8).integers(-30, 30, n)
    expected = x * x / (x + 3.0) - x.astype(F32).astype(np.float64)
    np.testing.assert_allclose(run_map(gpu, "f64ops", 256, np.zeros(n), x), expected, rtol=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_half_precision(gpu, n):
    x = random().standard_normal(n).astype(np.float16)
    p = random(8).standard_normal((n, 2)).astype(np.float16)
    exact = np.longdouble
    q = (p.astype(exact) * p + p).astype(np.float16)
    t = (x.astype(exact) * exact(2.5) + q[:, 0]).astype(np.float16)
    expected = t - q[:, 1]
    assert np.array_equal(run_map(gpu, "hops", 256, np.zeros(n, np.float16), x, p), expected)


@pytest.mark.parametrize("n", SIZES)
def test_bytes_and_shorts(gpu, n):
    x, s = random().integers(0, 256, n, dtype=np.uint8), random(8).integers(-(2**15), 2**15, n, dtype=np.int16)
    expected = (x.astype(I32) * 3 + s).astype(np.uint8)
    assert np.array_equal(run_map(gpu, "u8ops", 192, np.zeros(n, np.uint8), x, s), expected)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_switch_parts_the_lanes(gpu, block):
    x = random().integers(-(2**31), 2**31, 1000, dtype=I32)
    wide = x.astype(np.int64)
    cases = {0: wide * 3, 1: wide - 5, 2: wide ^ 0x55, 3: np.trunc(wide / 3).astype(np.int64), 5: -wide}
    expected = np.select([(x & 7) == key for key in cases], list(cases.values()), wide + 1).astype(I32)
    assert np.array_equal(run_map(gpu, "sw", block, np.zeros(1000, I32), x), expected)


def test_calls_and_loops_of_different_length(gpu):
    x = random().integers(-(2**31), 2**31, 1000, dtype=I32)

    def helper(a: int, b: int) -> int:
        r = 0
        for _ in range(b):
            r = (r * 3 + a) & 0xFFFFFFFF
        return r

    expected = [(helper(int(v), int(v) & 7) + helper(i, 3)) & 0xFFFFFFFF for i, v in enumerate(x)]
    assert run_map(gpu, "callf", 192, np.zeros(1000, I32), x).view(U32).tolist() == expected


@pytest.mark.parametrize("shape", [(32, 32), (48, 80), (20, 36)])
def test_transpose(gpu, shape):
    h, w = shape
    source = random().standard_normal((h, w), F32)
    pi, po = gpu.upload(source), gpu.upload(np.zeros((w, h), F32))
    gpu.launch("transpose", (-(-w // 16) * 16, -(-h // 16) * 16), (16, 16), [po, pi, w, h])
    assert np.array_equal(gpu.read(po, w * h, F32).reshape(w, h), source.T)


def test_mandelbrot_iteration_counts(gpu):
    w, h, limit = 48, 32, 60
    out = gpu.upload(np.zeros(w * h, U32))
    gpu.launch("mandel", (w, h), (16, 16), [out, w, h, limit])
    x, y = np.meshgrid(np.arange(w, dtype=F32), np.arange(h, dtype=F32))
    cx, cy = x * F32(3) / F32(w) - F32(2), y * F32(2) / F32(h) - F32(1)
    a, b, counts = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, U32)
    for _ in range(limit):
        inside = fused(a, a, b * b) < 4
        counts += inside
        a, b = np.where(inside, fused(a, a, -(b * b)) + cx, a), np.where(inside, fused(2 * a, b, cy), b)
    result = gpu.read(out, w * h, U32).reshape(h, w)
    assert (result != counts).mean() < 0.01
