"""The line program of a unit: which line of which file each instruction comes from."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import NamedTuple

from hipgraph_cb.code_object.debug_info.abbreviations import Specification, read_value
from hipgraph_cb.code_object.debug_info.constants import (
    LINE_CONTENT_DIRECTORY,
    LINE_CONTENT_PATH,
    Form,
    LineExtended,
    LineOpcode,
)
from hipgraph_cb.code_object.debug_info.cursor import Budget, Cursor
from hipgraph_cb.code_object.debug_info.unit import Unit, text_at

_ADDRESS, _LINE = (1 << 64) - 1, (1 << 32) - 1
_TAKES_BYTES = frozenset(Form) - {Form.IMPLICIT_CONST, Form.FLAG_PRESENT}

FileName = tuple[int, int, int]
"""The form and the place of its text, and the number of its folder."""


class Row(NamedTuple):
    """Where instructions come from. `file` is a number; `line` is 0 where the compiler made them."""

    file: int
    line: int
    column: int


class _Header(NamedTuple):
    version: int
    minimum_length: int
    line_base: int
    line_range: int
    opcode_lengths: bytes
    folders: list[FileName]
    files: list[FileName]


class LineTable:
    """The rows of one line program, and its files by number."""

    def __init__(self, unit: Unit, comp_dir: str, offset: int) -> None:
        self._unit = unit
        self._comp_dir = comp_dir
        cursor, self._header = _read_header(unit, offset)
        self._addresses = array("Q")
        self._rows: array[int] = array("I")  # file, line, column of each address
        self._sequences: list[tuple[int, int, int, int]] = []  # start and end, as addresses and as numbers of rows
        _Program(self._header, self._addresses, self._rows, self._sequences).run(cursor, unit.budget)
        self._sequences.sort()

    def row(self, address: int) -> Row | None:
        """Where the instruction at `address` comes from."""
        place = bisect_right(self._sequences, (address, _ADDRESS, 0, 0)) - 1
        if place < 0 or address >= self._sequences[place][1]:
            return None
        _, _, first, last = self._sequences[place]
        index = bisect_right(self._addresses, address, first, last) - 1
        return None if index < first else Row(*self._rows[3 * index : 3 * index + 3])

    def path(self, file: int) -> str | None:
        """The path of a file by its number."""
        header = self._header
        number = file if header.version >= 5 else file - 1
        if not 0 <= number < len(header.files):
            return None
        form, value, folder = header.files[number]
        return str(PurePosixPath(self._comp_dir, self._folder(folder), self._text(form, value)))

    def _folder(self, number: int) -> str:
        folders = self._header.folders
        number = number if self._header.version >= 5 else number - 1
        return self._text(*folders[number][:2]) if 0 <= number < len(folders) else ""

    def _text(self, form: int, value: int) -> str:
        if form == Form.STRING:
            return text_at(self._unit.sections.line, value)
        return self._unit.text_of(form, value) or ""


def _read_header(unit: Unit, offset: int) -> tuple[Cursor, _Header]:
    """The header, and a cursor over the opcodes."""
    cursor = Cursor(".debug_line", unit.sections.line, offset)
    length, offset_size = cursor.number(4), 4
    if length == 0xFFFFFFFF:
        length, offset_size = cursor.number(8), 8
    if length > cursor.end - cursor.at:
        raise cursor.malformed(f"a line program of {length} bytes")
    cursor.end = cursor.at + length
    version = cursor.number(2)
    if not 2 <= version <= 5:
        raise cursor.malformed(f"a line program of version {version}")
    if version >= 5 and cursor.number(2) != 8:
        raise cursor.malformed("addresses of another size than 8")
    header_length = cursor.number(offset_size)
    opcodes = cursor.skip(0) + header_length
    minimum_length = cursor.number(1)
    cursor.skip(2 if version >= 4 else 1)  # operations of a long instruction, and whether lines start statements
    line_base, line_range, opcode_base = cursor.number(1), cursor.number(1), cursor.number(1)
    if not line_range or not opcode_base:
        raise cursor.malformed("a line range or an opcode base of 0")
    start = cursor.skip(opcode_base - 1)
    lengths = cursor.data[start : cursor.at]
    read = _read_files if version >= 5 else _read_old_files
    folders, files = read(cursor, offset_size)
    header = _Header(version, minimum_length, (line_base ^ 0x80) - 0x80, line_range, lengths, folders, files)
    return Cursor(".debug_line", cursor.data, opcodes, cursor.end), header


def _read_files(cursor: Cursor, offset_size: int) -> tuple[list[FileName], list[FileName]]:
    return _read_names(cursor, offset_size), _read_names(cursor, offset_size)


def _read_names(cursor: Cursor, offset_size: int) -> list[FileName]:
    """A list of folders or files, whose fields the file describes. Each takes bytes, so that no count is too long."""
    fields = [Specification(cursor.uleb(), cursor.uleb(), 0) for _ in range(cursor.number(1))]
    count = cursor.uleb()
    if count and not any(each.form in _TAKES_BYTES for each in fields):
        raise cursor.malformed(f"{count} files without a name")
    names = []
    for _ in range(count):
        values = {each.name: (each.form, read_value(cursor, each, offset_size)) for each in fields}
        form, value = values.get(LINE_CONTENT_PATH, (0, 0))
        names.append((form, value, values.get(LINE_CONTENT_DIRECTORY, (0, 0))[1]))
    return names


def _read_old_files(cursor: Cursor, _offset_size: int) -> tuple[list[FileName], list[FileName]]:
    """The lists of folders and files before version 5, each of which ends with an empty text."""

    def names(folder: Callable[[], int]) -> list[FileName]:
        found: list[FileName] = []
        while True:
            at = cursor.text()
            if cursor.at == at + 1:
                return found
            found.append((Form.STRING, at, folder()))

    def folder_of_file() -> int:
        number = cursor.uleb()
        cursor.uleb(), cursor.uleb()  # its time and size
        return number

    return names(lambda: 0), names(folder_of_file)


class _Program:
    """The state machine that opcodes drive."""

    def __init__(
        self, header: _Header, addresses: array[int], rows: array[int], sequences: list[tuple[int, int, int, int]]
    ) -> None:
        self._header = header
        self._addresses = addresses
        self._rows = rows
        self._sequences = sequences
        self._reset()

    def _reset(self) -> None:
        self._address, self._file, self._line, self._column = 0, 1, 1, 0
        self._first = len(self._addresses)

    def run(self, cursor: Cursor, budget: Budget) -> None:
        header = self._header
        base, special = len(header.opcode_lengths) + 1, 255 - len(header.opcode_lengths) - 1
        while cursor.at < cursor.end:
            budget.spend()
            opcode = cursor.number(1)
            if opcode >= base:
                self._advance((opcode - base) // header.line_range)
                self._line += header.line_base + (opcode - base) % header.line_range
                self._append()
            elif opcode == LineOpcode.COPY:
                self._append()
            elif opcode == LineOpcode.ADVANCE_PC:
                self._advance(cursor.uleb())
            elif opcode == LineOpcode.ADVANCE_LINE:
                self._line += cursor.sleb()
            elif opcode == LineOpcode.SET_FILE:
                self._file = cursor.uleb()
            elif opcode == LineOpcode.SET_COLUMN:
                self._column = cursor.uleb()
            elif opcode == LineOpcode.CONST_ADD_PC:
                self._advance(special // header.line_range)
            elif opcode == LineOpcode.FIXED_ADVANCE_PC:
                self._address += cursor.number(2)
            elif opcode == LineOpcode.EXTENDED:
                self._extended(cursor)
            else:
                for _ in range(header.opcode_lengths[opcode - 1]):
                    cursor.uleb()

    def _advance(self, operations: int) -> None:
        self._address += operations * self._header.minimum_length

    def _append(self) -> None:
        self._addresses.append(self._address & _ADDRESS)
        self._rows.extend((self._file & _LINE, self._line & _LINE, self._column & _LINE))

    def _extended(self, cursor: Cursor) -> None:
        length = cursor.uleb()
        end = cursor.skip(0) + length
        kind = cursor.number(1) if length else 0
        if kind == LineExtended.SET_ADDRESS:
            self._address = cursor.number(8)
        elif kind == LineExtended.END_SEQUENCE:
            last = len(self._addresses)
            if last > self._first:
                self._sequences.append((self._addresses[self._first], self._address & _ADDRESS, self._first, last))
            self._reset()
        cursor.skip(end - cursor.at)
