"""Every kernel of rocBLAS, hipSPARSELt and AITER is read as LLVM reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from support.libraries import AITER, PACKAGES, Package, code_objects
from support.tools import run_tool

from hipgraph_cb.code_object.container import read_container
from hipgraph_cb.code_object.verify import VerifiedExecutable, inspect
from hipgraph_cb.virtual.isa.targets.gfx9.decode import TARGETS
from hipgraph_cb.virtual.isa.text.listing import Line, kernel_listing

pytestmark = pytest.mark.libraries

NUMBERS = ("kernarg_segment_size", "vgpr_count", "sgpr_count", "agpr_count", "vgpr_spill_count", "sgpr_spill_count")

# Kernels whose descriptor states another LDS size than the metadata, by the name of their package.
OTHER_LDS = {"libhipsparselt0": 14}

LISTED_LINES = 20_000  # of one kernel; rocBLAS has some of 400 000

by_package = pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)


def executables(package: Package) -> list[VerifiedExecutable]:
    return [inspect(file.read_bytes()) for file in code_objects(package)]


def stated_by_llvm(file: Path, scratch: Path) -> dict[str, dict[str, int | None]]:
    """Kernel -> what llvm-readobj prints of it, from the notes of the code object in the file."""
    (entry,) = read_container(file.read_bytes()).code_objects()
    scratch.write_bytes(entry.data)
    kernels = {}
    for row in re.split(r"^  - ", run_tool("llvm-readobj-19", "--notes", str(scratch)), flags=re.MULTILINE)[1:]:
        # Keys of the kernel stand four columns in, the first one behind the dash; those of arguments further in.
        values = dict(re.findall(r"^ {4}\.(\w+): +(.+)$", f"    {row}", re.MULTILINE))
        if "symbol" in values:
            name = values["name"].strip("'\"")
            kernels[name] = {key: int(values[key]) if key in values else None for key in NUMBERS}
    return kernels


def read_by_us(executable: VerifiedExecutable) -> dict[str, dict[str, Any]]:
    kernels = {}
    for name, export in executable.exports.items():
        registers = export.metadata.registers
        row = export.kernarg_size, registers.vgprs, registers.sgprs, registers.agprs
        numbers = *row, registers.spilled_vgprs, registers.spilled_sgprs
        kernels[name] = dict(zip(NUMBERS, numbers, strict=True))
    return kernels


@by_package
def test_every_kernel_has_the_numbers_that_llvm_reads(package: Package, tmp_path: Path) -> None:
    files = code_objects(package)
    assert len(files) > 50
    for file in files:
        executable = inspect(file.read_bytes())
        expected = stated_by_llvm(file, tmp_path / "code_object")
        assert expected.keys() == executable.exports.keys() | executable.refused.keys(), file
        ours = read_by_us(executable)
        assert ours == {name: row for name, row in expected.items() if name in ours}, file


@by_package
def test_every_descriptor_has_metadata_and_no_kernel_is_refused(package: Package) -> None:
    disagreements: list[str] = []
    for executable in executables(package):
        assert (executable.undescribed, dict(executable.refused)) == ((), {})
        disagreements += [text for export in executable.exports.values() for text in export.disagreements]
    assert all(text.startswith("fixed LDS size: ") for text in disagreements)
    assert len(disagreements) == OTHER_LDS.get(package.name, 0)


def listing(executable: VerifiedExecutable, package: Package) -> Iterator[tuple[str, list[Line]]]:
    """Of AITER all of all kernels; of rocBLAS's thousands, which differ in sizes and types, the start of one a file."""
    kernels = [*executable.exports, *executable.refused]
    limit = None if package is AITER else LISTED_LINES
    for kernel in kernels if package is AITER else kernels[len(kernels) // 2 :][:1]:
        yield kernel, list(islice(kernel_listing(executable, kernel), limit))


@by_package
def test_instructions_are_known(package: Package) -> None:
    known = 0
    for executable in executables(package):
        if executable.target.processor not in TARGETS:
            continue
        for kernel, lines in listing(executable, package):
            unknown = [line for line in lines if line.text.startswith(".long")]
            assert not unknown, (kernel, unknown[:3])
            known += len(lines)
    assert known > 0 or not TARGETS.intersection(package.processors)
