"""GEMM kernels of rocBLAS and AITER, and some more of AITER, give numpy's results on the virtual gfx942.

Their arguments have names. What the numbers mean (strides in bytes, the order of preshuffled weights) is read from
AITER's launchers and its function for weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.libraries import AITER, ROCBLAS, code_objects
from support.named_launch import launch_by_name
from support.small_values import draw, values_of
from support.tensile import Gemm, is_plain

from hipgraph_cb import open_device
from hipgraph_cb.runtime.device import Device
from hipgraph_cb.runtime.executable import Export

pytestmark = pytest.mark.libraries

# As the files of rocBLAS name them: the type of the inputs (two, where A's and B's are mixed), that of D.
TYPES = ["B8B8", "B8H", "B8S", "BB", "BS", "CC", "DD", "F8B8", "F8F8", "F8H", "F8S", "HH", "HS", "I8I", "SS", "ZZ"]
KERNELS_OF_A_FILE = 4


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with open_device("hip") as opened:
        yield opened


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.mark.parametrize("types", TYPES)
def test_gemm_kernels_of_rocblas_are_right(types: str, device: Device, rng: np.random.Generator) -> None:
    """From the file of each order of A and B: the first kernel, the last, and some between."""
    files = [file for file in code_objects(ROCBLAS) if file.match(f"*Type_{types}_*gfx942.co")]
    assert len(files) >= 4
    for file in files:
        executable = device.load(file)
        plain = [name for name in sorted(executable) if is_plain(name)]
        assert plain, file
        places = np.linspace(0, len(plain) - 1, min(KERNELS_OF_A_FILE, len(plain)), dtype=int)
        for name in {plain[place] for place in places}:
            gemm = Gemm(name, rng)
            assert gemm.worst(gemm.run(device, executable[name])) <= 1, (file.name, name)


def only_kernel(device: Device, file: str) -> Export:
    (path,) = (path for path in code_objects(AITER) if path.match(f"gfx942/{file}"))
    executable = device.load(path)
    (name,) = executable
    return executable[name]


def upload(device: Device, *arrays: np.ndarray) -> list:
    return [device.from_host(np.ascontiguousarray(array).ravel()) for array in arrays]


@pytest.mark.parametrize(("rows", "tile", "splits"), [(32, 32, 1), (20, 48, 1), (70, 64, 1), (100, 96, 4)])
def test_bf16_gemm_of_aiter_is_right(rows: int, tile: int, splits: int, device: Device, rng) -> None:
    columns, summed = 128, 512
    a, b = draw("B", (rows, summed), rng), draw("B", (columns, summed), rng)
    d = np.zeros((rows, columns), np.float32)  # the parts of a split sum are added to it
    a_buffer, b_buffer, d_buffer = upload(device, a, b, d)
    launch_by_name(
        device,
        only_kernel(device, f"bf16gemm/bf16gemm_outf32_tn_{tile}x64_pf3.co"),
        (columns // 64, -(-rows // tile), splits),
        256,
        {
            "D": d_buffer,
            "A": a_buffer,
            "B": b_buffer,
            "alpha": np.float32(1).tobytes(),
            "beta": np.float32(0).tobytes(),
            "strideC0": columns * 4,
            "strideA0": summed * 2,
            "strideB0": summed * 2,
            "Mdim": rows,
            "Ndim": columns,
            "Kdim": summed,
            "splitk": splits,
        },
    )
    a, b = values_of("B", a), values_of("B", b)
    error = np.abs(d_buffer.to_host(np.float32).reshape(d.shape) - a @ b.T)
    assert np.all(error <= summed * 2.0**-23 * (np.abs(a) @ np.abs(b).T))


@pytest.mark.parametrize(("rows", "tile", "splits"), [(128, 128, 1), (100, 128, 1), (250, 192, 1), (150, 128, 2)])
def test_int8_gemm_of_aiter_is_right(rows: int, tile: int, splits: int, device: Device, rng) -> None:
    columns, summed = 256, 1024
    a, b = draw("I8", (rows, summed), rng), draw("I8", (columns, summed), rng)
    row_scale, column_scale = (rng.uniform(0.001, 0.01, count).astype(np.float32) for count in (rows, columns))
    bias = draw("S", (columns,), rng)
    shuffled = b.reshape(columns // 32, 32, summed // 32, 2, 16).transpose(0, 2, 3, 1, 4)
    c = np.zeros((rows, columns), np.uint16)
    buffers = upload(device, c, a, shuffled, row_scale, column_scale, bias)
    launch_by_name(
        device,
        only_kernel(device, f"i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_{tile}x128.co"),
        (columns // 128 * splits, -(-rows // tile)),
        256,
        {
            **dict(zip(("C", "A", "B", "SA", "SB", "BIAS"), buffers, strict=True)),
            "M": rows,
            "N": columns,
            "K": summed,
            "PA": summed,
            "PB": summed,
            "PC": columns * 2,
            "KS": splits,
        },
    )
    sums = a.astype(np.int64) @ b.astype(np.int64).T
    exact = sums * row_scale[:, None].astype(float) * column_scale + bias
    error = np.abs(values_of("B", buffers[0].to_host(np.uint16).reshape(c.shape)) - exact)
    # Each part of the sum is rounded to bf16, and so is what they add up to.
    parts = np.abs(a.astype(float)) @ np.abs(b.astype(float)).T * row_scale[:, None] * column_scale
    allowed = 2.0**-8 * np.abs(exact) if splits == 1 else 2.0**-8 * (np.abs(exact) + parts)
    assert np.all(error <= allowed + 1e-4)


def test_block_scaled_fp8_gemm_of_aiter_is_right(device: Device, rng) -> None:
    rows, columns, summed, block = 128, 512, 512, 128
    a, b = draw("F8", (rows, summed), rng), draw("F8", (columns, summed), rng)
    a_scale = rng.uniform(0.5, 1.5, (summed // block, rows)).astype(np.float32)
    b_scale = rng.uniform(0.5, 1.5, (summed // block, columns // block)).astype(np.float32)
    shuffled = b.reshape(columns // 16, 16, summed // 64, 4, 16).transpose(0, 2, 3, 1, 4)
    d = np.zeros((rows, columns), np.float16)
    a_buffer, b_buffer, a_scales, b_scales, d_buffer = upload(device, a, shuffled, a_scale, b_scale, d)
    launch_by_name(
        device,
        only_kernel(device, "flatmm_uk_gfx9_f16f8_128x256x128_1x4x1_16x16x32.co"),
        (columns // 256, rows // 128),
        256,
        {
            "a_ptr": a_buffer,
            "b_ptr": b_buffer,
            "sa_ptr": a_scales,
            "sb_ptr": b_scales,
            "d_f16_ptr": d_buffer,
            "hidden_size": summed,
            "intermediate_size": columns,
            "num_tokens": rows,
        },
    )
    a = values_of("F8", a) * np.repeat(a_scale.T, block, 1)
    b = values_of("F8", b) * np.repeat(np.repeat(b_scale.T, block, 0), block, 1)
    error = np.abs(d_buffer.to_host(np.float16).reshape(d.shape) - a @ b.T)
    assert np.all(error <= 2.0**-11 * np.abs(a @ b.T) + summed * 2.0**-23 * (np.abs(a) @ np.abs(b).T))


@pytest.mark.parametrize(("experts", "chosen"), [(128, 6), (128, 8), (256, 6), (256, 8)])
@pytest.mark.parametrize("renormalize", [0, 1])
def test_top_experts_of_aiter_are_right(experts: int, chosen: int, renormalize: int, device: Device, rng) -> None:
    tokens = 10
    gates = draw("S", (tokens, experts), rng)
    indices, weights = np.zeros((tokens, chosen), np.int32), np.zeros((tokens, chosen), np.float32)
    index_buffer, weight_buffer, gate_buffer = upload(device, indices, weights, gates)
    launch_by_name(
        device,
        only_kernel(device, f"topksoftmax/topksoftmax_4x{experts}x{chosen}.co"),
        (-(-tokens // 4),),
        256,
        {
            "T": index_buffer,
            "W": weight_buffer,
            "A": gate_buffer,
            "batch": tokens,
            "expert": experts,
            "topk": chosen,
            "renormalize": renormalize,
            "out_stride": chosen * 4,
        },
    )
    shares = np.exp(gates.astype(float))
    shares /= shares.sum(1, keepdims=True)
    best = np.argsort(-shares, 1)[:, :chosen]
    expected = np.take_along_axis(shares, best, 1)
    expected /= expected.sum(1, keepdims=True) if renormalize else 1
    np.testing.assert_array_equal(index_buffer.to_host(np.int32).reshape(best.shape), best)
    np.testing.assert_allclose(weight_buffer.to_host(np.float32).reshape(best.shape), expected, rtol=2e-6)


def test_norm_of_aiter_is_right(device: Device, rng) -> None:
    """Its file is called a layer norm; the machine code adds up a mean and does not use it: it is an RMS norm."""
    rows, columns, epsilon = 6, 8192, 1e-5
    names = ("InBuffer", "InResidualBuffer", "WeightBuffer", "BiasBuffer")
    shapes = ((rows, columns), (rows, columns), (columns,), (columns,))
    stored = [draw("B", shape, rng) for shape in shapes]
    buffers = dict(zip(names, upload(device, *stored), strict=True))
    out, residual = upload(device, *[np.zeros(rows * columns, np.uint16)] * 2)
    launch_by_name(
        device,
        only_kernel(device, "layer_norm.co"),
        (rows // 2,),
        256,
        {
            "OutBuffer": out,
            "OutResidualBuffer": residual,
            **buffers,
            "epsilon": np.float32(epsilon).tobytes(),
            "M": rows,
            "N": columns,
        },
    )
    x, y, weight, bias = (values_of("B", array) for array in stored)
    total = x + y
    scaled = total / np.sqrt(np.square(total).mean(1, keepdims=True) + epsilon) * weight
    for buffer, expected, terms in ((residual, total, 0), (out, scaled + bias, np.abs(scaled) + np.abs(bias))):
        result = values_of("B", buffer.to_host(np.uint16).reshape(rows, columns))
        # The kernel cuts its results to bf16.
        assert np.all(np.abs(result - expected) <= 2.0**-7 * np.abs(expected) + 1e-5 * terms)
