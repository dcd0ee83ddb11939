"""Real code objects from three compilers: what we read is what pyelftools and LLVM's tools read."""

from __future__ import annotations

import io
import json
import re
import struct
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from support.tools import run_tool

from hipgraph_cb.code_object.verify import verify

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILES = sorted(FIXTURES.rglob("*.hsaco"))
every_file = pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(FIXTURES)) for path in FILES])


def test_the_fixtures_hold_files_of_every_producer():
    assert {path.parent.name for path in FILES} >= {"clang", "triton", "mm", "ew"}


@every_file
def test_every_kernel_of_a_compiler_is_usable(path):
    assert dict(verify(path.read_bytes()).refused) == {}


@every_file
def test_symbols_and_segments_agree_with_pyelftools(path):
    code_object = verify(path.read_bytes()).code_object
    reference = ELFFile(io.BytesIO(path.read_bytes()))
    assert [tuple(segment) for segment in code_object.segments] == [
        (
            struct.unpack_from("<I", path.read_bytes(), reference["e_phoff"] + 56 * index)[0],
            *(row[key] for key in ("p_flags", "p_offset", "p_vaddr", "p_filesz", "p_memsz")),
        )
        for index, row in enumerate(reference.iter_segments())
    ]
    expected = {
        symbol.name: (symbol["st_value"], symbol["st_size"])
        for section in (".symtab", ".dynsym")
        for symbol in (
            reference.get_section_by_name(section).iter_symbols() if reference.get_section_by_name(section) else ()
        )
        if symbol.name and symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["type"] in ("STT_OBJECT", "STT_FUNC")
    }
    found = {name: (row.value, row.size) for name, row in code_object.symbols.items() if row.kind in (1, 2)}
    assert found == expected


@every_file
def test_descriptors_agree_with_the_bytes_that_pyelftools_finds(path):
    executable = verify(path.read_bytes())
    reference = ELFFile(io.BytesIO(path.read_bytes()))
    section = reference.get_section_by_name(".rodata")
    for export in executable.exports.values():
        start = executable.code_object.symbols[export.symbol].value - section["sh_addr"]
        group, private, kernarg, entry = struct.unpack_from("<III4xq", section.data(), start)
        descriptor = export.descriptor
        assert (descriptor.group_segment_fixed_size, descriptor.private_segment_fixed_size) == (group, private)
        assert (descriptor.kernarg_size, descriptor.kernel_code_entry_byte_offset) == (kernarg, entry)


@every_file
def test_the_target_agrees_with_readelf(path):
    header = json.loads(run_tool("llvm-readobj-19", "--elf-output-style=JSON", "--file-header", str(path)))[0][
        "ElfHeader"
    ]
    names = {flag["Name"] for flag in header["Flags"]["Flags"]}
    target = verify(path.read_bytes()).target
    assert f"EF_AMDGPU_MACH_AMDGCN_{target.processor.upper().replace('-', '_')}" in names
    for feature in ("sramecc", "xnack"):
        state = next(
            (name for name in names if f"FEATURE_{feature.upper()}" in name), "EF_AMDGPU_FEATURE_UNSUPPORTED_V4"
        )
        assert state.split("_")[-2] == getattr(target, feature).name


@every_file
def test_kernels_and_arguments_agree_with_readobj(path):
    expected = kernels_of(run_tool("llvm-readobj-19", "--notes", str(path)))
    exports = verify(path.read_bytes()).exports
    assert list(exports) == [kernel[".name"] for kernel in expected]
    for kernel in expected:
        metadata = exports[kernel[".name"]].metadata
        assert metadata.symbol == kernel[".symbol"]
        for key in ("kernarg_segment_size", "kernarg_segment_align", "group_segment_fixed_size", "wavefront_size"):
            assert getattr(metadata, key) == int(kernel[f".{key}"])
        assert metadata.private_segment_fixed_size == int(kernel[".private_segment_fixed_size"])
        found = [
            (str(row.offset), str(row.size), row.value_kind, row.type_name, row.name) for row in metadata.arguments
        ]
        keys = (".offset", ".size", ".value_kind", ".type_name", ".name")
        assert found == [tuple(row.get(key) for key in keys) for row in kernel["arguments"]]


def kernels_of(notes: str) -> list[dict]:
    """Kernels and their arguments in LLVM's listing of the note: indented text, one key to a line."""
    kernels: list[dict] = []
    for line in notes.splitlines():
        match = re.fullmatch(r"( *)(- )?(\.\w+): *(.*)", line)
        if match is None:
            continue
        indent, dash, key, value = len(match[1]), match[2], match[3], match[4].strip().strip("'\"")
        if dash and indent == 2:
            kernels.append({"arguments": []})
        if dash and indent == 6:
            kernels[-1]["arguments"].append({})
        place = indent + (2 if dash else 0)
        if place == 4:
            kernels[-1][key] = value
        elif place == 8 and kernels[-1]["arguments"]:
            kernels[-1]["arguments"][-1][key] = value
    return kernels
