"""Kernels of the corpus on the virtual gfx942, each replayed and waited for, and checked once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from hipgraph_cb import open_device
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.runtime.buffer import Buffer
from hipgraph_cb.runtime.device import Device
from hipgraph_cb.runtime.executable import Executable, Export
from tests.benchmarks.timing import Figure, median_seconds

CORPUS = Path(__file__).parent.parent / "fixtures" / "corpus"
CLANG = "clang/k_cl.gfx942.hsaco"
IREE_MATMUL = "iree/gfx942/mm/module_mm_linked_rocm_hsaco_fb.hsaco"
Kernel = Callable[[Device, Executable], Callable[[], None]]
SIZE = 256  # rows and columns of the matrices


def figures(calibration: float) -> list[Figure]:
    """Kernels of three compilers, and one wave; `calibration` is their unit."""
    rows: list[tuple[str, str, Kernel, str]] = [
        ("saxpy, 2^20", CLANG, saxpy, "about 20 ms"),
        ("reduce_lds, 2^20", CLANG, reduce_lds, "about 40 ms"),
        ("matmul_naive, 256^3", CLANG, matmul_naive, "about 100 ms"),
        ("matmul_lds, 256^3", CLANG, matmul_lds, "about 80 ms"),
        ("Triton f16 matmul, 256^3", "triton/matmul16.gfx942.hsaco", triton_matmul, "about 50 ms"),
        ("Triton softmax, 1024 x 1000", "triton/softmax.gfx942.hsaco", triton_softmax, "about 60 ms"),
        ("IREE f16 matmul, 256^3", IREE_MATMUL, iree_matmul, "about 50 ms"),
        ("warm dispatch of one wave", CLANG, one_wave, "150 us"),
    ]
    with open_device() as device:
        results = []
        for name, code_object, kernel, hold in rows:
            seconds = median_seconds(kernel(device, device.load(CORPUS / code_object)))
            results.append(Figure(f"virtual gfx942: {name}", seconds, seconds / calibration, "calibrate()", hold))
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
    return _matmul(device, executable["matmul_naive"], (16, 16))


def matmul_lds(device: Device, executable: Executable) -> Callable[[], None]:
    return _matmul(device, executable["matmul_lds"], None)


def _matmul(device: Device, export: Export, workgroup_size: tuple[int, int] | None) -> Callable[[], None]:
    out, a, b, expected = _matrices(device, np.float32)
    with device.command_buffer() as cb:
        cb.dispatch(export, (SIZE // 16, SIZE // 16), workgroup_size, args=[out, a, b, SIZE, SIZE, SIZE])
    return _checked(device, cb, out, expected)


def triton_matmul(device: Device, executable: Executable) -> Callable[[], None]:
    out, a, b, expected = _matrices(device, np.float16)
    arguments = [a, b, out, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, None, None]
    with device.command_buffer() as cb:
        cb.dispatch(executable["matmul"], (SIZE // 64, SIZE // 64), 256, args=arguments, dynamic_lds=8192)
    return _checked(device, cb, out, expected)


def triton_softmax(device: Device, executable: Executable) -> Callable[[], None]:
    rows, columns = 1024, 1000
    x = np.random.default_rng(1).standard_normal((rows, columns)).astype(np.float32)
    out, x_buffer = device.allocate(x.nbytes), device.from_host(x)
    arguments = [out, x_buffer, columns, columns, None, None]
    with device.command_buffer() as cb:
        cb.dispatch(executable["softmax"], rows, 256, args=arguments, dynamic_lds=16)
    exponentials = np.exp(x - x.max(axis=1, keepdims=True))
    return _checked(device, cb, out, exponentials / exponentials.sum(axis=1, keepdims=True))


def iree_matmul(device: Device, executable: Executable) -> Callable[[], None]:
    out, a, b, expected = _matrices(device, np.float16)
    with device.command_buffer() as cb:
        cb.dispatch(executable["mm16_dispatch_0_matmul_256x256x256_f16xf16xf32"], 8, args=[a, b, out])
    return _checked(device, cb, out, expected)


def _matrices(device: Device, dtype: type[np.floating]) -> tuple[Buffer, Buffer, Buffer, np.ndarray]:
    """A float32 result, two random factors, and what the result must be."""
    a, b = (np.random.default_rng(seed).standard_normal((SIZE, SIZE)).astype(dtype) for seed in (1, 2))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return device.allocate(4 * SIZE * SIZE), device.from_host(a), device.from_host(b), expected


def _checked(device: Device, cb: CommandBuffer, out: Buffer, expected: np.ndarray) -> Callable[[], None]:
    replay(device, cb)
    check(np.allclose(out.to_host(np.float32).reshape(expected.shape), expected, rtol=1e-3, atol=1e-3))
    return lambda: replay(device, cb)


def one_wave(device: Device, executable: Executable) -> Callable[[], None]:
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    x_buffer, y_buffer = device.from_host(x), device.from_host(y)
    with device.command_buffer() as cb:
        cb.dispatch(executable["saxpy"], 1, 64, args=[y_buffer, x_buffer, 2.0, 64])
    replay(device, cb)
    check(np.array_equal(y_buffer.to_host(np.float32), 2 * x + y))
    return lambda: replay(device, cb)


def replay(device: Device, cb: CommandBuffer) -> None:
    cb.replay()
    device.synchronize()


def check(right: bool) -> None:
    if not right:
        raise SystemExit("a kernel gave a wrong result: its time means nothing")
