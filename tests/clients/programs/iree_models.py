"""Models for IREE: MLIR text, the inputs, and the same in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Model:
    text: str
    inputs: tuple[np.ndarray, ...]
    expected: Callable[..., np.ndarray]
    tolerance: float


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _matmul(rows: int, inner: int, columns: int, given: str) -> str:
    left, right, out = (
        f"tensor<{rows}x{inner}x{given}>",
        f"tensor<{inner}x{columns}x{given}>",
        f"tensor<{rows}x{columns}xf32>",
    )
    return f"""
    func.func @main(%a: {left}, %b: {right}) -> {out} {{
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : {out}
      %start = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
      %c = linalg.matmul ins(%a, %b : {left}, {right}) outs(%start : {out}) -> {out}
      return %c : {out}
    }}"""


_MLP = """
#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x128xf32>, %b: tensor<128xf32>, %v: tensor<128x32xf32>)
    -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x128xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x128xf32>) -> tensor<8x128xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x128xf32>) outs(%s0 : tensor<8x128xf32>)
    -> tensor<8x128xf32>
  %r = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]}
    ins(%h, %b : tensor<8x128xf32>, tensor<128xf32>) outs(%e0 : tensor<8x128xf32>) {
  ^bb0(%in: f32, %bias: f32, %out: f32):
    %sum = arith.addf %in, %bias : f32
    %positive = arith.maximumf %sum, %zero : f32
    linalg.yield %positive : f32
  } -> tensor<8x128xf32>
  %e1 = tensor.empty() : tensor<8x32xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %y = linalg.matmul ins(%r, %v : tensor<8x128xf32>, tensor<128x32xf32>) outs(%s1 : tensor<8x32xf32>)
    -> tensor<8x32xf32>
  %e2 = tensor.empty() : tensor<8x32xf32>
  %z = linalg.softmax dimension(1) ins(%y : tensor<8x32xf32>) outs(%e2 : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %z : tensor<8x32xf32>
}"""

_random = np.random.default_rng(3)


def _normal(*shape: int, dtype: str = "f4") -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


MODELS = {
    "matmul f32": Model(_matmul(64, 96, 80, "f32"), (_normal(64, 96), _normal(96, 80)), np.matmul, 1e-5),
    "matmul f16": Model(
        _matmul(64, 96, 80, "f16"),
        (_normal(64, 96, dtype="f2"), _normal(96, 80, dtype="f2")),
        lambda a, b: a.astype("f4") @ b.astype("f4"),
        1e-5,
    ),
    "mlp": Model(
        _MLP,
        (_normal(8, 64), _normal(64, 128), _normal(128), _normal(128, 32)),
        lambda x, w, b, v: _softmax(np.maximum(x @ w + b, 0) @ v),
        1e-5,
    ),
}
