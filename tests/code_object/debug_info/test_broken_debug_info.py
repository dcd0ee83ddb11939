"""Debug information that is broken gives nothing, says what is wrong, and takes neither long nor much memory."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st
from support.steps import in_few_steps

from hipgraph_cb.code_object.debug_info.debug_info import DebugInfo
from hipgraph_cb.code_object.verify import inspect
from hipgraph_cb.errors import HipGraphError

FOLDER = Path(__file__).parents[2] / "fixtures" / "debug_info"
FILES = sorted(FOLDER.glob("*.hsaco"))
DATA = [path.read_bytes() for path in FILES]
FLOOR, FACTOR = 8 << 20, 64


def sections(path: Path) -> list[tuple[str, int, int]]:
    """Name, offset and size of the sections of debug information, and of the section headers."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        rows = [(each.name, each["sh_offset"], each["sh_size"]) for each in elf.iter_sections()]
        headers = ("headers", elf["e_shoff"], elf["e_shnum"] * elf["e_shentsize"])
    return [headers, *(row for row in rows if row[0].startswith(".debug"))]


SECTIONS = [sections(path) for path in FILES]


def look_at_everything(data: bytes) -> DebugInfo | None:
    """Ask for every line and every parameter; anything but a HipGraphError gets out."""
    try:
        executable = inspect(data)
    except HipGraphError:
        return None
    for export in executable.exports.values():
        layout = export.layout
        assert layout.signature()
        values = [None if row.kind.name == "POINTER" else bytes(row.size) for row in layout.parameters]
        assert len(layout.pack(values).block) == layout.size
        for address in range(export.entry, export.entry + 64, 4):
            assert all(str(frame) for frame in executable.code_object.debug_info.frames(address))
    problem = executable.code_object.debug_info.problem
    assert problem is None or str(problem)
    return executable.code_object.debug_info


def within_bounds(data: bytes) -> None:
    tracemalloc.start()
    try:
        in_few_steps(lambda: look_at_everything(data))
        assert tracemalloc.get_traced_memory()[1] < FLOOR + FACTOR * len(data)
    finally:
        tracemalloc.stop()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    which=st.integers(0, len(FILES) - 1),
    section=st.integers(0, 20),
    changes=st.lists(
        st.tuples(st.integers(0, 1 << 20), st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)),
        min_size=1,
        max_size=6,
    ),
)
def test_changed_bytes_of_a_section_are_answered(which: int, section: int, changes: list[tuple[int, int]]) -> None:
    rows = SECTIONS[which]
    _, offset, size = rows[section % len(rows)]
    data = bytearray(DATA[which])
    for position, value in changes:
        data[offset + position % size] = value
    in_few_steps(lambda: look_at_everything(bytes(data)))


@pytest.mark.long
@settings(max_examples=5000, deadline=None)
@given(
    which=st.integers(0, len(FILES) - 1),
    section=st.integers(0, 20),
    changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=12),
)
def test_very_many_changed_bytes_are_answered(which: int, section: int, changes: list[tuple[int, int]]) -> None:
    rows = SECTIONS[which]
    _, offset, size = rows[section % len(rows)]
    data = bytearray(DATA[which])
    for position, value in changes:
        data[offset + position % size] = value
    within_bounds(bytes(data))


@pytest.mark.parametrize("which", range(len(FILES)), ids=[path.name for path in FILES])
def test_a_section_that_ends_early_is_answered(which: int) -> None:
    for row, (name, _, size) in enumerate(SECTIONS[which]):
        headers = SECTIONS[which][0][1]
        index = 0 if row == 0 else next(
            at for at in range(headers, headers + SECTIONS[which][0][2], 64)
            if struct.unpack_from("<QQ", DATA[which], at + 24) == SECTIONS[which][row][1:]
        )  # fmt: skip
        if row:
            for length in sorted({0, 1, size // 3, size // 2, size - 1}):
                data = bytearray(DATA[which])
                struct.pack_into("<Q", data, index + 32, length)
                assert look_at_everything(bytes(data)) is not None, name


def with_sections(**contents: bytes) -> bytes:
    """A code object of ours whose sections of debug information are these alone."""
    which = next(index for index, path in enumerate(FILES) if "dwarf5" in path.name)
    data = bytearray(DATA[which])
    headers, count = SECTIONS[which][0][1], SECTIONS[which][0][2] // 64
    places = {name: place for name, *place in SECTIONS[which]}
    for at in range(headers, headers + count * 64, 64):
        place = list(struct.unpack_from("<QQ", data, at + 24))
        for name, original in places.items():
            if place == original and name != "headers":
                content = contents.get(name.removeprefix(".debug_"), b"")
                struct.pack_into("<QQ", data, at + 24, len(data), len(content))
                data += content
    return bytes(data)


def unit(body: bytes) -> bytes:
    header = struct.pack("<HBBI", 5, 1, 8, 0)
    return struct.pack("<I", len(header) + len(body)) + header + body


def problem(data: bytes) -> list[str]:
    within_bounds(data)
    debug_info = look_at_everything(data)
    assert debug_info is not None
    assert debug_info.problem is not None
    return str(debug_info.problem).splitlines()


# One entry: a root with children, then entries of one byte each with as many attributes that take no bytes.
ROOT = b"\x01\x11\x01\x00\x00"
FREE = b"\x49\x21\x01"  # DW_AT_type, DW_FORM_implicit_const, 1


def test_entries_with_very_many_attributes_are_not_read() -> None:
    table = ROOT + b"\x02\x2e\x00" + FREE * 65 + b"\0\0\0"
    assert problem(with_sections(info=unit(b"\x01" + b"\x02" * 100), abbrev=table)) == [
        "the debug information is malformed",
        f"  where: .debug_abbrev offset {len(table) - 1:#x}",
        "  found: 65 attributes of one entry, at most 64 are read",
        "  allowed: DWARF of version 2 to 5",
        "  next: build the code object again; it can be used without debug information",
    ]


def test_attributes_that_take_no_bytes_are_counted() -> None:
    table = ROOT + b"\x02\x2e\x00" + FREE * 64 + b"\0\0\0"
    lines = problem(with_sections(info=unit(b"\x01" + b"\x02" * 3000), abbrev=table))
    assert lines[0] == "the debug information takes too long to read"


def test_a_type_that_is_its_own_type_is_too_deep() -> None:
    # A subprogram at the entry of `scale` with a parameter whose type is a typedef of itself.
    entry = inspect(DATA[1]).exports["scale"].entry
    table = (
        ROOT
        + b"\x02\x2e\x01\x11\x01\x12\x06\0\0"  # subprogram: low_pc addr, high_pc data4
        + b"\x03\x05\x00\x49\x13\0\0"  # formal_parameter: type ref4
        + b"\x04\x16\x00\x49\x13\0\0\0"  # typedef: type ref4
    )
    head = b"\x01" + b"\x02" + struct.pack("<QI", entry, 64)
    typedef = 12 + len(head) + 4 * 5 + 1
    body = head + (b"\x03" + struct.pack("<I", typedef)) * 4 + b"\0"
    body += b"\x04" + struct.pack("<I", typedef) + b"\0"
    assert problem(with_sections(info=unit(body), abbrev=table))[2] == "  found: types that are more than 16 deep"


def test_a_number_of_variable_length_ends() -> None:
    lines = problem(with_sections(info=unit(b"\x80" * 1000), abbrev=ROOT + b"\0"))
    assert lines[2] == "  found: a number without an end"


def test_folders_of_a_line_program_that_take_no_bytes_are_not_counted_up_to() -> None:
    entry = inspect(DATA[1]).exports["scale"].entry
    table = (
        b"\x01\x11\x01\x10\x17\0\0"  # compile_unit: stmt_list sec_offset
        + b"\x02\x2e\x00\x11\x01\x12\x06\0\0\0"
    )
    info = unit(b"\x01" + bytes(4) + b"\x02" + struct.pack("<QI", entry, 64) + b"\0")
    rest = b"\x01\x01\x01\xfb\x0e\x01" + b"\x00" + b"\xff\xff\xff\xff\x0f"  # no fields, and 2^32 folders
    line = struct.pack("<HBBI", 5, 8, 0, len(rest)) + rest
    lines = problem(with_sections(info=info, abbrev=table, line=struct.pack("<I", len(line)) + line))
    assert lines[2] == "  found: 4294967295 files without a name"


def test_names_that_share_one_long_text_are_cut() -> None:
    entry = inspect(DATA[1]).exports["scale"].entry
    table = (
        ROOT + b"\x02\x2e\x01\x11\x01\x12\x06\0\0" + b"\x03\x05\x00\x03\x0e\0\0\0"  # formal_parameter: name strp
    )
    parameters = b"".join(b"\x03" + struct.pack("<I", each) for each in range(4))
    body = b"\x01\x02" + struct.pack("<QI", entry, 64) + parameters + b"\0\0"
    data = with_sections(info=unit(body), abbrev=table, str=b"a" * 500_000 + b"\0")
    within_bounds(data)
    names = [row.name for row in inspect(data).exports["scale"].parameters]
    assert names == ["a" * 4096] * 4
