"""Kernels that Triton and IREE made for gfx942, against numpy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.virtual_gpu import CORPUS, VirtualGpu

F16, F32, U32 = np.float16, np.float32, np.uint32


def random(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def dynamic_lds(name: str) -> int:
    return int(json.loads((CORPUS / "triton" / f"{name}.json").read_text())["dynamic_lds_bytes"])


@pytest.mark.parametrize("n", [1, 1000, 1024, 5000])
def test_triton_vector_add(n):
    gpu = VirtualGpu("triton/vadd.gfx942.hsaco")
    x, y = random().standard_normal((2, n), F32)
    px, py, out = gpu.upload(x), gpu.upload(y), gpu.upload(np.zeros(n, F32))
    gpu.launch(
        "vadd", (-(-n // 1024) * 256,), (256,), [px, py, out, n, None, None], dynamic_lds=dynamic_lds("vadd.gfx942")
    )
    assert np.array_equal(gpu.read(out, n, F32), x + y)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1000), (37, 781), (64, 1024)])
def test_triton_softmax(rows, columns):
    gpu = VirtualGpu("triton/softmax.gfx942.hsaco")
    x = random().standard_normal((rows, columns), F32)
    source, out = gpu.upload(x), gpu.upload(np.zeros_like(x))
    arguments = [out, source, columns, columns, None, None]
    gpu.launch("softmax", (rows * 256,), (256,), arguments, dynamic_lds=dynamic_lds("softmax.gfx942"))
    wide = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = wide / wide.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(gpu.read(out, x.size, F32).reshape(x.shape), expected, rtol=1e-5)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (128, 64, 256), (256, 256, 256)])
def test_triton_matmul_in_half_precision(m, n, k):
    gpu = VirtualGpu("triton/matmul16.gfx942.hsaco")
    a, b = random().standard_normal((m, k)).astype(F16), random(8).standard_normal((k, n)).astype(F16)
    pa, pb, pc = gpu.upload(a), gpu.upload(b), gpu.upload(np.zeros((m, n), F32))
    arguments = [pa, pb, pc, m, n, k, k, n, n, None, None]
    gpu.launch("matmul", (m // 64 * 256, n // 64), (256, 1), arguments, dynamic_lds=dynamic_lds("matmul16.gfx942"))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(gpu.read(pc, m * n, F32).reshape(m, n), expected, atol=1e-4 * k / 256 + 1e-4)


def iree(folder: str) -> bytes:
    (path,) = (CORPUS / "iree" / "gfx942" / folder).glob("*.hsaco")
    return Path(path).read_bytes()


def test_iree_elementwise():
    gpu = VirtualGpu(iree("ew"))
    a, b = random().standard_normal((2, 4096), F32)
    pa, pb, out = gpu.upload(a), gpu.upload(b), gpu.upload(np.zeros(4096, F32))
    gpu.launch("ew_dispatch_0_elementwise_4096_f32", (16 * 64,), (64,), [pa, pb, out])
    expected = np.exp(a.astype(np.float64) * b + a)
    np.testing.assert_allclose(gpu.read(out, 4096, F32), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("mm32_dispatch_0_matmul_256x256x256_f32", F32), ("mm16_dispatch_0_matmul_256x256x256_f16xf16xf32", F16)],
)
def test_iree_matmul(name, dtype):
    gpu = VirtualGpu(iree("mm"))
    a, b = random().standard_normal((256, 256)).astype(dtype), random(8).standard_normal((256, 256)).astype(dtype)
    pa, pb, pc = gpu.upload(a), gpu.upload(b), gpu.upload(np.zeros((256, 256), F32))
    gpu.launch(name, (8 * 256,), (256,), [pa, pb, pc])
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(gpu.read(pc, 65536, F32).reshape(256, 256), expected, atol=2e-4)
