"""The ELF header and its segments: every refusal says where, what was found and what is allowed."""

from __future__ import annotations

import struct

import pytest
from support import elf

from hipgraph_cb.code_object.code_object import CodeObject
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError

LONG_ENOUGH = bytes(60)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"elf_class": 1},
            "the ELF header has the wrong ELF class\n  where: file offset 4\n  found: 1\n  allowed: 2 (a 64-bit file)",
        ),
        (
            {"encoding": 2},
            "the ELF header has the wrong byte order\n  where: file offset 5\n  found: 2\n  allowed: 1 (little endian)",
        ),
        (
            {"ident_version": 0},
            "the ELF header has the wrong ELF version\n  where: file offset 6\n  found: 0\n  allowed: 1 (version 1)",
        ),
        (
            {"os_abi": 0},
            "the ELF header has the wrong OS ABI\n  where: file offset 7\n  found: 0\n  allowed: 64 (AMDGPU_HSA)",
        ),
        (
            {"machine": 3},
            "the ELF header has the wrong machine\n  where: file offset 18\n  found: 3\n  allowed: 224 (EM_AMDGPU)",
        ),
        (
            {"object_version": 2},
            "the ELF header has the wrong object version\n"
            "  where: file offset 20\n  found: 2\n  allowed: 1 (version 1)",
        ),
        (
            {"kind": 2},
            "the ELF header has the wrong type\n  where: file offset 16\n  found: 2\n  allowed: 3 (ET_DYN)",
        ),
    ],
)
def test_each_field_of_the_header_is_checked(fields, message):
    with pytest.raises(InvalidArgumentError) as caught:
        CodeObject(elf.header(**fields))
    assert str(caught.value) == f"{message}\n  next: give an AMD GPU code object (HSACO)"


def test_the_error_for_a_relocatable_object_says_to_link_it():
    with pytest.raises(InvalidArgumentError) as caught:
        CodeObject(elf.header(kind=1))
    assert str(caught.value) == (
        "the code object is relocatable\n"
        "  where: file offset 16 (e_type)\n"
        "  found: 1 (ET_REL)\n"
        "  allowed: 3 (ET_DYN)\n"
        "  next: link it: ld.lld -shared IN.o -o OUT.hsaco"
    )


@pytest.mark.parametrize(
    ("data", "found"), [(b"", "no bytes"), (b"\x7fEL", "7f 45 4c"), (b"ELF!" + LONG_ENOUGH, "45 4c 46 21")]
)
def test_bytes_without_the_magic_are_not_an_elf_file(data, found):
    with pytest.raises(InvalidArgumentError) as caught:
        CodeObject(data)
    assert str(caught.value) == (
        "the file is not ELF\n"
        "  where: file offset 0\n"
        f"  found: {found}\n"
        "  allowed: 7f 45 4c 46\n"
        "  next: give an AMD GPU code object (HSACO)"
    )


def test_the_error_for_a_zip_archive_says_how_iree_writes_its_code_objects():
    with pytest.raises(InvalidArgumentError) as caught:
        CodeObject(b"PK\x03\x04" + bytes(100))
    assert str(caught.value) == (
        "the file is not ELF\n"
        "  where: file offset 0\n"
        "  found: 50 4b 03 04\n"
        "  allowed: 7f 45 4c 46\n"
        "  next: this is a ZIP archive; if it is an IREE module, compile it with "
        "--iree-hal-dump-executable-binaries-to=DIR and give a file from there"
    )


def test_a_header_of_63_bytes_is_truncated():
    with pytest.raises(OutOfRangeError) as caught:
        CodeObject(elf.header()[:63])
    assert str(caught.value) == (
        "the ELF header is truncated\n  where: file offset 0\n  found: 63 bytes\n  allowed: at least 64"
    )


def test_program_headers_must_be_in_the_file():
    with pytest.raises(OutOfRangeError) as caught:
        CodeObject(elf.header(program_headers=2))
    assert str(caught.value) == (
        "the program header table is past the end of the file\n"
        "  where: file offset 64\n"
        "  found: 112 bytes at offset 64\n"
        "  allowed: a range inside the file's 64 bytes\n"
        "  next: the file is truncated; build or copy it again"
    )


def test_program_headers_shorter_than_56_bytes_are_refused():
    with pytest.raises(InvalidArgumentError) as caught:
        CodeObject(elf.notes_only(elf.metadata_note(elf.document()), program_header_size=55))
    assert str(caught.value) == (
        "program headers are too small\n"
        "  where: file offset 54\n"
        "  found: 55 bytes each\n"
        "  allowed: >= 56\n"
        "  next: give an AMD GPU code object (HSACO)"
    )


def test_program_headers_longer_than_56_bytes_are_walked_by_their_stated_size():
    note = elf.metadata_note(elf.document())
    assert CodeObject(elf.notes_only(note, program_header_size=64)).metadata_notes[0].offset == 64 + 64 + 20


@pytest.mark.parametrize("kind", [elf.LOAD, elf.DYNAMIC, elf.NOTE])
def test_a_segment_must_be_in_the_file(kind):
    data = elf.header(program_headers=1) + elf.program_header(kind, 100, 1000)
    with pytest.raises(OutOfRangeError) as caught:
        CodeObject(data)
    assert str(caught.value) == (
        "segment 0 is past the end of the file\n"
        "  where: file offset 100\n"
        "  found: 1000 bytes at offset 100\n"
        "  allowed: a range inside the file's 120 bytes\n"
        "  next: the file is truncated; build or copy it again"
    )


def test_a_segment_is_at_least_as_large_in_memory_as_in_the_file():
    row = struct.pack("<IIQQQQQQ", elf.LOAD, 4, 0, 0, 0, 64, 63, 4)
    with pytest.raises(InvalidArgumentError) as caught:
        CodeObject(elf.header(program_headers=1) + row)
    assert str(caught.value) == (
        "segment 0 is smaller in memory than in the file\n"
        "  found: 63 bytes in memory, 64 in the file\n"
        "  allowed: memory size >= file size"
    )


def test_segment_sizes_near_two_to_the_64_do_not_wrap():
    row = struct.pack("<IIQQQQQQ", elf.LOAD, 4, 2**64 - 8, 0, 0, 16, 16, 4)
    with pytest.raises(OutOfRangeError, match="segment 0 is past the end of the file"):
        CodeObject(elf.header(program_headers=1) + row)
