"""How many bytes a code object or container takes, for callers who were given an address and no length.

Only what the file's own tables claim is ever read: `read(offset, length)` returns those bytes, and may raise for what
is not mapped. Section contents that occupy no file bytes do not count; segments do.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from hipgraph_cb.abi import elf
from hipgraph_cb.code_object.offload_bundle import BUNDLE_MAGIC, COMPRESSED_MAGIC, MOST_ENTRIES
from hipgraph_cb.code_object.wrapper import HEADER_SIZE, is_wrapper, wrapper_size
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError

Read = Callable[[int, int], bytes]

_COMPRESSED_TOTAL = {2: "<I", 3: "<Q"}


def infer_size(read: Read, limit: int | None = None) -> int:
    """The size of the code object or container at offset 0.

    `limit` is how much memory is known to be there, if that is known; the answer never exceeds it.

    Raises:
        InvalidArgumentError: no form of file that this package knows, or tables that contradict the format.
        OutOfRangeError: the tables claim more than `limit`.
    """
    bounded = _Bounded(read, limit)
    start = bounded.read(0, 4)
    if start == elf.MAGIC:
        size = _elf_size(bounded)
    elif is_wrapper(start):
        size = wrapper_size(bounded.read(0, HEADER_SIZE))
    elif start == COMPRESSED_MAGIC:
        size = _compressed_size(bounded)
    elif start == BUNDLE_MAGIC[:4] and bounded.read(0, len(BUNDLE_MAGIC)) == BUNDLE_MAGIC:
        size = _bundle_size(bounded)
    else:
        raise InvalidArgumentError(
            "the memory holds no code object",
            where="offset 0",
            found=start.hex(" "),
            allowed="an ELF file, an offload bundle, or an AMD1 or HIP1 wrapper",
        )
    return bounded.end(size)


class _Bounded:
    def __init__(self, read: Read, limit: int | None) -> None:
        self._read = read
        self._limit = limit

    def read(self, offset: int, length: int) -> bytes:
        self.end(offset + length)
        return self._read(offset, length)

    def end(self, end: int) -> int:
        """`end` itself, if it is within the limit."""
        limit = 1 << 63 if self._limit is None else self._limit
        if end > limit:
            raise OutOfRangeError(
                "the file is larger than the memory that holds it",
                found=f"{end} bytes by its own tables",
                allowed=f"at most {limit}",
                next_step="the file is truncated; build or copy it again",
            )
        return end


def _elf_size(memory: _Bounded) -> int:
    header = memory.read(0, elf.HEADER.size)
    if header[4:6] != elf.IDENT_64_BIT_LITTLE_ENDIAN:
        raise InvalidArgumentError(
            "the ELF file is not 64-bit little endian", where="offset 4", found=header[4:6].hex(" "), allowed="02 01"
        )
    segments, sections = struct.unpack_from("<QQ", header, 32)
    segment_size, segment_count, section_size, section_count = struct.unpack_from("<HHHH", header, 54)
    return max(
        elf.HEADER.size,
        _table_end(memory, segments, segment_count, segment_size, elf.PROGRAM_HEADER.size, _segment_end),
        _table_end(memory, sections, section_count, section_size, elf.SECTION_HEADER.size, _section_end),
    )


def _table_end(
    memory: _Bounded, start: int, count: int, stride: int, least: int, end: Callable[[memoryview], int]
) -> int:
    """The end of the table, or of the furthest thing that a row of it describes."""
    if not start or not count:
        return 0
    if stride < least:
        raise InvalidArgumentError(
            "the rows of an ELF table are too small",
            where=f"the table at offset {start}",
            found=f"{stride} bytes each",
            allowed=f">= {least}",
        )
    rows = memoryview(memory.read(start, count * stride))
    return max(start + count * stride, *(end(rows[index * stride :]) for index in range(count)))


def _segment_end(row: memoryview) -> int:
    offset, size = struct.unpack_from("<Q16xQ", row, 8)
    return int(offset + size)


def _section_end(row: memoryview) -> int:
    kind, offset, size = struct.unpack_from("<I16xQQ", row, 4)
    return 0 if kind in (elf.SHT_NULL, elf.SHT_NOBITS) else int(offset + size)


def _bundle_size(memory: _Bounded) -> int:
    position = len(BUNDLE_MAGIC) + 8
    (count,) = struct.unpack("<Q", memory.read(position - 8, 8))
    if count > MOST_ENTRIES:
        raise InvalidArgumentError(
            "malformed offload bundle: it has too many entries",
            where=f"offset {position - 8}",
            found=str(count),
            allowed=f"at most {MOST_ENTRIES}",
        )
    end = position
    for _ in range(count):
        offset, size, name_size = struct.unpack("<QQQ", memory.read(position, 24))
        position += 24 + name_size
        end = max(end, memory.end(position), offset + size)
    return end


def _compressed_size(memory: _Bounded) -> int:
    version = int.from_bytes(memory.read(4, 2), "little")
    if version not in _COMPRESSED_TOTAL:
        raise InvalidArgumentError(
            "this compressed bundle does not state its size",
            where="offset 4",
            found=f"version {version}",
            allowed="version 2 or 3, or a call that gives the length",
            next_step="build with a newer clang, or with -no-offload-compress",
        )
    form = _COMPRESSED_TOTAL[version]
    return int(struct.unpack(form, memory.read(8, struct.calcsize(form)))[0])
