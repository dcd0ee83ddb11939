"""The ELF side of a code object: header, segments, notes, symbols, relocations.

A bounded `struct` reader. Every offset is compared with the length of the bytes before it is used, and no count in the
file drives an allocation.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from hipgraph_cb.abi import elf
from hipgraph_cb.cached import cached_property
from hipgraph_cb.code_object.debug_info.debug_info import DebugInfo
from hipgraph_cb.code_object.metadata_notes import Note, find_notes
from hipgraph_cb.code_object.symbols import (
    Relocation,
    Symbol,
    defined_dynamic_symbols,
    dynamic_relocations,
    dynamic_symbols,
    static_symbols,
)
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError

_ZIP_MAGIC = b"PK\x03\x04"
MOST_PROGRAM_HEADERS = 1024
"""Linkers write about ten; an address is looked up in all of them."""


class Segment(NamedTuple):
    """A program header. `flags`: 1 executable, 2 writable, 4 readable."""

    kind: int
    flags: int
    file_offset: int
    address: int
    file_size: int
    memory_size: int


class CodeObject:
    """The bytes of one code object, with its ELF structures.

    Raises:
        InvalidArgumentError: not an AMD GPU code object, or a structure that contradicts itself.
        OutOfRangeError: the bytes end before a structure that the header promises.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        _check_header(data)
        self.flags: int = struct.unpack_from("<I", data, 48)[0]
        self.abi_version = data[8]
        self.code_object_version = self.abi_version + 2
        self.target = TargetId.from_elf_flags(self.flags, self.abi_version)
        self.segments = _read_segments(data)
        _check_sections(data)
        self._dynamic_symbols = defined_dynamic_symbols(self.symbol_table)

    def __repr__(self) -> str:
        return f"<code object for {self.target}, v{self.code_object_version}: {len(self.data)} bytes>"

    def loadable(self) -> tuple[Segment, ...]:
        """The PT_LOAD segments in file order."""
        return tuple(segment for segment in self.segments if segment.kind == elf.PT_LOAD)

    def file_offset(self, address: int, size: int, what: str) -> int:
        """Where `size` bytes at virtual `address` are in the file.

        Raises:
            OutOfRangeError: they are not inside the file part of one PT_LOAD segment.
        """
        for segment in self.segments:
            if segment.kind == elf.PT_LOAD and segment.address <= address:
                offset = address - segment.address
                if offset + size <= segment.file_size:
                    return segment.file_offset + offset
        raise OutOfRangeError(
            f"{what} is not in the loaded part of the code object",
            found=f"{size} bytes at address {address:#x}",
            allowed="a range inside one PT_LOAD segment's file bytes",
            next_step="the file is truncated or was edited; build it again",
        )

    def segment_of(self, address: int) -> Segment | None:
        """The PT_LOAD segment that holds `address` in memory."""
        for segment in self.segments:
            if segment.kind == elf.PT_LOAD and segment.address <= address < segment.address + segment.memory_size:
                return segment
        return None

    @cached_property
    def metadata_notes(self) -> tuple[Note, ...]:
        """The NT_AMDGPU_METADATA notes of owner AMDGPU, in file order; at least one.

        Raises:
            NotFoundError: there is none.
        """
        notes = [(segment.file_offset, segment.file_size) for segment in self.segments if segment.kind == elf.PT_NOTE]
        return find_notes(self.data, notes)

    @cached_property
    def debug_info(self) -> DebugInfo:
        """Source lines and parameters, where the compiler wrote them; nothing is read before it is asked for."""
        return DebugInfo(self.data)

    @cached_property
    def symbols(self) -> dict[str, Symbol]:
        """Defined symbols by name: the dynamic ones, and the local ones where the section headers were kept."""
        return {**static_symbols(self.data), **self._dynamic_symbols}

    def find_symbol(self, name: str) -> Symbol | None:
        """The defined symbol `name`. Where it is dynamic, as kernels normally are, the section headers are not read."""
        return self._dynamic_symbols.get(name) or self.symbols.get(name)

    @cached_property
    def symbol_table(self) -> tuple[Symbol, ...]:
        """The dynamic symbols by index, the null symbol first; empty when there is no dynamic segment."""
        return dynamic_symbols(self, self.dynamic)

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        """The dynamic relocations (DT_RELA)."""
        return dynamic_relocations(self, self.dynamic)

    @cached_property
    def undefined(self) -> dict[str, list[Relocation]]:
        """The symbols that it leaves undefined, each with the relocations that want its address."""
        found: dict[str, list[Relocation]] = {}
        table = self.symbol_table
        for relocation in self.relocations:
            symbol = table[relocation.symbol] if 0 < relocation.symbol < len(table) else None
            if symbol is not None and not symbol.section and symbol.name:
                found.setdefault(symbol.name, []).append(relocation)
        return found

    def section_headers(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The section headers, each with its offset in the file; none where they were stripped."""
        (table,) = struct.unpack_from("<Q", self.data, 40)
        stride, count = struct.unpack_from("<HH", self.data, 58)
        if table and stride == elf.SECTION_HEADER.size:
            for place in range(table, table + count * stride, stride):
                yield place, elf.SECTION_HEADER.unpack_from(self.data, place)

    @cached_property
    def dynamic(self) -> dict[int, int]:
        """The dynamic segment: tag -> value, the first entry of a tag."""
        entries: dict[int, int] = {}
        for segment in self.segments:
            if segment.kind == elf.PT_DYNAMIC and not entries:
                size = segment.file_size // elf.DYNAMIC_ENTRY.size * elf.DYNAMIC_ENTRY.size
                blob = self.data[segment.file_offset : segment.file_offset + size]
                for tag, value in elf.DYNAMIC_ENTRY.iter_unpack(blob):
                    if tag == 0:
                        break
                    entries.setdefault(tag, value)
        return entries


def read_target(data: bytes | memoryview) -> TargetId:
    """The target in the ELF header; nothing else of `data` is read.

    Raises:
        InvalidArgumentError: not the header of a linked AMD GPU code object.
        OutOfRangeError: fewer than 64 bytes of one.
    """
    _check_header(data)
    return TargetId.from_elf_flags(struct.unpack_from("<I", data, 48)[0], data[8])


def _check_header(data: bytes | memoryview) -> None:
    if data[:4] != elf.MAGIC:
        raise _not_elf(bytes(data[:4]))
    if len(data) < elf.HEADER.size:
        raise OutOfRangeError(
            "the ELF header is truncated",
            where="file offset 0",
            found=f"{len(data)} bytes",
            allowed=f"at least {elf.HEADER.size}",
        )
    kind, machine, version = struct.unpack_from("<HHI", data, 16)
    checks = (
        ("ELF class", 4, data[4], 2, "a 64-bit file"),
        ("byte order", 5, data[5], 1, "little endian"),
        ("ELF version", 6, data[6], 1, "version 1"),
        ("OS ABI", 7, data[7], elf.OSABI_AMDGPU_HSA, "AMDGPU_HSA"),
        ("machine", 18, machine, elf.EM_AMDGPU, "EM_AMDGPU"),
        ("object version", 20, version, 1, "version 1"),
    )
    for name, offset, found, allowed, meaning in checks:
        if found != allowed:
            raise _bad_header(f"the ELF header has the wrong {name}", offset, str(found), f"{allowed} ({meaning})")
    if kind == elf.ET_REL:
        raise InvalidArgumentError(
            "the code object is relocatable",
            where="file offset 16 (e_type)",
            found="1 (ET_REL)",
            allowed="3 (ET_DYN)",
            next_step="link it: ld.lld -shared IN.o -o OUT.hsaco",
        )
    if kind != elf.ET_DYN:
        raise _bad_header("the ELF header has the wrong type", 16, str(kind), "3 (ET_DYN)")


def _not_elf(magic: bytes) -> InvalidArgumentError:
    error = _bad_header("the file is not ELF", 0, magic.hex(" ") or "no bytes", elf.MAGIC.hex(" "))
    if magic == _ZIP_MAGIC:
        error.next_step = (
            "this is a ZIP archive; if it is an IREE module, compile it with "
            "--iree-hal-dump-executable-binaries-to=DIR and give a file from there"
        )
    return error


def _bad_header(what: str, offset: int, found: str, allowed: str) -> InvalidArgumentError:
    next_step = "give an AMD GPU code object (HSACO)"
    return InvalidArgumentError(what, where=f"file offset {offset}", found=found, allowed=allowed, next_step=next_step)


def _read_segments(data: bytes) -> tuple[Segment, ...]:
    table = struct.unpack_from("<Q", data, 32)[0]
    stride, count = struct.unpack_from("<HH", data, 54)
    if count > MOST_PROGRAM_HEADERS:
        raise _bad_header("there are too many program headers", 56, str(count), f"at most {MOST_PROGRAM_HEADERS}")
    if count and stride < elf.PROGRAM_HEADER.size:
        raise _bad_header("program headers are too small", 54, f"{stride} bytes each", f">= {elf.PROGRAM_HEADER.size}")
    if table + count * stride > len(data):
        raise truncated("the program header table", table, count * stride, len(data))
    segments = []
    for index in range(count):
        kind, flags, offset, address, _, file_size, memory_size, _ = elf.PROGRAM_HEADER.unpack_from(
            data, table + index * stride
        )
        segment = Segment(kind, flags, offset, address, file_size, memory_size)
        if kind in (elf.PT_LOAD, elf.PT_DYNAMIC, elf.PT_NOTE):
            _check_segment(segment, index, len(data))
        segments.append(segment)
    return tuple(segments)


def _check_segment(segment: Segment, index: int, length: int) -> None:
    if segment.file_offset + segment.file_size > length:
        raise truncated(f"segment {index}", segment.file_offset, segment.file_size, length)
    if segment.kind == elf.PT_LOAD and segment.memory_size < segment.file_size:
        raise InvalidArgumentError(
            f"segment {index} is smaller in memory than in the file",
            found=f"{segment.memory_size} bytes in memory, {segment.file_size} in the file",
            allowed="memory size >= file size",
        )


def truncated(what: str, offset: int, size: int, length: int) -> OutOfRangeError:
    """The error for `size` bytes of `what` at `offset` in a file of only `length` bytes."""
    return OutOfRangeError(
        f"{what} is past the end of the file",
        where=f"file offset {offset}",
        found=f"{size} bytes at offset {offset}",
        allowed=f"a range inside the file's {length} bytes",
        next_step="the file is truncated; build or copy it again",
    )


def _check_sections(data: bytes) -> None:
    """The section headers come last, so a file without them was cut off. AMD's runtime reads them."""
    (offset,) = struct.unpack_from("<Q", data, 40)
    row_size, count = struct.unpack_from("<HH", data, 58)
    if count and offset + row_size * count > len(data):
        raise truncated("the section header table", offset, row_size * count, len(data))
