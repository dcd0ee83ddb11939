"""Kernels of the corpus on the virtual gfx942, each replayed and waited for, and checked once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from hipgraph_cb import open_device
from hipgraph_cb.device import Device, Executable
from tests.benchmarks.timing import Figure, median_seconds

CODE_OBJECT = Path(__file__).parent.parent / "fixtures" / "corpus" / "clang" / "k_cl.gfx942.hsaco"
Kernel = Callable[[Device, Executable], Callable[[], None]]


def figures(calibration: float) -> list[Figure]:
    """saxpy, reduction, matrix product and one wave; `calibration` is their unit."""
    rows: list[tuple[str, Kernel, str]] = [
        ("virtual gfx942: saxpy, 2^20", saxpy, "about 20 ms"),
        ("virtual gfx942: reduce_lds, 2^20", reduce_lds, "about 40 ms"),
        ("virtual gfx942: matmul_naive, 256^3", matmul_naive, "about 100 ms"),
        ("virtual gfx942: warm dispatch of one wave", one_wave, "150 us"),
    ]
    with open_device() as device:
        executable = device.load(CODE_OBJECT)
        results = []
        for name, kernel, hold in rows:
            seconds = median_seconds(kernel(device, executable))
            results.append(Figure(name, seconds, seconds / calibration, "calibrate()", hold))
        return results


def saxpy(device: Device, executable: Executable) -> Callable[[], None]:
    count = 1 << 20
    x, y = np.arange(count, dtype=np.float32) % 100, np.ones(count, np.float32)
    x_buffer, y_buffer = device.from_host(x), device.from_host(y)
    with device.command_buffer() as cb:
        cb.dispatch(executable["saxpy"], count // 256, 256, args=[y_buffer, x_buffer, 2.0, count])
    replay(device, cb)
    check(np.array_equal(y_buffer.to_host(np.float32), 2 * x + y))
    return lambda: replay(device, cb)


def reduce_lds(device: Device, executable: Executable) -> Callable[[], None]:
    count, groups = 1 << 20, 256
    x = np.ones(count, np.float32)
    out, x_buffer = device.allocate(4 * groups), device.from_host(x)
    with device.command_buffer() as cb:
        cb.dispatch(executable["reduce_lds"], groups, args=[out, x_buffer, count])
    replay(device, cb)
    check(float(out.to_host(np.float32).sum()) == count)
    return lambda: replay(device, cb)


def matmul_naive(device: Device, executable: Executable) -> Callable[[], None]:
    size = 256
    a, b = (np.random.default_rng(seed).standard_normal((size, size)).astype(np.float32) for seed in (1, 2))
    out, a_buffer, b_buffer = device.allocate(4 * size * size), device.from_host(a), device.from_host(b)
    arguments = [out, a_buffer, b_buffer, size, size, size]
    with device.command_buffer() as cb:
        cb.dispatch(executable["matmul_naive"], (size // 16, size // 16), (16, 16), args=arguments)
    replay(device, cb)
    check(np.allclose(out.to_host(np.float32).reshape(size, size), a @ b, rtol=1e-3, atol=1e-3))
    return lambda: replay(device, cb)


def one_wave(device: Device, executable: Executable) -> Callable[[], None]:
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    x_buffer, y_buffer = device.from_host(x), device.from_host(y)
    with device.command_buffer() as cb:
        cb.dispatch(executable["saxpy"], 1, 64, args=[y_buffer, x_buffer, 2.0, 64])
    replay(device, cb)
    check(np.array_equal(y_buffer.to_host(np.float32), 2 * x + y))
    return lambda: replay(device, cb)


def replay(device: Device, cb: object) -> None:
    cb.replay()  # type: ignore[attr-defined]
    device.synchronize()


def check(right: bool) -> None:
    if not right:
        raise SystemExit("a kernel gave a wrong result: its time means nothing")
