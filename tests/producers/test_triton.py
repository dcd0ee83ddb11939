"""Triton kernels, compiled for gfx942 in this test, recorded and replayed, against numpy."""

from __future__ import annotations

from math import erf

import numpy as np
import pytest

pytestmark = pytest.mark.producers
triton = pytest.importorskip("triton", reason="triton is not installed: see `make test-producers`")

from producers import triton_kernels as kernels  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

F16, F32, I32, I8, U32 = np.float16, np.float32, np.int32, np.int8, np.uint32


class Compiled:
    """A kernel for gfx942 with the facts that its launch needs."""

    def __init__(
        self, function, signature: dict[str, str], constants: dict[str, object], num_warps: int = 4, **options
    ) -> None:
        names = function.arg_names
        full = {name: signature.get(name, "constexpr") for name in names}
        attributes = {
            (index,): [["tt.divisibility", 16]] for index, name in enumerate(names) if full[name].startswith("*")
        }
        source = ASTSource(fn=function, signature=full, constexprs=constants, attrs=attributes)
        target = GPUTarget("hip", "gfx942", 64)
        result = triton.compile(source, target=target, options={"num_warps": num_warps, **options})
        self.code_object = result.asm["hsaco"]
        self.name = result.metadata.name
        self.block = num_warps * 64
        self.dynamic_lds = result.metadata.shared


def launch(device, compiled: Compiled, grid, args) -> None:
    """Record one dispatch, replay it and wait; Triton's two hidden pointers are null."""
    export = device.load(compiled.code_object)[compiled.name]
    grid = grid if isinstance(grid, tuple) else (grid,)
    with device.command_buffer(label=compiled.name) as cb:
        cb.dispatch(
            export,
            workgroup_count=grid,
            workgroup_size=compiled.block,
            args=[*args, None, None],
            dynamic_lds=compiled.dynamic_lds,
        )
    cb.replay()
    device.synchronize()


def random(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def bfloat16(values: np.ndarray) -> np.ndarray:
    """f32 to the bits of bf16, nearest even."""
    bits = values.astype(F32).view(U32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def widened(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(U32) << 16).view(F32)


def softmax_of(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 781), (16, 1024)])
def test_softmax(device, rows, columns):
    compiled = Compiled(kernels.softmax, {"out": "*fp32", "x": "*fp32", "columns": "i32"}, {"BLOCK": 1024})
    x = random().standard_normal((rows, columns)).astype(F32)
    out = device.from_host(np.zeros_like(x))
    launch(device, compiled, rows, [out, device.from_host(x), columns])
    np.testing.assert_allclose(out.to_host(F32).reshape(x.shape), softmax_of(x.astype(float)), rtol=1e-5)


@pytest.mark.parametrize(("rows", "columns"), [(3, 100), (7, 1500)])
def test_layer_norm(device, rows, columns):
    signature = dict.fromkeys(("out", "x", "weight", "bias"), "*fp32") | {"columns": "i32", "epsilon": "fp32"}
    compiled = Compiled(kernels.layer_norm, signature, {"BLOCK": 512})
    x = (random().standard_normal((rows, columns)) * 3 + 5).astype(F32)
    weight, bias = random(8).standard_normal((2, columns)).astype(F32)
    out = device.from_host(np.zeros_like(x))
    launch(device, compiled, rows, [out, *map(device.from_host, (x, weight, bias)), columns, 1e-5])
    wide = x.astype(float)
    centred = wide - wide.mean(axis=1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(out.to_host(F32).reshape(x.shape), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("heads", "length"), [(2, 128), (1, 200)])
def test_flash_attention_forward(device, heads, length):
    depth, scale = 64, 0.125
    signature = dict.fromkeys(("out", "q", "k", "v"), "*fp16") | {"length": "i32", "scale": "fp32"}
    compiled = Compiled(kernels.attention, signature, {"ROWS": 64, "KEYS": 32, "DEPTH": depth})
    q, k, v = random().standard_normal((3, heads, length, depth)).astype(F16)
    out = device.from_host(np.zeros_like(q))
    launch(device, compiled, (-(-length // 64), heads), [out, *map(device.from_host, (q, k, v)), length, scale])
    scores = softmax_of(q.astype(float) @ k.astype(float).swapaxes(1, 2) * scale)
    np.testing.assert_allclose(out.to_host(F16).reshape(q.shape), scores @ v.astype(float), atol=4e-3)


@pytest.mark.parametrize("name", ["histogram", "histogram_in_lds"])
def test_histogram(device, name):
    compiled = Compiled(getattr(kernels, name), {"out": "*i32", "x": "*i32", "count": "i32"}, {"BLOCK": 1024})
    x = random().integers(0, 1 << 30, 5000).astype(I32)
    out = device.from_host(np.zeros(256, I32))
    launch(device, compiled, 5, [out, device.from_host(x), x.size])
    assert np.array_equal(out.to_host(I32), np.bincount(x & 255, minlength=256))


def small_floats(fraction_bits: int, bias: int) -> np.ndarray:
    """The 256 values of an 8-bit float (FNUZ: one zero, 0x80 is NaN)."""
    codes = np.arange(256)
    fraction = (codes & (1 << fraction_bits) - 1) / (1 << fraction_bits)
    exponent = (codes & 0x7F) >> fraction_bits
    values = np.where(exponent > 0, (1 + fraction) * 2.0 ** (exponent - bias), fraction * 2.0 ** (1 - bias))
    values = np.where(codes & 0x80, -values, values)
    values[0x80] = np.nan
    return values


def random_codes(shape_of: np.ndarray) -> np.ndarray:
    """Codes of 8-bit floats of moderate size, one for each value of an array."""
    codes = random(11).integers(0x20, 0x48, shape_of.shape) | random(12).integers(0, 2, shape_of.shape) << 7
    return codes.astype(np.uint8)


MATMULS = {
    "fp32": (lambda values: values.astype(F32), lambda bits: bits, "fp32", 1e-4),
    "fp16": (lambda values: values.astype(F16), lambda bits: bits, "fp32", 1e-4),
    "bf16": (bfloat16, widened, "fp32", 1e-4),
    "i8": (lambda values: (values * 40).astype(I8), lambda bits: bits, "i32", 0),
    "fp8e4b8": (random_codes, lambda codes: small_floats(3, 8)[codes], "fp32", 1e-3),
    "fp8e5b16": (random_codes, lambda codes: small_floats(2, 16)[codes], "fp32", 1e-3),
}


def check_matmul(device, kind, m, n, k, precision="ieee", **options) -> None:
    encode, decode, total, tolerance = MATMULS[kind]
    tolerance = 0.02 if precision == "tf32" else tolerance
    signature = {"a": f"*{kind}", "b": f"*{kind}", "c": f"*{total}", "m": "i32", "n": "i32", "k": "i32"}
    sum_type = kernels.tl.int32 if total == "i32" else kernels.tl.float32
    constants = {"M": 64, "N": 64, "K": 32, "SUM": sum_type, "PRECISION": precision}
    compiled = Compiled(kernels.matmul, signature, constants, **options)
    a, b = encode(random().standard_normal((m, k))), encode(random(8).standard_normal((k, n)))
    dtype = I32 if total == "i32" else F32
    c = device.from_host(np.zeros((m, n), dtype))
    launch(device, compiled, (-(-m // 64), -(-n // 64)), [device.from_host(a), device.from_host(b), c, m, n, k])
    expected = decode(a).astype(float) @ decode(b).astype(float)
    np.testing.assert_allclose(c.to_host(dtype).reshape(m, n), expected, atol=tolerance)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (100, 70, 130)])
@pytest.mark.parametrize("kind", MATMULS)
def test_matmul(device, kind, m, n, k):
    check_matmul(device, kind, m, n, k)


@pytest.mark.parametrize("shape", [16, 32])
@pytest.mark.parametrize("kind", MATMULS)
def test_matmul_with_either_shape_of_matrix_instructions(device, kind, shape):
    check_matmul(device, kind, 64, 128, 96, matrix_instr_nonkdim=shape, num_warps=8, num_stages=2)


def test_matmul_in_reduced_precision(device):
    check_matmul(device, "fp32", 64, 64, 64, precision="tf32")


@pytest.mark.parametrize(("rows", "columns"), [(10, 300), (64, 64)])
def test_row_and_column_reductions(device, rows, columns):
    signature = {"out": "*fp32", "x": "*fp32", "rows": "i32", "columns": "i32"}
    x = random().standard_normal((rows, columns)).astype(F32)
    source = device.from_host(x)
    sums, maxima = device.from_host(np.zeros(rows, F32)), device.from_host(np.zeros(columns, F32))
    by_row = Compiled(kernels.row_sums, signature, {"ROWS": 16, "COLUMNS": 64})
    launch(device, by_row, -(-rows // 16), [sums, source, rows, columns])
    by_column = Compiled(kernels.column_maxima, signature, {"ROWS": 16, "COLUMNS": 64})
    launch(device, by_column, -(-columns // 64), [maxima, source, rows, columns])
    np.testing.assert_allclose(sums.to_host(F32), x.astype(float).sum(axis=1), rtol=1e-5, atol=1e-5)
    assert np.array_equal(maxima.to_host(F32), x.max(axis=0))


@pytest.mark.parametrize("kind", ["fp32", "fp16", "i8"])
def test_transpose(device, kind):
    dtype = {"fp32": F32, "fp16": F16, "i8": I8}[kind]
    signature = {"out": f"*{kind}", "x": f"*{kind}", "rows": "i32", "columns": "i32"}
    compiled = Compiled(kernels.transpose, signature, {"ROWS": 32, "COLUMNS": 64})
    x = (random().standard_normal((50, 130)) * 20).astype(dtype)
    out = device.from_host(np.zeros((130, 50), dtype))
    launch(device, compiled, (2, 3), [out, device.from_host(x), 50, 130])
    assert np.array_equal(out.to_host(dtype).reshape(130, 50), x.T)


def test_cumulative_sum(device):
    compiled = Compiled(kernels.cumulative_sum, {"out": "*fp32", "x": "*fp32", "columns": "i32"}, {"BLOCK": 1024})
    x = random().standard_normal((4, 1000)).astype(F32)
    out = device.from_host(np.zeros_like(x))
    launch(device, compiled, 4, [out, device.from_host(x), 1000])
    np.testing.assert_allclose(out.to_host(F32).reshape(x.shape), x.astype(float).cumsum(axis=1), rtol=1e-4, atol=1e-4)


def test_sort(device):
    compiled = Compiled(kernels.sort_rows, {"out": "*i32", "x": "*i32"}, {"BLOCK": 256})
    x = random().integers(-1000, 1000, (3, 256)).astype(I32)
    out = device.from_host(np.zeros_like(x))
    launch(device, compiled, 3, [out, device.from_host(x)])
    assert np.array_equal(out.to_host(I32).reshape(x.shape), np.sort(x, axis=1))


def test_gelu_times_sigmoid(device):
    signature = {"out": "*fp32", "x": "*fp16", "y": "*fp16", "count": "i32"}
    compiled = Compiled(kernels.elementwise, signature, {"BLOCK": 1024})
    x, y = random().standard_normal((2, 3000)).astype(F16)
    out = device.from_host(np.zeros(3000, F32))
    launch(device, compiled, 3, [out, device.from_host(x), device.from_host(y), 3000])
    a, b = x.astype(float), y.astype(float)
    expected = 0.5 * a * (1 + np.array([erf(value / 2**0.5) for value in a])) / (1 + np.exp(-b))
    np.testing.assert_allclose(out.to_host(F32), expected, rtol=1e-4, atol=1e-6)


def philox(seed: int, counters: np.ndarray) -> np.ndarray:
    """The first word of Philox 4x32-10 (Salmon et al., 2011) with the counter in word 0."""
    c = [counters.astype(np.uint64), *(np.zeros(counters.shape, np.uint64) for _ in range(3))]
    key, mask = [seed & 0xFFFFFFFF, seed >> 32], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            second >> np.uint64(32) ^ c[1] ^ np.uint64(key[0]),
            second & mask,
            first >> np.uint64(32) ^ c[3] ^ np.uint64(key[1]),
            first & mask,
        ]
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c[0].astype(U32)


def test_random_numbers_are_philox(device):
    compiled = Compiled(kernels.random_uniform, {"out": "*i32", "seed": "i32", "count": "i32"}, {"BLOCK": 256})
    out = device.from_host(np.zeros(1000, I32))
    launch(device, compiled, 4, [out, 12345, 1000])
    assert np.array_equal(out.to_host(U32), philox(12345, np.arange(1000)))


FUNCTIONS = (
    *(np.exp, np.log, np.sin, np.cos, np.sqrt, lambda a: 1 / np.sqrt(a), np.tanh, lambda a: a**a),
    *(lambda a: np.arctan2(a, a + 1), lambda a: np.fmod(a * 7, a + 1), lambda a: a / (a + 3)),
)


@pytest.mark.parametrize(("kind", "tolerance"), [("fp32", 1e-5), ("fp64", 1e-12)])
def test_special_functions(device, kind, tolerance):
    dtype = F32 if kind == "fp32" else np.float64
    compiled = Compiled(kernels.special_functions, {"out": f"*{kind}", "x": f"*{kind}", "count": "i32"}, {"BLOCK": 256})
    x = random().uniform(0.125, 6, 200).astype(dtype)
    x = np.round(x * 64) / 64  # fmod of exact quotients
    out = device.from_host(np.zeros((len(FUNCTIONS), 200), dtype))
    launch(device, compiled, 1, [out, device.from_host(x.astype(dtype)), 200])
    found = out.to_host(dtype).reshape(len(FUNCTIONS), 200)
    for row, function in zip(found, FUNCTIONS, strict=True):
        np.testing.assert_allclose(row, function(x.astype(float)), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", ["i32", "i64"])
def test_atomics_and_a_lock(device, kind):
    dtype = I32 if kind == "i32" else np.int64
    signature = {"out": f"*{kind}", "lock": "*i32", "x": f"*{kind}", "count": "i32"}
    compiled = Compiled(kernels.counters, signature, {"BLOCK": 256})
    # Triton 3.9 combines the lanes of a wave with unsigned maxima and minima before its signed atomics
    x = random().integers(0, 1000, 2000).astype(dtype)
    out, lock = device.from_host(np.array([0, -5000, 5000, 0, 0], dtype)), device.from_host(np.zeros(2, I32))
    launch(device, compiled, 8, [out, lock, device.from_host(x), x.size])
    assert lock.to_host(I32).tolist() == [0, 8]
    expected = [x.sum(), x.max(), x.min(), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x)]
    assert out.to_host(dtype).tolist() == [int(value) for value in expected]


def to_code(values: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The nearest code, of two the even one."""
    positive = table[:0x80]
    magnitude = np.abs(values)
    above = np.clip(np.searchsorted(positive, magnitude), 1, 0x7F)
    low, high = magnitude - positive[above - 1], positive[above] - magnitude
    code = np.where((low < high) | ((low == high) & (above % 2 == 1)), above - 1, above)
    return np.where((values < 0) & (code > 0), code | 0x80, code).astype(np.uint8)


@pytest.mark.parametrize(("kind", "layout", "limit"), [("fp8e4b8", (3, 8), 200), ("fp8e5b16", (2, 16), 40000)])
def test_conversions_to_and_from_8_bit_floats(device, kind, layout, limit):
    table = small_floats(*layout)
    narrow = Compiled(kernels.converted, {"out": f"*{kind}", "x": "*fp32", "count": "i32"}, {"BLOCK": 256})
    wide = Compiled(kernels.converted, {"out": "*fp32", "x": f"*{kind}", "count": "i32"}, {"BLOCK": 256})
    x = (random().uniform(-1, 1, 1000) ** 5 * limit).astype(F32)
    codes, values = device.from_host(np.zeros(1000, np.uint8)), device.from_host(np.zeros(256, F32))
    launch(device, narrow, 4, [codes, device.from_host(x), 1000])
    launch(device, wide, 1, [values, device.from_host(np.arange(256, dtype=np.uint8)), 256])
    assert np.array_equal(codes.to_host(), to_code(x.astype(float), table))
    assert np.array_equal(values.to_host(F32), table.astype(F32), equal_nan=True)


CONVERSIONS = (
    *(("fp32", "fp16"), ("fp32", "bf16"), ("fp64", "fp32"), ("fp32", "i32")),
    *(("fp16", "fp32"), ("i64", "fp64"), ("i8", "fp16")),
)


@pytest.mark.parametrize(("source", "target"), CONVERSIONS)
def test_conversions(device, source, target):
    dtypes = {"fp32": F32, "fp16": F16, "fp64": np.float64, "i32": I32, "i64": np.int64, "i8": I8, "bf16": np.uint16}
    compiled = Compiled(kernels.converted, {"out": f"*{target}", "x": f"*{source}", "count": "i32"}, {"BLOCK": 256})
    x = (random().standard_normal(1000) * 50).astype(dtypes[source])
    out = device.from_host(np.zeros(1000, dtypes[target]))
    launch(device, compiled, 4, [out, device.from_host(x), 1000])
    expected = bfloat16(x) if target == "bf16" else x.astype(dtypes[target])
    assert np.array_equal(out.to_host(dtypes[target]), expected)


def test_rows_by_index_and_their_largest_value(device):
    signature = {"out": "*fp32", "places": "*i32", "x": "*fp32", "indices": "*i32", "count": "i32"}
    compiled = Compiled(kernels.chosen, signature, {"BLOCK": 512})
    x, indices = random().standard_normal((9, 300)).astype(F32), random().integers(0, 9, 5).astype(I32)
    out, places = device.from_host(np.zeros((5, 300), F32)), device.from_host(np.zeros(5, I32))
    launch(device, compiled, 5, [out, places, device.from_host(x), device.from_host(indices), 300])
    assert np.array_equal(out.to_host(F32).reshape(5, 300), x[indices])
    assert np.array_equal(places.to_host(I32), x[indices].argmax(axis=1))


@pytest.mark.parametrize("kind", ["i32", "i64", "fp64"])
def test_running_products(device, kind):
    dtype = {"i32": I32, "i64": np.int64, "fp64": np.float64}[kind]
    compiled = Compiled(kernels.running_products, {"out": f"*{kind}", "x": f"*{kind}"}, {"BLOCK": 128})
    x = random().choice([1, -1, 2, 3], (2, 128), p=[0.5, 0.3, 0.1, 0.1]).astype(dtype)
    out = device.from_host(np.zeros_like(x))
    launch(device, compiled, 2, [out, device.from_host(x)])
    with np.errstate(over="ignore"):
        expected = np.cumprod(x, axis=1, dtype=dtype)
    np.testing.assert_allclose(out.to_host(dtype).reshape(x.shape), expected, rtol=1e-12)
