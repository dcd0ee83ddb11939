"""What `load` makes of constants, and the code object that HIP gets; the judge of that file is LLVM."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.tools import run_tool

from hipgraph_cb.abi import elf
from hipgraph_cb.code_object.code_object import CodeObject
from hipgraph_cb.code_object.constants import with_constants
from hipgraph_cb.code_object.linking import linked
from hipgraph_cb.code_object.verify import VerifiedExecutable, inspect
from hipgraph_cb.errors import OutOfRangeError, UnimplementedError

FIXTURES = Path(__file__).parents[1] / "fixtures"
CODE = (FIXTURES / "constants" / "constants.gfx942.hsaco").read_bytes()
OPEN = {"factor": np.uint32(3), "pair": bytes(8)}
ADDRESSES = {"factor": 0x7F0012345678, "pair": 0x7F00ABCDEF00}


def relocations(path: Path) -> dict[int, str]:
    """Offset -> symbol and addend, as LLVM lists them."""
    listing = run_tool("llvm-readelf-19", "--relocations", "--wide", str(path))
    rows = re.findall(r"^([0-9a-f]{16})  [0-9a-f]{16} R_AMDGPU_\w+ +(?:[0-9a-f]{16} )?(.*)$", listing, re.MULTILINE)
    return {int(offset, 16): symbol for offset, symbol in rows}


def relocation_of(name: str, data: bytes = CODE) -> int:
    """The file offset of the relocation of an undefined symbol."""
    (row,) = CodeObject(data).undefined[name]
    return data.index(elf.RELOCATION.pack(row.address, row.symbol << 32 | row.kind, row.addend))


def changed(name: str, *, address: int | None = None, kind: int | None = None) -> VerifiedExecutable:
    """The code, with another place or kind in the relocation of a symbol."""
    data, start = bytearray(CODE), relocation_of(name)
    if address is not None:
        struct.pack_into("<Q", data, start, address)
    if kind is not None:
        struct.pack_into("<I", data, start + 8, kind)
    return inspect(bytes(data))


def test_the_undefined_symbols_are_those_that_llvm_lists(tmp_path: Path) -> None:
    listing = run_tool("llvm-readelf-19", "--dyn-symbols", str(FIXTURES / "constants" / "constants.gfx942.hsaco"))
    assert inspect(CODE).undefined == tuple(sorted(re.findall(r" UND (\w+)", listing)))


def test_a_linked_file_has_the_addresses_in_place_and_no_relocation_of_them(tmp_path: Path) -> None:
    (tmp_path / "before").write_bytes(CODE)
    (tmp_path / "after").write_bytes(linked(CodeObject(CODE), ADDRESSES))
    before, after = relocations(tmp_path / "before"), relocations(tmp_path / "after")
    wanted = {symbol.split()[0]: offset for offset, symbol in before.items()}
    assert set(before.values()) - set(after.values()) == {"factor + 0", "pair + 0"}
    assert set(after.items()) == {row for row in before.items() if row[1] not in ("factor + 0", "pair + 0")}
    got = run_tool("llvm-readelf-19", "--hex-dump=.got", str(tmp_path / "after"))
    words = bytes.fromhex("".join(re.findall(r"0x[0-9a-f]+((?: [0-9a-f]{8}){1,4})", got)).replace(" ", ""))
    start = min(before)
    for name, address in ADDRESSES.items():
        assert struct.unpack_from("<Q", words, wanted[name] - start) == (address,)


def test_nothing_else_of_a_linked_file_changes() -> None:
    after = linked(CodeObject(CODE), ADDRESSES)
    differing = [place for place, pair in enumerate(zip(CODE, after, strict=True)) if pair[0] != pair[1]]
    code_object = CodeObject(CODE)
    size = code_object.dynamic[elf.DT_RELASZ]
    table = code_object.file_offset(code_object.dynamic[elf.DT_RELA], size, "")
    got = code_object.file_offset(min(row.address for row in code_object.relocations), size // 3, "")
    sections = struct.unpack_from("<Q", CODE, 40)[0]
    dynamic = next(each for each in code_object.segments if each.kind == elf.PT_DYNAMIC)
    places = [
        (table, size),
        (got, size // 3),
        (dynamic.file_offset, dynamic.file_size),
        (sections, len(CODE) - sections),
    ]
    assert all(any(start <= place < start + size for start, size in places) for place in differing)
    outside = [place for place in differing if place > table + size and not got <= place < got + size // 3]
    assert len(outside) == 2  # the low byte of the two lengths of the table


def test_a_code_object_without_undefined_symbols_is_linked_as_it_is() -> None:
    data = (FIXTURES / "loader" / "relocated.gfx942.hsaco").read_bytes()
    assert linked(CodeObject(data), {}) is data


def test_an_addend_counts_from_the_symbol() -> None:
    data = bytearray(CODE)
    struct.pack_into("<q", data, relocation_of("factor") + 16, -8)
    code_object = CodeObject(bytes(data))
    (row,) = code_object.undefined["factor"]
    place = code_object.file_offset(row.address, 8, "")
    assert struct.unpack_from("<Q", linked(code_object, ADDRESSES), place) == (ADDRESSES["factor"] - 8,)


def test_an_undefined_symbol_in_another_form_than_an_address_of_64_bits_is_refused() -> None:
    with pytest.raises(UnimplementedError) as caught:
        with_constants(changed("factor", kind=elf.R_AMDGPU_REL32_LO), OPEN)
    (row,) = CodeObject(CODE).undefined["factor"]
    assert str(caught.value) == (
        "load: an undefined symbol is wanted in a form that no constant has\n"
        f"  where: relocation at {row.address:#x}\n"
        "  found: 'factor' by a relocation of R_AMDGPU type 10\n"
        "  allowed: type 3 (R_AMDGPU_ABS64)"
    )


def test_an_undefined_symbol_that_is_wanted_outside_the_file_is_refused() -> None:
    with pytest.raises(OutOfRangeError, match="the place of 'factor' is not in the loaded part"):
        with_constants(changed("factor", address=1 << 40), OPEN)


def test_constants_are_part_of_what_an_executable_is() -> None:
    plain = inspect(CODE)
    first, same, other = (with_constants(plain, {**OPEN, "offset": value}) for value in (1, np.uint32(1), 2))
    assert first == same
    assert first != other
    assert first != plain
    assert first.content_hash == same.content_hash
    assert len({each.content_hash for each in (plain, first, other)}) == 3
    assert {each.source_hash for each in (plain, first, other)} == {plain.content_hash}


def test_constants_whose_texts_join_to_the_same_are_told_apart() -> None:
    plain = inspect(CODE)
    one, other = (replace(plain, constants=each) for each in ({"a": b"", "b": b"\1"}, {"a": b"\1", "b": b""}))
    assert one.content_hash != other.content_hash


def test_the_values_of_every_kind_of_memory_are_their_bytes() -> None:
    given = {
        "factor": np.float32(1.5),
        "pair": np.array([[1], [2]], np.uint16),
        "table": memoryview(b"12345678"),
        "offset": 1.5,
        "unset": -2,
    }
    assert dict(with_constants(inspect(CODE), given).constants) == {
        "factor": struct.pack("<f", 1.5),
        "pair": struct.pack("<2H", 1, 2),
        "table": b"12345678",
        "offset": struct.pack("<f", 1.5),
        "unset": struct.pack("<i", -2),
    }
