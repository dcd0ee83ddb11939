"""No small file makes a reader work long or fill the memory: what would is refused, within bounds the file sets."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from support import elf
from support.containers import BUNDLE_MAGIC, Export, bundle, compressed, hip_entry, host_file, wrapped

from hipgraph_cb.code_object.verify import inspect
from hipgraph_cb.errors import HipGraphError

FLOOR, FACTOR = 8 << 20, 16
ADD = elf.kernel("add", [elf.pointer(0)])


def refusal(data: bytes, floor: int = FLOOR) -> list[str]:
    """The lines of the message, once the memory that it took was held against the size of the file."""
    tracemalloc.start()
    try:
        with pytest.raises(HipGraphError) as caught:
            inspect(data)
        assert tracemalloc.get_traced_memory()[1] < floor + FACTOR * len(data)
    finally:
        tracemalloc.stop()
    return str(caught.value).splitlines()


def of_note(root: object) -> bytes:
    return elf.notes_only(elf.metadata_note(root))


def with_names_in_one_string(symbols: int, length: int) -> bytes:
    """A code object whose symbols all have names in one long string, each a little shorter than the one before."""
    data = elf.code_object(ADD)
    (dynamic,) = (at for at in range(64, 64 + 4 * 56, 56) if data[at : at + 4] == b"\2\0\0\0")
    start = len(data) + -len(data) % 8
    rows = b"".join(struct.pack("<IBBHQQ", 1 + row, 0x11, 3, 1, 0, 64) for row in range(symbols))
    strings = b"\0" + b"a" * length + b"\0"
    rows_at = start + 6 * 16
    hash_at = rows_at + len(rows)
    strings_at = hash_at + 16
    entries = ((4, hash_at), (5, strings_at), (6, rows_at), (10, len(strings)), (11, 24), (0, 0))
    table = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    tail = table + rows + struct.pack("<IIII", 1, symbols, 0, 0) + strings
    changed = bytearray(data.ljust(start, b"\0") + tail)
    struct.pack_into("<QQQQQ", changed, dynamic + 8, start, start, start, len(table), len(table))
    struct.pack_into("<QQQQQ", changed, 64 + 8, 0, 0, 0, len(changed), len(changed))
    return bytes(changed)


def test_symbols_that_share_one_long_name() -> None:
    data = with_names_in_one_string(2000, 50_000)
    assert refusal(data) == [
        "the symbol names overlap",
        "  where: .dynsym",
        f"  found: more than {len(data)} bytes of names, in 50002 bytes of strings",
        f"  allowed: at most the {len(data)} bytes of the file",
        "  next: the file was edited; build it again",
    ]


def test_more_program_headers_than_linkers_write() -> None:
    data = elf.header(program_headers=1025) + elf.program_header(elf.LOAD, 0, 64) * 1025
    assert refusal(data)[:3] == [
        "there are too many program headers",
        "  where: file offset 56",
        "  found: 1025",
    ]


def test_very_many_empty_bundles() -> None:
    section = (BUNDLE_MAGIC + bytes(8)) * 4096
    assert refusal(host_file(section)) == [
        "the .hip_fatbin section holds too many bundles",
        f"  where: file offset {4096 + 32 * (64 + 256)}",
        "  found: more than 320 in 131072 bytes",
        "  allowed: 64, and one for each 512 bytes",
        "  next: the file was edited; build it again",
    ]


def test_compressed_bundles_that_are_large_together() -> None:
    one = compressed(bundle((hip_entry("gfx90a"), bytes(30 << 20))))
    lines = refusal(host_file((one + bytes(-len(one) % 64)) * 3), floor=128 << 20)
    assert lines[0] == "the compressed bundles of the file unpack to too much"
    assert lines[2] == f"  found: {(30 << 20) + 4096} bytes more, after {2 * ((30 << 20) + 4096)}"


@pytest.mark.parametrize("row", [0, {}, []])
def test_a_list_of_kernels_that_are_none(row: object) -> None:
    assert refusal(of_note({"amdhsa.kernels": [row] * 30_000}))[0] in (
        "the list of kernels is too long",
        "the metadata note has too many maps and arrays",
    )


@pytest.mark.parametrize("empty", [{}, []])
def test_hardly_anything_but_maps_and_arrays(empty: object) -> None:
    assert refusal(of_note({"amdhsa.kernels": [], "x": [empty] * 300_000})) == [
        "the metadata note has too many maps and arrays",
        "  where: metadata note at file offset 140",
        "  found: more than 41599 in 300024 bytes",
        "  allowed: 4096, and one for each 8 bytes",
        "  next: the file was edited; build it again",
    ]


def test_modules_of_a_wrapper_that_share_one_image() -> None:
    data = wrapped(b"HIP1", [Export("add", (64, 1, 1), 0, 1)], [bytes(100_000)], repeat=1000)
    assert refusal(data)[0] == "malformed FlatBuffer: its strings overlap"


def test_what_compilers_write_is_far_from_every_bound() -> None:
    kernels = [elf.kernel(f"kernel_{index}", [elf.pointer(0), elf.argument(8, 4)]) for index in range(500)]
    assert len(inspect(elf.code_object(*kernels)).exports) == 500
