"""Symbols and relocations of a code object.

Kernels are normally dynamic symbols. Plain C kernels are hidden and are in `.symtab` only, where AMD's loader finds
them too; so the section headers are read as well, where they were kept.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.abi import elf
from hipgraph_cb.errors import InvalidArgumentError

if TYPE_CHECKING:
    from hipgraph_cb.code_object.code_object import CodeObject


class Symbol(NamedTuple):
    """`kind`: 1 object, 2 function; `section` 0 means undefined."""

    name: str
    value: int
    size: int
    kind: int
    section: int


class Relocation(NamedTuple):
    """A dynamic relocation of type `kind` (R_AMDGPU_*) at `address`; `symbol` indexes `CodeObject.symbol_table`."""

    address: int
    kind: int
    symbol: int
    addend: int


def defined_dynamic_symbols(table: tuple[Symbol, ...]) -> dict[str, Symbol]:
    """The defined ones of the dynamic symbols, by name."""
    found: dict[str, Symbol] = {}
    for symbol in table:
        if symbol.name and symbol.section:
            if symbol.name in found:
                raise InvalidArgumentError("a symbol is defined twice", where=".dynsym", found=repr(symbol.name))
            found[symbol.name] = symbol
    return found


def static_symbols(data: bytes) -> dict[str, Symbol]:
    """Objects and functions of the `.symtab` section by name, the first of a name; empty when it was stripped."""
    found: dict[str, Symbol] = {}
    for symbol in _static_table(data):
        if symbol.name and symbol.section and symbol.kind in (elf.STT_OBJECT, elf.STT_FUNC):
            found.setdefault(symbol.name, symbol)
    return found


def dynamic_symbols(code_object: CodeObject, dynamic: dict[int, int]) -> tuple[Symbol, ...]:
    """The dynamic symbol table, whose length only the hash tables know."""
    if not {elf.DT_SYMTAB, elf.DT_STRTAB, elf.DT_STRSZ} <= dynamic.keys():
        return ()
    size = dynamic[elf.DT_STRSZ]
    start = code_object.file_offset(dynamic[elf.DT_STRTAB], size, "the dynamic string table")
    strings = code_object.data[start : start + size]
    length = _symbol_count(code_object, dynamic) * elf.SYMBOL.size
    table = code_object.file_offset(dynamic[elf.DT_SYMTAB], length, "the dynamic symbol table")
    return _read_table(code_object.data[table : table + length], strings, ".dynsym", len(code_object.data))


def dynamic_relocations(code_object: CodeObject, dynamic: dict[int, int]) -> tuple[Relocation, ...]:
    """The entries of DT_RELA."""
    size = dynamic.get(elf.DT_RELASZ, 0)
    if not size or elf.DT_RELA not in dynamic:
        return ()
    if size % elf.RELOCATION.size:
        raise InvalidArgumentError("DT_RELASZ is not a whole number of relocations", found=f"{size} bytes")
    start = code_object.file_offset(dynamic[elf.DT_RELA], size, "the relocation table")
    rows = elf.RELOCATION.iter_unpack(code_object.data[start : start + size])
    return tuple(Relocation(address, info & 0xFFFFFFFF, info >> 32, addend) for address, info, addend in rows)


def _static_table(data: bytes) -> tuple[Symbol, ...]:
    """The rows of `.symtab`. Section headers are not loaded, so a table outside the file counts as stripped."""
    table = struct.unpack_from("<Q", data, 40)[0]
    stride, count = struct.unpack_from("<HH", data, 58)
    if not table or stride != elf.SECTION_HEADER.size or table + count * stride > len(data):
        return ()
    sections = list(elf.SECTION_HEADER.iter_unpack(data[table : table + count * stride]))
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind == elf.SHT_SYMTAB and link < count:
            strings_offset, strings_size = sections[link][4:6]
            strings = data[strings_offset : strings_offset + strings_size]
            return _read_table(data[offset : offset + size], strings, ".symtab", len(data))
    return ()


def _read_table(table: bytes, strings: bytes, where: str, budget: int) -> tuple[Symbol, ...]:
    """All rows. Names may share bytes, so a small table could hold gigabytes of them: `budget` is what it may hold."""
    usable = len(table) // elf.SYMBOL.size * elf.SYMBOL.size
    symbols = []
    left = budget
    for name, info, _, section, value, size in elf.SYMBOL.iter_unpack(table[:usable]):
        end = _end_of_text(strings, name, where)
        left -= end - name
        if left < 0:
            raise InvalidArgumentError(
                "the symbol names overlap",
                where=where,
                found=f"more than {budget} bytes of names, in {len(strings)} bytes of strings",
                allowed=f"at most the {budget} bytes of the file",
                next_step="the file was edited; build it again",
            )
        text = strings[name:end].decode("utf-8", "replace")
        symbols.append(Symbol(text, value, size, info & 15, section))
    return tuple(symbols)


def _end_of_text(strings: bytes, offset: int, where: str) -> int:
    end = strings.find(b"\0", offset)
    if offset >= len(strings) or end < 0:
        raise InvalidArgumentError(
            "a symbol name is past the string table",
            where=where,
            found=f"offset {offset}",
            allowed=f"below {len(strings)}",
        )
    return end


def _symbol_count(code_object: CodeObject, dynamic: dict[int, int]) -> int:
    if elf.DT_HASH in dynamic:
        start = code_object.file_offset(dynamic[elf.DT_HASH], 8, "the symbol hash table")
        return _u32(code_object.data, start + 4)
    if elf.DT_GNU_HASH in dynamic:
        return _gnu_symbol_count(code_object, dynamic[elf.DT_GNU_HASH])
    raise InvalidArgumentError(
        "the dynamic symbol table has no length",
        found="neither DT_HASH nor DT_GNU_HASH",
        allowed="one of them",
        next_step="link with ld.lld",
    )


def _gnu_symbol_count(code_object: CodeObject, address: int) -> int:
    """The highest symbol of any bucket, then along its chain to the entry whose lowest bit is set."""
    start = code_object.file_offset(address, 16, "the GNU hash table")
    buckets, first, bloom, _ = (int(field) for field in struct.unpack_from("<IIII", code_object.data, start))
    bucket_address = address + 16 + 8 * bloom
    start = code_object.file_offset(bucket_address, 4 * buckets, "the GNU hash buckets")
    last: int = max(struct.unpack_from(f"<{buckets}I", code_object.data, start), default=0)
    if last < first:
        return first
    chain = code_object.file_offset(bucket_address + 4 * (buckets + last - first), 4, "the GNU hash chain")
    while chain + 4 <= len(code_object.data):
        last += 1
        if _u32(code_object.data, chain) & 1:
            return last
        chain += 4
    raise InvalidArgumentError("the GNU hash chain has no end", found="no entry with its lowest bit set")


def _u32(data: bytes, offset: int) -> int:
    value: int = struct.unpack_from("<I", data, offset)[0]
    return value
