"""A link of many objects keeps the metadata note of each: all of their kernels count."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import pytest
from support import elf
from support.tools import require_tool, run_tool

from hipgraph_cb.cli import main
from hipgraph_cb.code_object.verify import VerifiedExecutable, inspect, verify
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError

ADD = elf.kernel("add", [elf.pointer(0), elf.argument(8, 4)])
SCALE = elf.kernel("scale", [elf.pointer(0)])

SOURCE = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.amdhsa_code_object_version 5
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
  s_endpgm
.size {name}, .-{name}
.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
  {kernarg}
.end_amdhsa_kernel
"""
METADATA = """
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 4
    .max_flat_workgroup_size: 1024
    .args:
      - {{ .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }}
.end_amdgpu_metadata
"""


def linked(folder: Path, **sources: str) -> Path:
    """Each source assembled on its own, and all of them linked into one code object."""
    require_tool("clang-19")
    require_tool("ld.lld-19")
    objects = []
    for name, source in sources.items():
        (folder / f"{name}.s").write_text(source)
        objects.append(folder / f"{name}.o")
        command = ["clang-19", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-c", folder / f"{name}.s", "-o"]
        subprocess.run([*command, objects[-1]], check=True)
    subprocess.run(["ld.lld-19", "-shared", *objects, "-o", folder / "linked.hsaco"], check=True)
    return folder / "linked.hsaco"


def kernel(name: str, kernarg: str = ".amdhsa_kernarg_size 8") -> str:
    return SOURCE.format(name=name, kernarg=kernarg)


def of_notes(*roots: object) -> VerifiedExecutable:
    """A code object of `add` and `scale` whose metadata are these documents, each in a note of its own."""
    data = elf.code_object(ADD, SCALE)
    note = b"".join(elf.metadata_note(root) for root in roots)
    at = len(data)
    row = elf.program_header(elf.NOTE, at, len(note))
    start = elf.HEADER_SIZE + elf.PROGRAM_HEADER_SIZE
    return inspect(data[:start] + row + data[start + len(row) :] + note)


def test_kernels_of_two_linked_objects_are_both_found(tmp_path, capsys):
    file = linked(tmp_path, **{name: kernel(name) + METADATA.format(name=name) for name in ("first", "second")})
    assert run_tool("llvm-readobj-19", "--notes", str(file)).count("amdhsa.kernels:") == 2
    executable = verify(file.read_bytes(), "gfx942")
    assert (list(executable.exports), executable.undescribed) == (["first", "second"], ())
    assert main(["inspect", "--json", str(file)]) == 0
    assert list(json.loads(capsys.readouterr().out)["kernels"]) == ["first", "second"]


def test_a_kernel_without_metadata_is_reported_and_refuses_nothing(tmp_path, capsys):
    file = linked(tmp_path, first=kernel("first") + METADATA.format(name="first"), second=kernel("second"))
    executable = verify(file.read_bytes(), "gfx942")
    assert (list(executable.exports), dict(executable.refused)) == (["first"], {})
    assert executable.undescribed == ("second",)
    with pytest.raises(NotFoundError) as caught:
        executable.export("second")
    assert str(caught.value) == (
        "the code object has no kernel 'second'\n"
        "  found: 'second', which has a descriptor and no metadata\n"
        "  allowed: first"
    )
    assert main(["inspect", "--json", str(file)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["sound"], facts["undescribed"]) == (True, ["second"])
    assert main(["inspect", str(file)]) == 0
    assert "\nkernel second has a descriptor and no metadata\n" in capsys.readouterr().out
    assert main(["inspect", "--disassemble", "second", str(file)]) == 0
    assert capsys.readouterr().out == f"second:\n     0  {'000081bf':24}  s_endpgm\n"


def test_a_descriptor_that_states_no_kernarg_size_leaves_it_to_the_metadata(tmp_path):
    file = linked(tmp_path, first=kernel("first", kernarg="") + METADATA.format(name="first"))
    export = verify(file.read_bytes(), "gfx942").export("first")
    assert (export.descriptor.kernarg_size, export.kernarg_size) == (0, 8)


def test_a_refused_kernel_is_disassembled_all_the_same(tmp_path, capsys):
    metadata = METADATA.format(name="first").replace(".kernarg_segment_align: 8", ".kernarg_segment_align: 3")
    file = linked(tmp_path, first=kernel("first") + metadata)
    assert list(verify(file.read_bytes()).refused) == ["first"]
    assert main(["inspect", "--disassemble", "first", str(file)]) == 0
    assert capsys.readouterr().out == f"first:\n     0  {'000081bf':24}  s_endpgm\n"


def test_the_kernels_of_all_notes_count_in_file_order():
    executable = of_notes(elf.document(SCALE), elf.document(ADD))
    assert (list(executable.exports), dict(executable.refused)) == (["scale", "add"], {})


def test_a_note_without_a_target_or_without_printf_formats_agrees_with_one_that_has_them():
    first, second = elf.document(SCALE, target=None), elf.document(ADD) | {"amdhsa.printf": ["1:1:4:%d"]}
    assert list(of_notes(first, second).exports) == ["scale", "add"]
    assert list(of_notes(second, first).exports) == ["add", "scale"]


def test_notes_of_two_versions_are_refused():
    with pytest.raises(InvalidArgumentError) as caught:
        of_notes(elf.document(SCALE), elf.document(ADD) | {"amdhsa.version": [1, 1]})
    first, second = note_offsets(elf.document(SCALE))
    assert str(caught.value) == (
        "two metadata notes disagree in amdhsa.version\n"
        f"  where: metadata note at file offset {second}\n"
        "  found: [1, 1]\n"
        f"  allowed: [1, 2], as in the metadata note at file offset {first}\n"
        "  next: build the linked objects with one compiler and the same options"
    )


def test_notes_with_other_printf_formats_are_refused():
    with pytest.raises(InvalidArgumentError, match=r"^two metadata notes disagree in amdhsa\.printf\n"):
        of_notes(elf.document(SCALE) | {"amdhsa.printf": ["a"]}, elf.document(ADD) | {"amdhsa.printf": ["b"]})


def test_every_stated_target_must_agree_with_the_header():
    with pytest.raises(InvalidArgumentError, match=r"^the metadata and the ELF header name different targets\n"):
        of_notes(elf.document(SCALE), elf.document(ADD, target="amdgcn-amd-amdhsa--gfx90a"))


def test_one_kernel_in_two_notes_is_refused_and_the_others_are_not():
    executable = of_notes(elf.document(SCALE, ADD), elf.document(ADD))
    assert list(executable.exports) == ["scale"]
    assert executable.refused["add"].what == "two kernels have the same name"


def test_a_fault_names_the_note_that_has_it():
    _, second = note_offsets(elf.document(SCALE))
    with pytest.raises(InvalidArgumentError) as caught:
        of_notes(elf.document(SCALE), {})
    assert str(caught.value) == (
        "the metadata lacks amdhsa.kernels\n"
        f"  where: metadata note at file offset {second}, the root\n"
        "  found: []\n"
        "  allowed: a map with amdhsa.kernels"
    )
    refused = of_notes(elf.document(SCALE), elf.document(ADD | {".kernarg_segment_align": 3})).refused["add"]
    assert refused.where == f"metadata note at file offset {second}, amdhsa.kernels[0].kernarg_segment_align"


def note_offsets(first: object) -> tuple[int, int]:
    """The file offsets of the two descriptors that `of_notes` appends, when the first holds `first`."""
    start = len(elf.code_object(ADD, SCALE)) + struct.calcsize("<III") + len(b"AMDGPU\0\0")
    return start, start + len(elf.metadata_note(first))
