"""A container is read in place: what it costs is the file and the one code object that is chosen."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from support import elf
from support.containers import HOST_ENTRY, Export, bundle, hip_entry, host_file, wrapped

from hipgraph_cb import open_device
from hipgraph_cb.cli import main
from hipgraph_cb.code_object.verify import verify

ADD = elf.kernel("add", [elf.pointer(0)])
GFX90A = 0x3F | 0x100 | 0x400
TARGETS = {GFX90A: "gfx90a", elf.GFX942_FLAGS: "gfx942"}


def code_object(flags: int, size: int) -> bytes:
    data = elf.code_object(ADD, flags=flags, root=elf.document(ADD, target=f"amdgcn-amd-amdhsa--{TARGETS[flags]}"))
    return data + bytes(size - len(data))


def fat_binary(size: int) -> bytes:
    """40 bundles in all, of which the last one is for gfx942; each code object has `size` bytes."""
    other = bundle((HOST_ENTRY, b""), (hip_entry("gfx90a"), code_object(GFX90A, size)))
    ours = bundle((HOST_ENTRY, b""), (hip_entry("gfx942"), code_object(elf.GFX942_FLAGS, size)))
    return host_file((other + bytes(-len(other) % 4096)) * 39 + ours)


def memory_of(call: Callable[[], object]) -> tuple[int, int]:
    """The bytes that a call has at most, and those that are left of it while its result lives."""
    call()  # imports and caches
    gc.collect()
    tracemalloc.start()
    try:
        result = call()
        gc.collect()
        left, peak = tracemalloc.get_traced_memory()
        del result
        return peak, left
    finally:
        tracemalloc.stop()


def test_verifying_a_fat_binary_copies_one_code_object() -> None:
    data = fat_binary(100_000)
    peak, _ = memory_of(lambda: verify(data, "gfx942"))
    assert peak < 0.05 * len(data)


def test_verifying_a_wrapped_bundle_copies_one_code_object() -> None:
    inner = bundle(
        (hip_entry("gfx90a"), code_object(GFX90A, 4_000_000)),
        (hip_entry("gfx942"), code_object(elf.GFX942_FLAGS, 100_000)),
    )
    data = wrapped(b"AMD1", [Export("add.kd", (64, 1, 1), 0, 1)], [inner])
    peak, _ = memory_of(lambda: verify(data, "gfx942"))
    assert peak < 0.05 * len(data)


@pytest.mark.parametrize("size", [100_000, pytest.param(2_000_000, marks=pytest.mark.long)])
def test_loading_a_file_takes_the_file_and_keeps_what_was_chosen(tmp_path: Path, size: int) -> None:
    path = tmp_path / "library.so"
    path.write_bytes(fat_binary(size))
    with open_device() as device:
        peak, left = memory_of(lambda: device.load(path))
    assert peak < 1.2 * path.stat().st_size
    assert left < 0.1 * path.stat().st_size


@pytest.mark.parametrize("size", [100_000, pytest.param(2_000_000, marks=pytest.mark.long)])
def test_inspecting_a_file_takes_little_more_than_the_file(
    tmp_path: Path, size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "library.so"
    path.write_bytes(fat_binary(size))
    peak, _ = memory_of(lambda: main(["inspect", str(path)]))
    assert peak < 1.2 * path.stat().st_size
    assert capsys.readouterr().out.count("kernel add\n") == 2 * 40
