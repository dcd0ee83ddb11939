"""E1 for every form of file: 1 to 8 changed bytes give a result or a `HipGraphError`, soon and in little memory."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest
from support import elf
from support.containers import HOST_ENTRY, Export, bundle, compressed, hip_entry, host_file, wrapped
from support.steps import in_few_steps

from hipgraph_cb.code_object.hidden_args import LaunchShape, write_hidden
from hipgraph_cb.code_object.kernel_args import KernargLayout, ParameterKind
from hipgraph_cb.code_object.verify import VerifiedExecutable, verify
from hipgraph_cb.errors import HipGraphError

CORPUS = Path(__file__).parents[1] / "fixtures" / "corpus"
MEMORY = 64 << 20
SHAPE = LaunchShape((256, 1, 1), (64, 1, 1))
OBJECT = elf.code_object(
    elf.kernel("scale", [elf.pointer(0), elf.argument(8, 4), elf.argument(12, 2, "hidden_group_size_x")])
)
BUNDLE = bundle((HOST_ENTRY, b""), (hip_entry("gfx942"), OBJECT), alignment=64)
EXPORT = Export("scale.kd", (64, 1, 1), 1, 1, debug=("scale", ("a.mlir", 1), [("lower", ("b.mlir", 2))]))

INPUTS = {
    "raw": OBJECT,
    "clang": (CORPUS / "clang/h_hip.gfx942.hsaco").read_bytes(),
    "bundle": BUNDLE,
    "zlib": compressed(BUNDLE),
    "zstd": (CORPUS / "clang/h_hip.cbundle").read_bytes(),
    "fat": host_file(BUNDLE + bytes(100) + compressed(BUNDLE)),
    "amd1": wrapped(b"AMD1", [EXPORT], [OBJECT], isa="gfx942"),
    "hip1": wrapped(b"HIP1", [Export("scale", (64, 1, 1), 1, 1)], [BUNDLE]),
    "iree": (CORPUS / "iree/gfx942/ew/ew.amd1.fb").read_bytes(),
}


def answer(data: bytes) -> VerifiedExecutable | None:
    """None for a refusal. Anything but a HipGraphError gets out and fails the test."""
    try:
        return verify(data, "gfx942")
    except HipGraphError as error:
        assert str(error)
        return None


def pack_and_stay_inside(layout: KernargLayout) -> None:
    values = [None if row.kind is ParameterKind.POINTER else bytes(row.size) for row in layout.parameters]
    block = bytearray(layout.pack(values).block)
    write_hidden(block, layout, SHAPE)
    assert len(block) == layout.size
    assert all(row.offset + row.size <= layout.size for row in (*layout.parameters, *layout.hidden))


def corruptions(data: bytes, count: int, seed: str) -> list[bytes]:
    chance = random.Random(seed)
    # Headers are small and decide everything, so every second change falls into the first 512 bytes.
    results = []
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 8)):
            end = len(data) if chance.random() < 0.5 else min(len(data), 512)
            changed[chance.randrange(end)] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        results.append(bytes(changed))
    return results


def check(rows: list[bytes]) -> int:
    """How many of the rows were refused."""
    refused = 0
    for data in rows:
        executable = in_few_steps(lambda data=data: answer(data))
        refused += executable is None
        if executable is not None:
            for export in executable.exports.values():
                pack_and_stay_inside(export.layout)
    return refused


@pytest.mark.parametrize("form", INPUTS)
def test_the_unchanged_input_is_sound(form: str) -> None:
    if form == "zstd":
        assert verify(INPUTS[form], "gfx90a").exports
    else:
        assert verify(INPUTS[form], "gfx942").exports


@pytest.mark.parametrize("form", INPUTS)
def test_changed_bytes_are_answered_in_few_steps(form: str) -> None:
    assert check(corruptions(INPUTS[form], 450, form)) > 45


@pytest.mark.long
@pytest.mark.parametrize("batch", range(10))
@pytest.mark.parametrize("form", INPUTS)
def test_very_many_changed_bytes_are_answered_in_few_steps(form: str, batch: int) -> None:
    assert check(corruptions(INPUTS[form], 2223, f"{form} {batch}")) > 222


@pytest.mark.parametrize("form", INPUTS)
def test_changed_bytes_take_little_memory(form: str) -> None:
    tracemalloc.start()
    try:
        for data in corruptions(INPUTS[form], 60, f"memory {form}"):
            tracemalloc.reset_peak()
            answer(data)
            assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["bundle", "zlib", "amd1", "hip1"])
def test_every_prefix_of_a_container_is_refused(form: str) -> None:
    data = INPUTS[form]
    assert check([data[:length] for length in range(len(data))]) == len(data)


def test_every_prefix_of_a_host_file_is_refused_or_holds_the_whole_section() -> None:
    data = INPUTS["fat"]
    assert check([data[:length] for length in range(0, len(data), 7)]) == len(range(0, len(data), 7))
