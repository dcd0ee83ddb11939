"""tinygrad's device HIP. Its compiler is hipcc, which is the file beside this one; AMD's comgr is not needed."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["DEV"] = "HIP"
os.environ["PATH"] = f"{Path(__file__).parent}:{os.environ['PATH']}"

import numpy as np
import tinygrad.runtime.ops_hip
from checks import check
from tinygrad import Device, Tensor, TinyJit
from tinygrad.renderer.cstyle import HIPCCRenderer

tinygrad.runtime.ops_hip.HIPRenderer = HIPCCRenderer

random = np.random.default_rng(0)
print("device:", Device.DEFAULT, flush=True)
a, b = random.standard_normal((33, 70)).astype("f4"), random.standard_normal((70, 41)).astype("f4")
check("add", (Tensor(a) + 2 * Tensor(a)).numpy(), 3 * a, 1e-6)
check("matmul", (Tensor(a) @ Tensor(b)).numpy(), a @ b, 1e-5)
check("softmax", Tensor(a).softmax().numpy(), np.exp(a) / np.exp(a).sum(1, keepdims=True), 1e-5)


@TinyJit
def step(x: Tensor) -> Tensor:
    return (x @ Tensor(b)).relu().sum(1).realize()


for number in range(4):
    x = random.standard_normal((33, 70)).astype("f4")
    check(f"jit {number}", step(Tensor(x)).numpy(), np.maximum(x @ b, 0).sum(1), 1e-5)
