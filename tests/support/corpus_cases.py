"""Launches of the corpus kernels with what numpy says they must give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

F16, F32, F64, I16, I32, I64, U8, U32 = (
    *(np.float16, np.float32, np.float64),
    *(np.int16, np.int32, np.int64, np.uint8, np.uint32),
)


@dataclass(frozen=True)
class Out:
    """A buffer that the kernel writes: what it starts as, what it must hold, and how exactly."""

    start: np.ndarray
    expected: np.ndarray
    relative: float = 0.0
    absolute: float = 0.0


@dataclass(frozen=True)
class Case:
    """One launch. `args` holds arrays (inputs), `Out`s, numbers and None."""

    kernel: str
    groups: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Any, ...]
    dynamic_lds: int = 0

    def __str__(self) -> str:
        return f"{self.kernel}-{'x'.join(map(str, self.groups))}-{'x'.join(map(str, self.block))}"


def random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(seed: int, *shape: int, dtype: Any = F32) -> np.ndarray:
    return random(seed).standard_normal(shape).astype(dtype)


def integers(seed: int, n: int, dtype: Any = I32) -> np.ndarray:
    info = np.iinfo(dtype)
    return random(seed).integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def fused(a: Any, b: Any, c: Any) -> np.ndarray:
    """a * b + c rounded to f32 once but for double rounding, which these values do not meet."""
    return (np.asarray(a, F64) * b + c).astype(F32)


def groups_for(n: int, block: int) -> tuple[int]:
    return (-(-n // block),)


def saxpy(kernel: str, n: int, block: int) -> Case:
    x, y = normal(n, n), normal(n + 1, n)
    out = Out(y, fused(x, F32(2.5), y))
    return Case(kernel, groups_for(n, block), (block,), (out, x, F32(2.5), n))


def vexp(n: int) -> np.ndarray:
    x = normal(n, n).astype(F64)
    return np.exp(x) / (1 + np.sqrt(np.abs(x)))


def _iops(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    wide, divisor = x.astype(I64), (z | 1).view(I32).astype(I64)
    ones = np.array([int(value).bit_count() for value in z])
    leading = np.array([32 - int(value | 1).bit_length() for value in z])
    quotient = np.sign(wide) * (np.abs(wide) // 7)
    return (quotient + z % 13 + (wide >> 3) + ones - leading + np.fmod(wide, divisor)).astype(I32)


def _i64ops(x: np.ndarray) -> np.ndarray:
    return x * x + (x >> 5) - (x << 3) + np.where(x < 0, 1, -1)


def _hops(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    exact = np.longdouble
    q = (p.astype(exact) * p + p).astype(F16)
    return (x.astype(exact) * exact(2.5) + q[:, 0]).astype(F16) - q[:, 1]


def _scratchy(x: np.ndarray) -> np.ndarray:
    result = []
    for i in range(len(x)):
        t = [int(x[(i + k) % len(x)]) for k in range(32)]
        s, p = 0, int(x[i]) & 31
        for k in range(32):
            s = s + t[p] & 0xFFFFFFFF
            p = p + t[p + k & 31] & 31
            t[p] = s
        result.append(s + t[p] & 0xFFFFFFFF)
    return np.array(result, U32).view(I32)


def _helper(a: int, b: int) -> int:
    r = 0
    for _ in range(b):
        r = r * 3 + a & 0xFFFFFFFF
    return r


def _callf(x: np.ndarray) -> np.ndarray:
    values = [_helper(int(v), int(v) & 7) + _helper(i, 3) & 0xFFFFFFFF for i, v in enumerate(x)]
    return np.array(values, U32).view(I32)


def _wavesum(x: np.ndarray, block: int) -> np.ndarray:
    waves = np.zeros(-(-x.size // block) * block, I64)
    waves[: x.size] = x
    halves = np.repeat(waves.reshape(-1, 32).sum(axis=1), 32).reshape(-1, 64)
    left = np.where(np.arange(64) % 16, halves[:, np.arange(64) - 1], 0)
    return (halves + 2 * left + halves[:, :1]).astype(I32).reshape(-1)[: x.size]


def _switch(x: np.ndarray) -> np.ndarray:
    wide = x.astype(I64)
    cases = {0: wide * 3, 1: wide - 5, 2: wide ^ 0x55, 3: np.sign(wide) * (np.abs(wide) // 3), 5: -wide}
    return np.select([(x & 7) == key for key in cases], list(cases.values()), wide + 1).astype(I32)


def elementwise(n: int, block: int) -> Iterator[Case]:
    """Every kernel of `k_cl` that maps arrays of `n` elements."""
    x, z, small = integers(n, n), integers(n + 1, n, U32), random(n).integers(-1000, 1000, n).astype(I32)
    wide, double = integers(n + 2, n, I64), normal(n + 3, n, dtype=F64) * 100
    half, halves = normal(n + 4, n, dtype=F16), normal(n + 5, n, 2, dtype=F16)
    octets, shorts = integers(n + 6, n, U8), integers(n + 7, n, I16)
    f64 = double * double / (double + 3.0) - double.astype(F32).astype(F64)
    rows: list[tuple[str, np.ndarray, tuple[np.ndarray, ...], float]] = [
        ("vexp", vexp(n).astype(F32), (normal(n, n),), 1e-5),
        ("iops", _iops(x, z), (x, z), 0),
        ("i64ops", _i64ops(wide), (wide,), 0),
        ("f64ops", f64, (double,), 1e-14),
        ("hops", _hops(half, halves), (half, halves), 0),
        ("u8ops", (octets.astype(I32) * 3 + shorts).astype(U8), (octets, shorts), 0),
        ("scratchy", _scratchy(x), (x,), 0),
        ("callf", _callf(x), (x,), 0),
        ("sw", _switch(x), (x,), 0),
    ]
    if block % 64 == 0:
        rows.append(("wavesum", _wavesum(small, block), (small,), 0))
    yield saxpy("saxpy", n, block)
    for kernel, expected, inputs, relative in rows:
        out = Out(np.zeros_like(expected), expected, relative)
        yield Case(kernel, groups_for(n, block), (block,), (out, *inputs, n))


def reductions(n: int, block: int) -> Iterator[Case]:
    """Sums, counts and the maximum of `n` elements."""
    x, counted, values = random(n).integers(-999, 999, n).astype(I32), integers(n, n, U32), normal(n, n)
    groups = groups_for(n, block)
    total = Out(np.zeros(1, I32), x.sum(keepdims=True, dtype=I32))
    yield Case("reduce_atomic", groups, (block,), (total, x, n))
    counts = Out(np.zeros(256, U32), np.bincount(counted & 255, minlength=256).astype(U32))
    yield Case("hist", groups, (block,), (counts, counted, n))
    highest = Out(np.full(1, -np.inf, F32), values.max(keepdims=True))
    yield Case("cas_max", groups, (block,), (highest, values, n))
    shares = np.zeros(-(-n // 1024) * 1024)
    shares[:n] = values
    sums = shares.reshape(-1, 4, 256).sum(axis=(0, 2)).astype(F32)
    yield Case("reduce_lds", (4,), (256,), (Out(np.zeros(4, F32), sums, 1e-5, 1e-4), values, n))


def product(kernel: str, m: int, n: int, k: int) -> Case:
    a, b = normal(m, m, k), normal(n, k, n)
    out = Out(np.zeros((m, n), F32), a.astype(F64) @ b.astype(F64), 1e-4, 1e-4)
    return Case(kernel, (-(-n // 16), -(-m // 16)), (16, 16), (out, a, b, m, n, k))


def transposition(h: int, w: int) -> Case:
    x = normal(h * w, h, w)
    return Case("transpose", (-(-w // 16), -(-h // 16)), (16, 16), (Out(np.zeros((w, h), F32), x.T), x, w, h))


def mandelbrot(w: int, h: int, limit: int) -> Case:
    """The last bit of an orbit decides some counts: a hundredth of them may differ, as `absolute` -1 says."""
    x, y = np.meshgrid(np.arange(w, dtype=F32), np.arange(h, dtype=F32))
    cx, cy = x * F32(3) / F32(w) - F32(2), y * F32(2) / F32(h) - F32(1)
    a, b, counts = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, U32)
    for _ in range(limit):
        inside = fused(a, a, b * b) < 4
        counts += inside
        a, b = np.where(inside, fused(a, a, -(b * b)) + cx, a), np.where(inside, fused(2 * a, b, cy), b)
    groups = (-(-w // 16), -(-h // 16))
    return Case("mandel", groups, (16, 16), (Out(np.zeros((h, w), U32), counts, absolute=-1), w, h, limit))


def opencl_cases(sizes: tuple[tuple[int, int], ...]) -> list[Case]:
    """All kernels of `k_cl`; `sizes` holds (elements, block)."""
    cases = [case for n, block in sizes for make in (elementwise, reductions) for case in make(n, block)]
    cases += [product("matmul_naive", *shape) for shape in ((16, 16, 16), (17, 33, 5), (40, 48, 64))]
    cases += [product("matmul_lds", *shape) for shape in ((16, 16, 16), (32, 48, 64))]
    cases += [transposition(*shape) for shape in ((32, 32), (48, 80), (20, 36))]
    return [*cases, mandelbrot(48, 32, 40), mandelbrot(20, 9, 25)]


def counted(n: int, block: int) -> Case:
    """`c_count`: odd values of each workgroup."""
    x = integers(n, n, U32)
    padded = np.zeros(-(-n // block) * block, U32)
    padded[:n] = x & 1
    out = padded.reshape(-1, block).sum(axis=1).astype(U32)
    return Case("c_count", groups_for(n, block), (block,), (Out(np.zeros_like(out), out), x, n))


def sizes_of_a_launch() -> Case:
    """`c_sizes`: what a kernel sees of a grid in three dimensions."""
    words = [16, 8, 2, 144, 72, 4, 9, 9, 2, 16 | 8 << 16, 2, 0, 3]
    return Case("c_sizes", (9, 9, 2), (16, 8, 2), (Out(np.zeros(13, U32), np.array(words, U32)),))


def sum_of_a_group() -> Case:
    """`h_red`: the sum of 256; another lane adds one to it, before or after it is stored."""
    x = random(5).integers(-50, 50, 1).astype(F32) + np.arange(256, dtype=F32)
    return Case("h_red", (1,), (256,), (Out(np.zeros(1, F32), np.array([x.sum() + 0.5], F32), absolute=0.5), x))


def copied(groups: int) -> Case:
    x = normal(groups, groups * 64)
    return Case("copy4", (groups,), (64,), (Out(np.zeros_like(x), x), x))


def triton_cases(dynamic_lds: Callable[[str], int]) -> dict[str, list[Case]]:
    """The launches of each Triton file; two scratch pointers, null, follow the arguments."""
    files: dict[str, list[Case]] = {"vadd": [], "softmax": [], "matmul16": []}
    for n in (1, 1000, 5000):
        x, y = normal(n, n), normal(n + 1, n)
        args = (x, y, Out(np.zeros(n, F32), x + y), n, None, None)
        files["vadd"].append(Case("vadd", (-(-n // 1024),), (256,), args, dynamic_lds("vadd")))
    for rows, columns in ((1, 1000), (37, 781)):
        x = normal(rows, rows, columns)
        powers = np.exp(x.astype(F64) - x.max(axis=1, keepdims=True))
        out = Out(np.zeros_like(x), powers / powers.sum(axis=1, keepdims=True), 1e-5)
        files["softmax"].append(
            Case("softmax", (rows,), (256,), (out, x, columns, columns, None, None), dynamic_lds("softmax"))
        )
    for m, n, k in ((64, 64, 64), (128, 64, 256)):
        a, b = normal(m, m, k, dtype=F16), normal(n, k, n, dtype=F16)
        out = Out(np.zeros((m, n), F32), a.astype(F64) @ b.astype(F64), absolute=1e-4)
        args = (a, b, out, m, n, k, k, n, n, None, None)
        files["matmul16"].append(Case("matmul", (m // 64, n // 64), (256,), args, dynamic_lds("matmul16")))
    return files


def iree_cases() -> dict[str, list[Case]]:
    a, b = normal(1, 4096), normal(2, 4096)
    out = Out(np.zeros(4096, F32), np.exp(a.astype(F64) * b + a), 1e-6)
    files: dict[str, list[Case]] = {"ew": [], "mm": []}
    files["ew"].append(Case("ew_dispatch_0_elementwise_4096_f32", (16,), (64,), (a, b, out)))
    for n in (1, 1000, 5000):  # two 64-bit numbers follow, the second counts; few groups walk over many elements
        x, y = normal(n, n), normal(n + 1, n)
        args = (x, y, Out(np.zeros(n, F32), x + y), n, 0, n, 0)
        files["ew"].append(Case("dyn_dispatch_0_elementwise_D_f32", (4,), (64,), args))
    for name, dtype in (
        ("mm32_dispatch_0_matmul_256x256x256_f32", F32),
        ("mm16_dispatch_0_matmul_256x256x256_f16xf16xf32", F16),
    ):
        left, right = normal(3, 256, 256, dtype=dtype), normal(4, 256, 256, dtype=dtype)
        total = Out(np.zeros((256, 256), F32), left.astype(F64) @ right.astype(F64), absolute=2e-4)
        files["mm"].append(Case(name, (8,), (256,), (left, right, total)))
    return files
