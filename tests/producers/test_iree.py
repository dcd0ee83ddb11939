"""Programs that the IREE compiler makes for gfx942 in this test, recorded and replayed, against numpy.

The compiler's own listing of the host side says which export runs on how many workgroups with which slots.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from math import erf
from pathlib import Path

import numpy as np
import pytest

from hipgraph_cb import Slot

pytestmark = pytest.mark.producers
tools = pytest.importorskip(
    "iree.compiler.tools.binaries", reason="iree-base-compiler is not installed: see `make test-producers`"
)

F16, F32, I32, I8 = np.float16, np.float32, np.int32, np.int8
CONSTANT = re.compile(r"(%\S+) = arith\.constant (-?\d+) : (?:index|i32)")
FUNCTION = re.compile(r"(%function_id\w*) = hal\.executable\.lookup\.function .*::@(\w+)\)")
DISPATCH = re.compile(
    r"dispatch<.*?\[(%function_id\w*)\] workgroups\(\[(.*?)\]\)(?: constants\(\[(.*?)\]\))?"
    r" bindings\(\[(.*?)\]\) flags",
    re.S,
)
BINDING = re.compile(r"\((%\S+) : index\)\[(%\S+), (%\S+)\]")


@dataclass(frozen=True)
class Dispatch:
    """One dispatch of the host program; bindings are (slot, offset, length)."""

    export: str
    workgroups: tuple[int, ...]
    bindings: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Compiled:
    """A code object and the dispatches, in order."""

    code_object: bytes
    dispatches: tuple[Dispatch, ...]


def compiled(source: str, folder: Path) -> Compiled:
    """The program of one function for gfx942."""
    path, listing, binaries = folder / "program.mlir", folder / "hal.mlir", folder / "binaries"
    path.write_text(source)
    command = [
        tools.find_tool("iree-compile"),
        *("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942", "--compile-to=hal"),
        "--iree-input-demote-f64-to-f32=false",
        f"--iree-hal-dump-executable-binaries-to={binaries}",
        *(str(path), "-o", str(listing)),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (code_object,) = binaries.glob("*.hsaco")
    return Compiled(code_object.read_bytes(), tuple(dispatches_of(listing.read_text())))


def dispatches_of(listing: str) -> Iterator[Dispatch]:
    for function in re.split(r"\n  util\.func ", listing):
        constants = {name: int(value) for name, value in CONSTANT.findall(function)}
        exports = dict(FUNCTION.findall(function))
        for found in DISPATCH.finditer(function):
            assert not found[3], "the test's programs have no constants"
            bindings = tuple(tuple(constants[name] for name in row) for row in BINDING.findall(found[4]))
            yield Dispatch(exports[found[1]], tuple(constants[name] for name in found[2].split(", ")), bindings)


def run(device, program: Compiled, buffers) -> None:
    """Record every dispatch with slots, a barrier between them, and replay with `buffers` in the slots."""
    executable = device.load(program.code_object)
    with device.command_buffer(binding_capacity=len(buffers)) as cb:
        for dispatch in program.dispatches:
            slots = [Slot(index, offset, length) for index, offset, length in dispatch.bindings]
            cb.dispatch(executable[dispatch.export], workgroup_count=dispatch.workgroups, bindings=slots)
            cb.execution_barrier()
    cb.replay(bindings=buffers)
    device.synchronize()


def random(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def matmul_source(m: int, n: int, k: int, kind: str, total: str) -> str:
    zero = "0" if total == "i32" else "0.0"
    return f"""
func.func @matmul(%a: tensor<{m}x{k}x{kind}>, %b: tensor<{k}x{n}x{kind}>) -> tensor<{m}x{n}x{total}> {{
  %zero = arith.constant {zero} : {total}
  %empty = tensor.empty() : tensor<{m}x{n}x{total}>
  %init = linalg.fill ins(%zero : {total}) outs(%empty : tensor<{m}x{n}x{total}>) -> tensor<{m}x{n}x{total}>
  %c = linalg.matmul ins(%a, %b : tensor<{m}x{k}x{kind}>, tensor<{k}x{n}x{kind}>)
    outs(%init : tensor<{m}x{n}x{total}>) -> tensor<{m}x{n}x{total}>
  return %c : tensor<{m}x{n}x{total}>
}}
"""


def bfloat16(values: np.ndarray) -> np.ndarray:
    """f32 to the bits of bf16, towards zero."""
    return (values.astype(F32).view(np.uint32) >> 16).astype(np.uint16)


MATMULS = {
    "f32": (lambda values: values.astype(F32), lambda bits: bits, "f32"),
    "f16": (lambda values: values.astype(F16), lambda bits: bits, "f32"),
    "bf16": (bfloat16, lambda bits: (bits.astype(np.uint32) << 16).view(F32), "f32"),
    "f64": (lambda values: values, lambda bits: bits, "f64"),
    "i8": (lambda values: (values * 40).astype(I8), lambda bits: bits, "i32"),
}


@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 96), (33, 70, 130)])
@pytest.mark.parametrize("kind", MATMULS)
def test_matmul(device, tmp_path, kind, m, n, k):
    encode, decode, total = MATMULS[kind]
    program = compiled(matmul_source(m, n, k, kind, total), tmp_path)
    a, b = encode(random().standard_normal((m, k))), encode(random(8).standard_normal((k, n)))
    dtype = {"f32": F32, "f64": np.float64, "i32": I32}[total]
    c = device.from_host(np.zeros((m, n), dtype))
    run(device, program, [device.from_host(a), device.from_host(b), c])
    expected = decode(a).astype(float) @ decode(b).astype(float)
    np.testing.assert_allclose(c.to_host(dtype).reshape(m, n), expected, atol=2e-4)


def test_softmax(device, tmp_path):
    source = """
func.func @softmax(%a: tensor<20x300xf32>) -> tensor<20x300xf32> {
  %empty = tensor.empty() : tensor<20x300xf32>
  %c = linalg.softmax dimension(1) ins(%a : tensor<20x300xf32>) outs(%empty : tensor<20x300xf32>) -> tensor<20x300xf32>
  return %c : tensor<20x300xf32>
}
"""
    x = random().standard_normal((20, 300)).astype(F32)
    out = device.from_host(np.zeros_like(x))
    run(device, compiled(source, tmp_path), [device.from_host(x), out])
    powers = np.exp(x.astype(float) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out.to_host(F32).reshape(x.shape), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


def reduction_source(dimension: int, size: int) -> str:
    kept = "d1" if dimension == 0 else "d0"
    kinds = ["parallel", "parallel"]
    kinds[dimension] = "reduction"
    return f"""
func.func @sums(%a: tensor<60x300xf32>) -> tensor<{size}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{size}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{size}xf32>) -> tensor<{size}xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ({kept})>],
    iterator_types = ["{kinds[0]}", "{kinds[1]}"]}} ins(%a : tensor<60x300xf32>) outs(%init : tensor<{size}xf32>) {{
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }} -> tensor<{size}xf32>
  return %r : tensor<{size}xf32>
}}
"""


@pytest.mark.parametrize("dimension", [0, 1])
def test_row_and_column_sums(device, tmp_path, dimension):
    x = random().standard_normal((60, 300)).astype(F32)
    size = x.shape[1 - dimension]
    out = device.from_host(np.zeros(size, F32))
    run(device, compiled(reduction_source(dimension, size), tmp_path), [device.from_host(x), out])
    np.testing.assert_allclose(out.to_host(F32), x.astype(float).sum(axis=dimension), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["f32", "f16", "i8"])
def test_transpose(device, tmp_path, kind):
    source = f"""
func.func @transpose(%a: tensor<50x130x{kind}>) -> tensor<130x50x{kind}> {{
  %empty = tensor.empty() : tensor<130x50x{kind}>
  %t = linalg.transpose ins(%a : tensor<50x130x{kind}>) outs(%empty : tensor<130x50x{kind}>) permutation = [1, 0]
  return %t : tensor<130x50x{kind}>
}}
"""
    dtype = {"f32": F32, "f16": F16, "i8": I8}[kind]
    x = (random().standard_normal((50, 130)) * 20).astype(dtype)
    out = device.from_host(np.zeros((130, 50), dtype))
    run(device, compiled(source, tmp_path), [device.from_host(x), out])
    assert np.array_equal(out.to_host(dtype).reshape(130, 50), x.T)


MATH = """
func.func @math(%a: tensor<1000xf32>, %b: tensor<1000xf32>) -> tensor<1000xf32> {
  %empty = tensor.empty() : tensor<1000xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]} ins(%a, %b : tensor<1000xf32>, tensor<1000xf32>) outs(%empty : tensor<1000xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %t = math.tanh %x : f32
    %e = math.erf %y : f32
    %s = math.sin %x : f32
    %q = arith.divf %t, %e : f32
    %w = arith.addf %q, %s : f32
    linalg.yield %w : f32
  } -> tensor<1000xf32>
  return %r : tensor<1000xf32>
}
"""


def test_elementwise_math(device, tmp_path):
    a, b = (random().uniform(0.25, 4, (2, 1000))).astype(F32)
    out = device.from_host(np.zeros(1000, F32))
    run(device, compiled(MATH, tmp_path), [device.from_host(a), device.from_host(b), out])
    expected = np.tanh(a.astype(float)) / np.array([erf(value) for value in b]) + np.sin(a.astype(float))
    np.testing.assert_allclose(out.to_host(F32), expected, rtol=2e-5, atol=2e-6)


def test_batch_matmul(device, tmp_path):
    source = """
func.func @batches(%a: tensor<3x40x48xf16>, %b: tensor<3x48x56xf16>) -> tensor<3x40x56xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x40x56xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x40x56xf32>) -> tensor<3x40x56xf32>
  %c = linalg.batch_matmul ins(%a, %b : tensor<3x40x48xf16>, tensor<3x48x56xf16>)
    outs(%init : tensor<3x40x56xf32>) -> tensor<3x40x56xf32>
  return %c : tensor<3x40x56xf32>
}
"""
    a, b = random().standard_normal((3, 40, 48)).astype(F16), random(8).standard_normal((3, 48, 56)).astype(F16)
    c = device.from_host(np.zeros((3, 40, 56), F32))
    run(device, compiled(source, tmp_path), [device.from_host(a), device.from_host(b), c])
    np.testing.assert_allclose(c.to_host(F32).reshape(3, 40, 56), a.astype(float) @ b.astype(float), atol=1e-3)


@pytest.mark.parametrize("kind", ["f32", "f16"])
def test_convolution_in_two_dimensions(device, tmp_path, kind):
    source = f"""
func.func @convolution(%x: tensor<1x18x18x16x{kind}>, %w: tensor<3x3x16x32x{kind}>) -> tensor<1x16x16x32xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x16x16x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  %y = linalg.conv_2d_nhwc_hwcf {{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}}
    ins(%x, %w : tensor<1x18x18x16x{kind}>, tensor<3x3x16x32x{kind}>)
    outs(%init : tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  return %y : tensor<1x16x16x32xf32>
}}
"""
    dtype = F32 if kind == "f32" else F16
    x, w = random().standard_normal((1, 18, 18, 16)).astype(dtype), random(8).standard_normal((3, 3, 16, 32))
    w = w.astype(dtype)
    y = device.from_host(np.zeros((1, 16, 16, 32), F32))
    run(device, compiled(source, tmp_path), [device.from_host(x), device.from_host(w), y])
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(float), (3, 3), axis=(1, 2))
    expected = np.einsum("nhwcij,ijcf->nhwf", windows, w.astype(float))
    np.testing.assert_allclose(y.to_host(F32).reshape(expected.shape), expected, rtol=1e-3, atol=2e-3)


def test_largest_values_and_their_places(device, tmp_path):
    source = """
func.func @argmax(%a: tensor<20x300xf32>) -> (tensor<20xf32>, tensor<20xi32>) {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i32
  %ev = tensor.empty() : tensor<20xf32>
  %ei = tensor.empty() : tensor<20xi32>
  %iv = linalg.fill ins(%low : f32) outs(%ev : tensor<20xf32>) -> tensor<20xf32>
  %ii = linalg.fill ins(%none : i32) outs(%ei : tensor<20xi32>) -> tensor<20xi32>
  %r:2 = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<20x300xf32>) outs(%iv, %ii : tensor<20xf32>, tensor<20xi32>) {
  ^bb0(%x: f32, %best: f32, %where: i32):
    %k = linalg.index 1 : index
    %n = arith.index_cast %k : index to i32
    %larger = arith.cmpf ogt, %x, %best : f32
    %v = arith.select %larger, %x, %best : f32
    %p = arith.select %larger, %n, %where : i32
    linalg.yield %v, %p : f32, i32
  } -> (tensor<20xf32>, tensor<20xi32>)
  return %r#0, %r#1 : tensor<20xf32>, tensor<20xi32>
}
"""
    x = random().standard_normal((20, 300)).astype(F32)
    program = compiled(source, tmp_path)
    (dispatch,) = program.dispatches
    assert [slot for slot, _, _ in dispatch.bindings] == [0, 1, 1]  # both results lie in one buffer
    results = device.from_host(np.zeros(256, np.uint8))
    run(device, program, [device.from_host(x), results])
    values, places = results.view(0, 80), results.view(128, 80)
    assert np.array_equal(values.to_host(F32), x.max(axis=1))
    assert np.array_equal(places.to_host(I32), x.argmax(axis=1))


INTEGER_MATH = """
func.func @integers(%a: tensor<1000xi32>, %b: tensor<1000xi32>) -> tensor<1000xi32> {
  %empty = tensor.empty() : tensor<1000xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]} ins(%a, %b : tensor<1000xi32>, tensor<1000xi32>) outs(%empty : tensor<1000xi32>) {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %q = arith.divsi %x, %y : i32
    %m = arith.remui %x, %y : i32
    %c = math.ctpop %x : i32
    %l = math.ctlz %y : i32
    %h:2 = arith.mulsi_extended %x, %y : i32
    %s = arith.addi %q, %m : i32
    %t = arith.xori %c, %h#1 : i32
    %u = arith.subi %s, %t : i32
    %w = arith.addi %u, %l : i32
    linalg.yield %w : i32
  } -> tensor<1000xi32>
  return %r : tensor<1000xi32>
}
"""


def test_elementwise_integers(device, tmp_path):
    a = random().integers(-(2**31), 2**31, 1000).astype(I32)
    b = random(8).integers(1, 2**31, 1000).astype(I32) >> random(9).integers(0, 30, 1000).astype(I32) | 1
    out = device.from_host(np.zeros(1000, I32))
    run(device, compiled(INTEGER_MATH, tmp_path), [device.from_host(a), device.from_host(b), out])
    expected = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        quotient = abs(x) // y * (1 if x >= 0 else -1)
        ones, zeros = (x & 0xFFFFFFFF).bit_count(), 32 - y.bit_length()
        total = quotient + (x & 0xFFFFFFFF) % y - (ones ^ x * y >> 32) + zeros
        expected.append((total + 2**31 & 0xFFFFFFFF) - 2**31)
    assert out.to_host(I32).tolist() == expected
