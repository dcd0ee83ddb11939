"""Finding the metadata note among the note segments (LLVM AMDGPU usage, "Note Records")."""

from __future__ import annotations

import struct

import pytest
from support import elf

from hipgraph_cb.code_object.code_object import CodeObject
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError

RECORD = elf.metadata_note(elf.document())


def found_in(*notes: bytes) -> bytes:
    (note,) = CodeObject(elf.notes_only(*notes)).metadata_notes
    return note.data


def missing(segments: int) -> str:
    return (
        "the code object has no AMDGPU metadata note\n"
        f"  found: {segments} note segments\n"
        "  allowed: a note of owner AMDGPU and type 32 (NT_AMDGPU_METADATA)\n"
        "  next: link with ld.lld, and keep the notes when stripping"
    )


@pytest.mark.parametrize("other", [{"name": b"OTHER\0"}, {"kind": 31}, {"name": b"AMDGPU\0\0"}])
def test_a_note_of_another_owner_or_type_is_not_metadata(other):
    with pytest.raises(NotFoundError) as caught:
        found_in(elf.note_record(b"\x80", **other))
    assert str(caught.value) == missing(1)


def test_no_program_headers_means_no_metadata():
    with pytest.raises(NotFoundError) as caught:
        CodeObject(elf.header()).metadata_notes  # noqa: B018 - the property raises
    assert str(caught.value) == missing(0)


def test_the_owner_may_lack_its_final_zero_byte():
    assert found_in(elf.note_record(b"\x80", name=b"AMDGPU")) == b"\x80"


def test_the_second_segment_is_searched_when_the_first_holds_no_match():
    assert found_in(elf.note_record(b"\x81", kind=31), elf.note_record(b"\x80")) == b"\x80"


def test_every_match_counts_in_file_order():
    first, second = elf.note_record(b"one "), elf.note_record(b"two ")
    for notes in ([first, second], [first + second], [elf.note_record(b"\x80", kind=31), first, second]):
        assert [note.data for note in CodeObject(elf.notes_only(*notes)).metadata_notes] == [b"one ", b"two "]


def test_a_segment_that_is_listed_twice_is_read_once():
    at = elf.HEADER_SIZE + 2 * elf.PROGRAM_HEADER_SIZE
    row = elf.program_header(elf.NOTE, at, len(RECORD))
    found = CodeObject(elf.header(program_headers=2) + 2 * row + RECORD + bytes(len(RECORD))).metadata_notes
    assert [note.offset for note in found] == [at + 20]


def test_note_segments_may_not_overlap_to_more_than_the_file():
    at = elf.HEADER_SIZE + 1000 * elf.PROGRAM_HEADER_SIZE
    data = elf.header(program_headers=1000) + elf.program_header(elf.NOTE, at, 4096) * 1000 + bytes(4096)
    with pytest.raises(InvalidArgumentError) as caught:
        CodeObject(data).metadata_notes  # noqa: B018 - the property raises
    assert str(caught.value) == (
        "the note segments overlap\n"
        "  found: 4096000 bytes in 1000 segments\n"
        "  allowed: at most the 60160 bytes of the file\n"
        "  next: the file was edited; build it again"
    )


def test_fewer_than_twelve_bytes_behind_the_last_note_are_ignored():
    with pytest.raises(NotFoundError):
        found_in(elf.note_record(b"\x80", kind=31) + bytes(11))


def test_the_last_descriptor_may_lack_its_padding():
    assert found_in(elf.note_record(b"\x80")[:-3]) == b"\x80"


@pytest.mark.parametrize(("name_size", "size"), [(7, 100), (100, 4), (2**32 - 1, 2**32 - 1)])
def test_a_note_must_end_inside_its_segment(name_size, size):
    note = struct.pack("<III", name_size, size, 32) + b"AMDGPU\0\0" + bytes(4)
    with pytest.raises(InvalidArgumentError) as caught:
        found_in(note)
    assert str(caught.value) == (
        "a note runs past its segment\n"
        "  where: file offset 120\n"
        f"  found: name of {name_size} bytes, descriptor of {size} bytes\n"
        "  allowed: 24 bytes in all"
    )
