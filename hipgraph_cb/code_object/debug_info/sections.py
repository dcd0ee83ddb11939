"""The sections of debug information, by name."""

from __future__ import annotations

import struct
from typing import NamedTuple

from hipgraph_cb.abi import elf

_LONGEST_NAME = 32
_PREFIX = b".debug_"


class DebugSections(NamedTuple):
    """What each section holds; nothing where it is not there."""

    info: bytes = b""
    abbrev: bytes = b""
    line: bytes = b""
    str: bytes = b""
    line_str: bytes = b""
    str_offsets: bytes = b""
    addr: bytes = b""
    ranges: bytes = b""
    rnglists: bytes = b""

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(map(len, self))


def debug_sections(data: bytes) -> DebugSections | None:
    """The sections of an ELF file; None where there is no debug information, or it was compressed."""
    table = struct.unpack_from("<Q", data, 40)[0]
    stride, count, names_index = struct.unpack_from("<HHH", data, 58)
    end = table + count * stride
    if not table or stride != elf.SECTION_HEADER.size or end > len(data) or names_index >= count:
        return None
    rows = list(elf.SECTION_HEADER.iter_unpack(data[table:end]))
    names, names_size = rows[names_index][4:6]
    found: dict[str, bytes] = {}
    for name, kind, flags, _, offset, size, _, _, _, _ in rows:
        if kind == elf.SHT_NOBITS or flags & (elf.SHF_ALLOC | elf.SHF_COMPRESSED) or name >= names_size:
            continue
        text, zero, _ = data[names + name : names + name + _LONGEST_NAME].partition(b"\0")
        field = text.removeprefix(_PREFIX).decode("ascii", "replace") if zero and text.startswith(_PREFIX) else ""
        if field in DebugSections._fields and offset + size <= len(data):
            found.setdefault(field, data[offset : offset + size])
    return DebugSections(**found) if found.get("info") and found.get("abbrev") else None
