"""Structured mutants of every form of file: one family of errors, few steps, memory that the file bounds."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path

import pytest
from support import elf
from support.container_mutants import mutant
from support.containers import HOST_ENTRY, Export, bundle, compressed, hip_entry, host_file, wrapped
from support.steps import in_few_steps

from hipgraph_cb.cli.inspect import as_text, describe
from hipgraph_cb.code_object.container import read_container
from hipgraph_cb.code_object.extent import infer_size
from hipgraph_cb.code_object.verify import inspect, verify
from hipgraph_cb.errors import HipGraphError

CORPUS = Path(__file__).parents[1] / "fixtures" / "corpus"
OBJECT = (CORPUS / "clang/h_hip.gfx942.hsaco").read_bytes()
BUNDLE = bundle((HOST_ENTRY, b""), (hip_entry("gfx942"), OBJECT), (hip_entry("gfx942:xnack-"), OBJECT))
ADD = elf.code_object(elf.kernel("add", [elf.pointer(0), elf.argument(8, 4), elf.argument(16, 8, "hidden_heap_v1")]))
EXPORTS = [Export("add.kd", (64, 1, 1), 1, 1, debug=("add", ("a.mlir", 1), [("lower", ("b.mlir", 2)), ("end", None)]))]

SEEDS = {
    "raw": OBJECT,
    "small": ADD,
    "amd1": wrapped(b"AMD1", EXPORTS, [ADD], "gfx942"),
    "hip1": wrapped(b"HIP1", [Export("add", (64, 1, 1), 1, 1)], [bundle((hip_entry("gfx942"), ADD))]),
    "bundle": BUNDLE,
    "zlib": compressed(BUNDLE, version=3),
    "zstd": compressed(BUNDLE, method=1),
    "fat": host_file(BUNDLE + compressed(BUNDLE) + bytes(100) + compressed(BUNDLE, version=3, method=1)),
}
FLOOR, FACTOR = 8 << 20, 16


def use(data: bytes) -> None:
    """Everything that reads a file. An error that is not a HipGraphError fails the test."""
    for read in (read_container, _extent, inspect, lambda data: verify(data, "gfx942:sramecc+:xnack-")):
        try:
            found = read(data)
            if read is inspect:
                facts = describe(found)
                assert json.dumps(facts)
                assert as_text(Path("file"), facts).encode("utf-8", "surrogateescape")
        except HipGraphError as error:
            assert str(error)


def _extent(data: bytes) -> int:
    """As for a caller who has no length: the bytes behind the file read as zeros."""
    return infer_size(lambda offset, size: data[offset : offset + size].ljust(size, b"\0"), 1 << 20)


def check(form: str, count: int, seed: object) -> None:
    chance = random.Random(f"{form} {seed}")
    for _ in range(count):
        data = mutant(SEEDS[form], chance)
        in_few_steps(lambda data=data: use(data))


@pytest.mark.parametrize("form", SEEDS)
def test_mutants_are_read_or_refused(form: str) -> None:
    check(form, 100, "sample")


@pytest.mark.parametrize("form", SEEDS)
def test_mutants_take_memory_as_the_file_allows(form: str) -> None:
    chance = random.Random(f"memory {form}")
    tracemalloc.start()
    try:
        for _ in range(20):
            data = mutant(SEEDS[form], chance)
            tracemalloc.reset_peak()
            use(data)
            assert tracemalloc.get_traced_memory()[1] < FLOOR + FACTOR * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.long
@pytest.mark.parametrize("batch", range(25))
@pytest.mark.parametrize("form", SEEDS)
def test_a_million_mutants_are_read_or_refused_in_few_steps(form: str, batch: int) -> None:
    check(form, 5000, batch)
