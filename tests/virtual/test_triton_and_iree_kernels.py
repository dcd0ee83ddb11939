"""Kernels that Triton made for gfx942, gfx1100 and gfx1201, and IREE for gfx942, against numpy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.virtual_gpu import CORPUS, VirtualGpu

F16, F32, U32 = np.float16, np.float32, np.uint32


def random(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


class TritonKernel:
    """A kernel of Triton, and what its launcher knows of it."""

    def __init__(self, name: str, target: str) -> None:
        self.gpu = VirtualGpu(f"triton/{name}.{target}.hsaco")
        facts = json.loads((CORPUS / "triton" / f"{name}.{target}.json").read_text())
        self.block, self._dynamic_lds = int(facts["block"]), int(facts["dynamic_lds_bytes"])

    def launch(self, name: str, groups: tuple[int, ...], arguments: list) -> None:
        grid = (groups[0] * self.block, *groups[1:])
        self.gpu.launch(name, grid, (self.block,), arguments, dynamic_lds=self._dynamic_lds)


@pytest.fixture(params=["gfx942", "gfx1100", "gfx1201"])
def target(request) -> str:
    return request.param


@pytest.mark.parametrize("n", [1, 1000, 1024, 5000])
def test_triton_vector_add(n, target):
    kernel = TritonKernel("vadd", target)
    gpu = kernel.gpu
    x, y = random().standard_normal((2, n), F32)
    px, py, out = gpu.upload(x), gpu.upload(y), gpu.upload(np.zeros(n, F32))
    kernel.launch("vadd", (-(-n // 1024),), [px, py, out, n, None, None])
    assert np.array_equal(gpu.read(out, n, F32), x + y)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1000), (37, 781), (64, 1024)])
def test_triton_softmax(rows, columns, target):
    kernel = TritonKernel("softmax", target)
    gpu = kernel.gpu
    x = random().standard_normal((rows, columns), F32)
    source, out = gpu.upload(x), gpu.upload(np.zeros_like(x))
    arguments = [out, source, columns, columns, None, None]
    kernel.launch("softmax", (rows,), arguments)
    wide = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = wide / wide.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(gpu.read(out, x.size, F32).reshape(x.shape), expected, rtol=1e-5)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (128, 64, 256), (256, 256, 256)])
def test_triton_matmul_in_half_precision(m, n, k, target):
    kernel = TritonKernel("matmul16", target)
    gpu = kernel.gpu
    a, b = random().standard_normal((m, k)).astype(F16), random(8).standard_normal((k, n)).astype(F16)
    pa, pb, pc = gpu.upload(a), gpu.upload(b), gpu.upload(np.zeros((m, n), F32))
    arguments = [pa, pb, pc, m, n, k, k, n, n, None, None]
    kernel.launch("matmul", (m // 64, n // 64), arguments)
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
