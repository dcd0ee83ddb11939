"""A code object with the addresses of its undefined symbols in place, for runtimes that have no call to define them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hipgraph_cb.abi import elf

if TYPE_CHECKING:
    from hipgraph_cb.code_object.code_object import CodeObject
    from hipgraph_cb.code_object.symbols import Relocation

PLACE_SIZE = 8
"""Bytes of an address in the file."""


def linked(code_object: CodeObject, addresses: Mapping[str, int]) -> bytes:
    """The file with these addresses where its undefined symbols are wanted, and without the relocations that want them.

    Raises:
        OutOfRangeError: a place outside the file.
    """
    places = {
        relocation.address: (addresses[name] + relocation.addend) & 0xFFFF_FFFF_FFFF_FFFF
        for name, relocations in code_object.undefined.items()
        for relocation in relocations
    }
    if not places:
        return code_object.data
    image = bytearray(code_object.data)
    for address, value in places.items():
        struct.pack_into("<Q", image, code_object.file_offset(address, PLACE_SIZE, "an undefined symbol"), value)
    gone = {id(each) for relocations in code_object.undefined.values() for each in relocations}
    _keep_relocations(code_object, image, [each for each in code_object.relocations if id(each) not in gone])
    return bytes(image)


def _keep_relocations(code_object: CodeObject, image: bytearray, kept: list[Relocation]) -> None:
    """Write the table again. Its length stands in the dynamic segment, for loaders, and in the section header, which
    AMD's loader reads."""
    size = code_object.dynamic[elf.DT_RELASZ]
    start = code_object.file_offset(code_object.dynamic[elf.DT_RELA], size, "the relocation table")
    rows = b"".join(elf.RELOCATION.pack(each.address, each.symbol << 32 | each.kind, each.addend) for each in kept)
    image[start : start + size] = rows.ljust(size, b"\0")
    dynamic = next(segment for segment in code_object.segments if segment.kind == elf.PT_DYNAMIC)
    for place in range(dynamic.file_offset, dynamic.file_offset + dynamic.file_size, elf.DYNAMIC_ENTRY.size):
        if elf.DYNAMIC_ENTRY.unpack_from(image, place)[0] == elf.DT_RELASZ:
            elf.DYNAMIC_ENTRY.pack_into(image, place, elf.DT_RELASZ, len(rows))
            break
    for place, header in code_object.section_headers():
        _, kind, _, _, offset, *_ = header
        if kind == elf.SHT_RELA and offset == start:
            struct.pack_into("<Q", image, place + elf.SECTION_SIZE_OFFSET, len(rows))
