"""Code objects that were changed on purpose."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import msgpack
from support import elf

from hipgraph_cb.code_object.verify import inspect

S_ENDPGM = 0xBF810000


def ended_at_once(data: bytes, kernel: str) -> bytes:
    """The same code object, but this kernel does nothing: its first instruction ends it."""
    executable = inspect(data)
    code, export = executable.code_object, executable.exports[kernel]
    symbol = code.find_symbol(export.symbol)
    entry = symbol.value + export.descriptor.kernel_code_entry_byte_offset
    patched = bytearray(data)
    struct.pack_into("<I", patched, code.file_offset(entry, 4, "the entry"), S_ENDPGM)
    return bytes(patched)


def with_metadata(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The same code object with its metadata changed: the new note stands behind the file, and counts alone.

    The section headers move behind it: AMD's runtime takes their end for the end of the file.
    """
    (note,) = inspect(data).code_object.metadata_notes
    root = msgpack.unpackb(note.data)
    change(root)
    patched = bytearray(data) + bytes(-len(data) % 8)
    record, start = elf.metadata_note(root), len(patched)
    (table, sections) = struct.unpack_from("<QQ", data, 32)
    (count, section_size, section_count) = struct.unpack_from("<HHH", data, 56)
    for row in range(table, table + count * elf.PROGRAM_HEADER_SIZE, elf.PROGRAM_HEADER_SIZE):
        if struct.unpack_from("<I", data, row) == (elf.NOTE,):
            struct.pack_into("<QQQQQ", patched, row + 8, start, start, start, len(record), len(record))
    patched += record + bytes(-len(record) % 8)
    struct.pack_into("<Q", patched, 40, len(patched))
    return bytes(patched) + data[sections : sections + section_size * section_count]


def with_addresses_by_value(data: bytes, **keys: str) -> bytes:
    """The same kernels, whose pointers are declared as 64-bit values, as some libraries of kernels do."""

    def change(root: dict[str, Any]) -> None:
        for kernel in root["amdhsa.kernels"]:
            kernel[".args"] = [
                elf.argument(row[".offset"], 8, **keys) if row[".value_kind"] == "global_buffer" else row
                for row in kernel[".args"]
            ]

    return with_metadata(data, change)
