"""The size of a file that is known by its address only."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.containers import HOST_ENTRY, Export, bundle, compressed, hip_entry, host_file, wrapped
from support.elf import code_object, kernel

from hipgraph_cb.code_object.extent import infer_size
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError

CORPUS = Path(__file__).parents[1] / "fixtures" / "corpus"
FILES = sorted(CORPUS.glob("*/*.hsaco")) + sorted(CORPUS.glob("iree/*/*/*.hsaco"))


class Memory:
    """The file, and behind it memory that may not be touched."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, offset: int, length: int) -> bytes:
        assert offset + length <= len(self.data), "read past the file"
        return self.data[offset : offset + length]


def size_of(data: bytes, limit: int | None = None) -> int:
    return infer_size(Memory(data).read, limit)


def sectioned(kind: int = 1, row_size: int = 64) -> bytes:
    """608 bytes: a header, one section header at 64, and the section's 96 bytes at 512."""
    header = b"\x7fELF\x02\x01\x01\x40\x03" + bytes(7)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 0, 64, 0x4C, 64, 56, 0, row_size, 1, 0)
    row = struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, 512, 96, 0, 0, 1, 0)
    return (header + row).ljust(608, b"\0")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_linked_file_ends_where_its_tables_do(path: Path) -> None:
    data = path.read_bytes()
    assert size_of(data) == len(data)


@pytest.mark.parametrize(
    "data",
    [
        code_object(kernel("add")),
        bundle((HOST_ENTRY, b""), (hip_entry("gfx942"), b"code")),
        compressed(bundle((hip_entry("gfx942"), b"code"))),
        compressed(bundle((hip_entry("gfx942"), b"code")), version=3),
        wrapped(b"AMD1", [Export("add.kd")], [b"image"]),
        host_file(b"section"),
    ],
    ids=["code object", "bundle", "compressed 2", "compressed 3", "wrapper", "host file"],
)
def test_every_form_of_file_knows_its_size(data: bytes) -> None:
    assert size_of(data) == len(data)
    assert size_of(data, len(data)) == len(data)
    with pytest.raises(OutOfRangeError):
        size_of(data, len(data) - 1)


def test_a_section_counts_with_its_bytes() -> None:
    assert size_of(sectioned()) == 608
    assert size_of(sectioned(), 608) == 608


def test_a_section_without_bytes_does_not_count() -> None:
    assert size_of(sectioned(kind=8)) == 128


def test_less_memory_than_the_tables_claim() -> None:
    with pytest.raises(OutOfRangeError) as caught:
        size_of(sectioned(), 128)
    assert str(caught.value) == (
        "the file is larger than the memory that holds it\n"
        "  found: 608 bytes by its own tables\n"
        "  allowed: at most 128\n"
        "  next: the file is truncated; build or copy it again"
    )


def test_section_rows_of_one_byte() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        size_of(sectioned(row_size=1))
    assert str(caught.value) == (
        "the rows of an ELF table are too small\n"
        "  where: the table at offset 64\n"
        "  found: 1 bytes each\n"
        "  allowed: >= 64"
    )


def test_other_bytes_have_no_size() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        size_of(b"BC\xc0\xde")
    assert str(caught.value) == (
        "the memory holds no code object\n"
        "  where: offset 0\n"
        "  found: 42 43 c0 de\n"
        "  allowed: an ELF file, an offload bundle, or an AMD1 or HIP1 wrapper"
    )


def test_an_old_compressed_bundle_does_not_state_its_size() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        size_of(compressed(bundle((hip_entry("gfx942"), b"code")), version=1))
    assert str(caught.value) == (
        "this compressed bundle does not state its size\n"
        "  where: offset 4\n"
        "  found: version 1\n"
        "  allowed: version 2 or 3, or a call that gives the length\n"
        "  next: build with a newer clang, or with -no-offload-compress"
    )


def test_a_huge_count_of_bundle_entries_is_refused_before_it_is_followed() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        size_of(b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1 << 40))
    assert caught.value.what == "malformed offload bundle: it has too many entries"


@pytest.mark.parametrize("data", [sectioned(), compressed(bundle((hip_entry("gfx942"), b"code")))])
def test_with_a_limit_no_prefix_reads_past_it(data: bytes) -> None:
    for length in range(len(data)):
        with pytest.raises(HipGraphError):
            size_of(data[:length], length)
