"""Kernels compiled and launched by Triton's own AMD driver, with a stand-in for what it asks of PyTorch."""

from __future__ import annotations

import ctypes
import sys
import types

import numpy as np
from checks import check

hip = ctypes.CDLL("libamdhip64.so")
TYPES = {"float32": "fp32", "float16": "fp16", "int32": "i32"}


class Tensor:
    """Device memory that Triton takes for a tensor."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = np.ascontiguousarray(array)
        self.dtype = TYPES[str(array.dtype)]
        self.pointer = ctypes.c_void_p()
        assert hip.hipMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(array.nbytes)) == 0
        self._copy(self.pointer, self.array.ctypes.data_as(ctypes.c_void_p), 1)

    def _copy(self, target: ctypes.c_void_p, source: ctypes.c_void_p, kind: int) -> None:
        assert hip.hipMemcpy(target, source, ctypes.c_size_t(self.array.nbytes), kind) == 0

    def data_ptr(self) -> int:
        return self.pointer.value or 0

    def numpy(self) -> np.ndarray:
        out = np.empty_like(self.array)
        self._copy(out.ctypes.data_as(ctypes.c_void_p), self.pointer, 2)
        return out


torch = types.ModuleType("torch")
torch.version = types.SimpleNamespace(hip="7.2", cuda=None)
torch.cuda = types.SimpleNamespace(
    is_available=lambda: True,
    current_device=lambda: 0,
    set_device=lambda device: None,
    current_stream=lambda device=None: types.SimpleNamespace(cuda_stream=0),
    get_device_capability=lambda device=0: (9, 4),
)
torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 0)
torch.Tensor = Tensor
sys.modules["torch"] = torch

import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(out, x, stride, count, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + column, mask=column < count, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * stride + column, powers / tl.sum(powers, 0), mask=column < count)


@triton.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        left = tl.load(a + row[:, None] * K + inner[None, :])
        right = tl.load(b + inner[:, None] * N + column[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * N + column[None, :], total)


random = np.random.default_rng(0)
print("target:", triton.runtime.driver.active.get_current_target().arch, flush=True)
x, y = random.random(5000, np.float32), random.random(5000, np.float32)
out = Tensor(np.zeros_like(x))
add[(triton.cdiv(5000, 1024),)](Tensor(x), Tensor(y), out, 5000, BLOCK=1024)
check("add", out.numpy(), x + y)

x = random.standard_normal((33, 500)).astype("f4")
out = Tensor(np.zeros_like(x))
softmax[(33,)](out, Tensor(x), 500, 500, BLOCK=512)
powers = np.exp(x - x.max(1, keepdims=True))
check("softmax", out.numpy(), powers / powers.sum(1, keepdims=True), 1e-6)

a, b = random.standard_normal((128, 64)).astype("f2"), random.standard_normal((64, 128)).astype("f2")
out = Tensor(np.zeros((128, 128), np.float32))
matmul[(2, 2)](Tensor(a), Tensor(b), out, 128, 64, BM=64, BN=64, BK=32)
check("matmul", out.numpy(), a.astype("f4") @ b.astype("f4"), 1e-5)
