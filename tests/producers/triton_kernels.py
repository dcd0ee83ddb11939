"""Kernels in Triton's language, written for these tests."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    values = tl.load(x + row * columns + offsets, mask=inside, other=float("-inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + offsets, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit
def layer_norm(out, x, weight, bias, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + offsets, mask=offsets < columns, other=0.0)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + offsets, mask=offsets < columns, other=0.0)
        centred = tl.where(offsets < columns, values - mean, 0.0)
        squares += centred * centred
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / columns + epsilon)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < columns
        values = tl.load(x + row * columns + offsets, mask=inside, other=0.0)
        w = tl.load(weight + offsets, mask=inside)
        b = tl.load(bias + offsets, mask=inside)
        tl.store(out + row * columns + offsets, (values - mean) * scale * w + b, mask=inside)


@triton.jit
def attention(out, q, k, v, length, scale, ROWS: tl.constexpr, KEYS: tl.constexpr, DEPTH: tl.constexpr):
    """Flash attention, forward: one program takes ROWS queries of one head; f16 in, f32 sums, f16 out."""
    head = tl.program_id(1)
    base = head * length * DEPTH
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    depth = tl.arange(0, DEPTH)
    queries = tl.load(q + base + rows[:, None] * DEPTH + depth[None, :], mask=rows[:, None] < length, other=0.0)
    highest = tl.full([ROWS], float("-inf"), tl.float32)
    weight = tl.zeros([ROWS], tl.float32)
    total = tl.zeros([ROWS, DEPTH], tl.float32)
    for start in range(0, length, KEYS):
        keys = start + tl.arange(0, KEYS)
        there = keys < length
        key = tl.load(k + base + keys[None, :] * DEPTH + depth[:, None], mask=there[None, :], other=0.0)
        scores = tl.dot(queries, key) * scale
        scores = tl.where(there[None, :], scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, axis=1))
        powers = tl.exp(scores - higher[:, None])
        shrink = tl.exp(highest - higher)
        value = tl.load(v + base + keys[:, None] * DEPTH + depth[None, :], mask=there[:, None], other=0.0)
        total = total * shrink[:, None] + tl.dot(powers.to(value.dtype), value)
        weight = weight * shrink + tl.sum(powers, axis=1)
        highest = higher
    result = (total / weight[:, None]).to(tl.float16)
    tl.store(out + base + rows[:, None] * DEPTH + depth[None, :], result, mask=rows[:, None] < length)


@triton.jit
def histogram(out, x, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    values = tl.load(x + offsets, mask=inside, other=0)
    tl.atomic_add(out + (values & 255), 1, mask=inside)


@triton.jit
def histogram_in_lds(out, x, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < count, other=0) & 255
    counts = tl.histogram(values, 256, mask=offsets < count)
    tl.atomic_add(out + tl.arange(0, 256), counts)


@triton.jit
def matmul(
    a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr, PRECISION: tl.constexpr
):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros([M, N], SUM)
    for start in range(0, k, K):
        depth = start + tl.arange(0, K)
        left = tl.load(
            a + rows[:, None] * k + depth[None, :], mask=(rows[:, None] < m) & (depth[None, :] < k), other=0.0
        )
        right = tl.load(
            b + depth[:, None] * n + columns[None, :], mask=(depth[:, None] < k) & (columns[None, :] < n), other=0.0
        )
        total = tl.dot(left, right, total, out_dtype=SUM, input_precision=PRECISION)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=inside)


@triton.jit
def row_sums(out, x, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, columns, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        inside = (row[:, None] < rows) & (column[None, :] < columns)
        total += tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0.0)
    tl.store(out + row, tl.sum(total, axis=1), mask=row < rows)


@triton.jit
def column_maxima(out, x, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    highest = tl.full([ROWS, COLUMNS], float("-inf"), tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row[:, None] < rows) & (column[None, :] < columns)
        values = tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=float("-inf"))
        highest = tl.maximum(highest, values)
    tl.store(out + column, tl.max(highest, axis=0), mask=column < columns)


@triton.jit
def transpose(out, x, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    values = tl.load(x + row[:, None] * columns + column[None, :], mask=inside)
    turned = (column[:, None] < columns) & (row[None, :] < rows)
    tl.store(out + column[:, None] * rows + row[None, :], tl.trans(values), mask=turned)


@triton.jit
def cumulative_sum(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    values = tl.load(x + row * columns + offsets, mask=inside, other=0.0)
    tl.store(out + row * columns + offsets, tl.cumsum(values, axis=0), mask=inside)


@triton.jit
def sort_rows(out, x, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.sort(tl.load(x + offsets)))


@triton.jit
def elementwise(out, x, y, count, BLOCK: tl.constexpr):
    """gelu(x) * sigmoid(y) in f32 of f16 inputs."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    a = tl.load(x + offsets, mask=inside).to(tl.float32)
    b = tl.load(y + offsets, mask=inside).to(tl.float32)
    gelu = 0.5 * a * (1.0 + tl.erf(a * 0.7071067811865476))
    tl.store(out + offsets, gelu * tl.sigmoid(b), mask=inside)


@triton.jit
def random_uniform(out, seed, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.randint(seed, offsets), mask=offsets < count)


@triton.jit
def special_functions(out, x, count, BLOCK: tl.constexpr):
    """Rows of exp, log, sin, cos, sqrt, rsqrt, tanh, pow, atan2, expm1, log1p, fmod, remainder of a division."""
    offsets = tl.arange(0, BLOCK)
    inside = offsets < count
    a = tl.load(x + offsets, mask=inside, other=1.0)
    tl.store(out + offsets, tl.exp(a), mask=inside)
    tl.store(out + count + offsets, tl.log(a), mask=inside)
    tl.store(out + 2 * count + offsets, tl.sin(a), mask=inside)
    tl.store(out + 3 * count + offsets, tl.cos(a), mask=inside)
    tl.store(out + 4 * count + offsets, tl.sqrt(a), mask=inside)
    tl.store(out + 5 * count + offsets, tl.rsqrt(a), mask=inside)
    tl.store(out + 6 * count + offsets, libdevice.tanh(a), mask=inside)
    tl.store(out + 7 * count + offsets, libdevice.pow(a, a), mask=inside)
    tl.store(out + 8 * count + offsets, libdevice.atan2(a, a + 1), mask=inside)
    tl.store(out + 9 * count + offsets, libdevice.fmod(a * 7, a + 1), mask=inside)
    tl.store(out + 10 * count + offsets, a / (a + 3), mask=inside)


@triton.jit
def counters(out, lock, x, count, BLOCK: tl.constexpr):
    """Sum, maximum, minimum, or, xor of all, each through an atomic a lane; then a lock taken by every program."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    values = tl.load(x + offsets, mask=inside, other=0)
    zero = offsets * 0
    tl.atomic_add(out + zero, values, mask=inside)
    tl.atomic_max(out + 1 + zero, values, mask=inside)
    tl.atomic_min(out + 2 + zero, values, mask=inside)
    tl.atomic_or(out + 3 + zero, values, mask=inside)
    tl.atomic_xor(out + 4 + zero, values, mask=inside)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(lock + 1, tl.load(lock + 1, volatile=True) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def converted(out, x, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    values = tl.load(x + offsets, mask=inside)
    tl.store(out + offsets, values.to(out.dtype.element_ty), mask=inside)


@triton.jit
def chosen(out, places, x, indices, count, BLOCK: tl.constexpr):
    """Rows by index; and where each row has its largest value."""
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < count
    origin = tl.load(indices + row)
    values = tl.load(x + origin * count + offsets, mask=inside, other=float("-inf"))
    tl.store(out + row * count + offsets, values, mask=inside)
    tl.store(places + row, tl.argmax(values, axis=0))


@triton.jit
def multiplied(a, b):
    return a * b


@triton.jit
def running_products(out, x, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.associative_scan(tl.load(x + offsets), 0, multiplied))
