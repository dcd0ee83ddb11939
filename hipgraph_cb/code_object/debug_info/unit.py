"""Units of .debug_info: their headers and entries, and the texts, addresses and ranges that entries refer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hipgraph_cb.code_object.debug_info.abbreviations import Abbreviation, read_abbreviations, read_value
from hipgraph_cb.code_object.debug_info.constants import UNIT_COMPILE, UNIT_PARTIAL, At, Form, RangeKind
from hipgraph_cb.code_object.debug_info.cursor import Budget, Cursor
from hipgraph_cb.code_object.debug_info.sections import DebugSections

LONGEST_TEXT = 4096
"""Bytes of a name that are read; names may share bytes, so a small file could hold gigabytes of them."""

_ADDRESSES = frozenset({Form.ADDR, Form.ADDRX, Form.ADDRX1, Form.ADDRX2, Form.ADDRX3, Form.ADDRX4})
_TEXT_INDICES = frozenset({Form.STRX, Form.STRX1, Form.STRX2, Form.STRX3, Form.STRX4})
_REFERENCES = frozenset({Form.REF1, Form.REF2, Form.REF4, Form.REF8, Form.REF_UDATA})
_MASK = (1 << 64) - 1


class Entry(NamedTuple):
    """An entry of .debug_info (a DIE); `attributes` by name, each with its form; `end` is where the next one is."""

    offset: int
    tag: int
    has_children: bool
    attributes: dict[int, tuple[int, int]]
    end: int

    def number(self, name: int, default: int = 0) -> int:
        """A number, or an offset, as it is in the file."""
        found = self.attributes.get(name)
        return default if found is None else found[1]


class Range(NamedTuple):
    """Addresses of code."""

    start: int
    end: int


@dataclass
class Unit:
    """One compiled source. `root` says where its texts, addresses and ranges are.

    Attributes:
        offset, first, end: of its header, of its first entry, and behind its last.
        offset_size: 4 or 8 bytes.
    """

    sections: DebugSections
    offset: int
    first: int
    end: int
    version: int
    offset_size: int
    abbreviations: dict[int, Abbreviation]
    budget: Budget
    root: Entry = field(init=False)

    def __post_init__(self) -> None:
        self.root = self.entry(self.first)

    def entry(self, offset: int) -> Entry:
        """The entry at an offset of the section; tag 0 ends the children of another one."""
        cursor = Cursor(".debug_info", self.sections.info, offset, self.end)
        code = cursor.uleb()
        if not code:
            self.budget.spend()
            return Entry(offset, 0, False, {}, cursor.at)
        abbreviation = self._abbreviation(cursor, code)
        self.budget.spend(1 + len(abbreviation.attributes))
        attributes = {
            each.name: (each.form, read_value(cursor, each, self.offset_size)) for each in abbreviation.attributes
        }
        return Entry(offset, abbreviation.tag, abbreviation.has_children, attributes, cursor.at)

    def _abbreviation(self, cursor: Cursor, code: int) -> Abbreviation:
        found = self.abbreviations.get(code)
        if found is None:
            raise cursor.malformed(f"an entry with abbreviation {code}, which is not in the table")
        return found

    def walk(self, start: int, wanted: frozenset[int]) -> Iterator[tuple[Entry | None, bool]]:
        """Entries from `start` on: each of a `wanted` tag, else None, and whether children follow.

        What ends a list of children is (None, False) with a tag of 0, given as an entry.
        """
        at = start
        while at < self.end:
            cursor = Cursor(".debug_info", self.sections.info, at, self.end)
            code = cursor.uleb()
            found = self._abbreviation(cursor, code) if code else None
            if found is None or found.tag in wanted or found.size is None:
                entry = self.entry(at)
                at = entry.end
                yield (entry if found is None or found.tag in wanted else None), entry.has_children
            else:
                self.budget.spend()
                cursor.skip(found.size)
                at = cursor.at
                yield None, found.has_children

    def children(self, parent: Entry, wanted: frozenset[int]) -> Iterator[Entry]:
        """The entries of a `wanted` tag right below `parent`."""
        if not parent.has_children:
            return
        depth = 0
        for entry, has_children in self.walk(parent.end, wanted):
            if entry is not None and entry.tag == 0:
                depth -= 1
                if depth < 0:
                    return
            elif entry is not None and depth == 0:
                yield entry
            depth += has_children

    def reference(self, entry: Entry, name: int) -> int | None:
        """The offset of the entry that an attribute refers to, within this unit; None where it refers to none."""
        form, value = entry.attributes.get(name, (0, 0))
        offset = self.offset + value if form in _REFERENCES else value if form == Form.REF_ADDR else -1
        return offset if self.first <= offset < self.end else None

    def text(self, entry: Entry, name: int) -> str | None:
        """A name, or the path of a file."""
        form, value = entry.attributes.get(name, (0, 0))
        return self.text_of(form, value)

    def text_of(self, form: int, value: int) -> str | None:
        """The text of an attribute of this form; None where it is none."""
        sections = self.sections
        if form == Form.STRING:
            return text_at(sections.info, value)
        if form == Form.LINE_STRP:
            return text_at(sections.line_str, value)
        if form in _TEXT_INDICES:
            base = self.root.number(At.STR_OFFSETS_BASE, 2 * self.offset_size)
            cursor = Cursor(".debug_str_offsets", sections.str_offsets, base + value * self.offset_size)
            value = cursor.number(self.offset_size)
        elif form != Form.STRP:
            return None
        return text_at(sections.str, value)

    def address(self, entry: Entry, name: int) -> int | None:
        """An address; None where the attribute is none."""
        form, value = entry.attributes.get(name, (0, 0))
        if form == Form.ADDR:
            return value
        return self._indexed(value) if form in _ADDRESSES else None

    def ranges(self, entry: Entry) -> tuple[Range, ...]:
        """The code that an entry is about."""
        if At.RANGES in entry.attributes:
            return tuple(self._old_list(entry) if self.version < 5 else self._list(entry))
        start = self.address(entry, At.LOW_PC)
        form, high = entry.attributes.get(At.HIGH_PC, (0, 0))
        end = self.address(entry, At.HIGH_PC) if form in _ADDRESSES else None if start is None else start + high
        return () if start is None or end is None or end <= start else (Range(start, end),)

    def _indexed(self, index: int) -> int:
        base = self.root.number(At.ADDR_BASE, 8)
        return Cursor(".debug_addr", self.sections.addr, base + 8 * index).number(8)

    def _list(self, entry: Entry) -> Iterator[Range]:
        """The entries of a list in .debug_rnglists."""
        form, offset = entry.attributes[At.RANGES]
        section = self.sections.rnglists
        if form == Form.RNGLISTX:
            base = self.root.number(At.RNGLISTS_BASE, 12 if self.offset_size == 4 else 20)
            offset = base + Cursor(".debug_rnglists", section, base + offset * self.offset_size).number(
                self.offset_size
            )
        cursor, base = Cursor(".debug_rnglists", section, offset), self.address(self.root, At.LOW_PC) or 0
        while kind := cursor.number(1):
            self.budget.spend()
            if kind == RangeKind.BASE_ADDRESSX:
                base = self._indexed(cursor.uleb())
            elif kind == RangeKind.BASE_ADDRESS:
                base = cursor.number(8)
            elif kind == RangeKind.STARTX_ENDX:
                yield Range(self._indexed(cursor.uleb()), self._indexed(cursor.uleb()))
            elif kind == RangeKind.STARTX_LENGTH:
                start = self._indexed(cursor.uleb())
                yield Range(start, start + cursor.uleb())
            elif kind == RangeKind.OFFSET_PAIR:
                yield Range(base + cursor.uleb(), base + cursor.uleb())
            elif kind == RangeKind.START_END:
                yield Range(cursor.number(8), cursor.number(8))
            elif kind == RangeKind.START_LENGTH:
                start = cursor.number(8)
                yield Range(start, start + cursor.uleb())
            else:
                raise cursor.malformed(f"an entry of kind {kind} in a list of ranges")

    def _old_list(self, entry: Entry) -> Iterator[Range]:
        """The entries of a list in .debug_ranges, before version 5."""
        cursor = Cursor(".debug_ranges", self.sections.ranges, entry.number(At.RANGES))
        base = self.address(self.root, At.LOW_PC) or 0
        while True:
            self.budget.spend()
            start, end = cursor.number(8), cursor.number(8)
            if not start and not end:
                return
            if start == _MASK:
                base = end
            else:
                yield Range(base + start, base + end)


def text_at(section: bytes, offset: int) -> str:
    """The text at an offset, cut where it is too long."""
    return section[offset : offset + LONGEST_TEXT].partition(b"\0")[0].decode("utf-8", "replace")


def read_units(sections: DebugSections) -> Iterator[Unit]:
    """The compiled sources of a code object.

    Raises:
        InvalidArgumentError: a header is malformed; what came before it is sound.
        ResourceExhaustedError: there are too many of them for their size.
    """
    budget = Budget(sections.size)
    tables: dict[tuple[int, int], dict[int, Abbreviation]] = {}
    at = 0
    while at < len(sections.info):
        budget.spend()
        cursor = Cursor(".debug_info", sections.info, at)
        length, offset_size = cursor.number(4), 4
        if length == 0xFFFFFFFF:
            length, offset_size = cursor.number(8), 8
        end = cursor.skip(0) + length
        if end > len(sections.info):
            raise cursor.malformed(f"a unit of {length} bytes")
        version = cursor.number(2)
        if not 2 <= version <= 5:
            raise cursor.malformed(f"a unit of version {version}")
        kind = cursor.number(1) if version >= 5 else UNIT_COMPILE
        if version >= 5:
            address_size, table = cursor.number(1), cursor.number(offset_size)
        else:
            table, address_size = cursor.number(offset_size), cursor.number(1)
        if address_size != 8:
            raise cursor.malformed(f"addresses of {address_size} bytes")
        if kind in (UNIT_COMPILE, UNIT_PARTIAL) and cursor.at < end:
            key = table, offset_size
            if key not in tables:
                tables[key] = read_abbreviations(sections.abbrev, table, offset_size, budget)
            yield Unit(sections, at, cursor.at, end, version, offset_size, tables[key], Budget(sections.size))
        at = end
