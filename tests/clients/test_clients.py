"""Each client computes what numpy computes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support.tools import require_tool

pytestmark = pytest.mark.clients


def test_triton_compiles_and_launches_through_its_own_driver(run_client, tmp_path):
    lines = run_client(
        "triton",
        "triton_driver.py",
        does="its own AMD driver: an addition, a softmax, an f16 matrix product",
        needs="a stand-in for what it asks of PyTorch",
        TRITON_CACHE_DIR=str(tmp_path),
    )
    assert lines == ["target: gfx942", "add: right", "softmax: right", "matmul: right"]


@pytest.mark.parametrize(
    "flags, how", [([], "streams"), (["--hip_use_streams=false"], "graphs")], ids=["streams", "graph command buffers"]
)
def test_irees_runtime_runs_models_with_its_driver_for_hip(run_client, flags, how):
    lines = run_client(
        "iree-base-runtime",
        "iree_runtime.py",
        *flags,
        does=f"the driver hip, by {how}: f32 and f16 matrix products, a perceptron with softmax",
    )
    assert lines == [f"{name}: right" for name in ("matmul f32", "matmul f16", "mlp") for _ in range(2)]


def test_tinygrad_launches_by_itself(run_client, tmp_path):
    require_tool("clang-19")
    pytest.importorskip("triton", reason="its device libraries are needed: see `make test-clients`")
    lines = run_client(
        "tinygrad",
        "tinygrad_hip.py",
        does="DEV=HIP: elementwise, matrix product, softmax, TinyJit",
        needs="clang and the device libraries of Triton in place of hipcc",
        XDG_CACHE_HOME=str(tmp_path),
        PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    )
    jit = [f"jit {number}: right" for number in range(4)]
    assert lines == ["device: HIP", "add: right", "matmul: right", "softmax: right", *jit]
