"""How long is the code object at an address? hipModuleLoadData gets no length, so the ELF has to tell.

The headers may claim anything. So the kernel reads for us: `write` into a pipe copies what is mapped, and stops with
an error, not with a signal, where nothing is.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator

_HEADER = 64
_MAGIC = b"\x7fELF\x02\x01"
_PROGRAM_ROW, _SECTION_ROW = 56, 64
_SHT_NOBITS = 8
_PAGE = 4096
_CHUNK = 32768  # a pipe holds at least 64 KiB
_LARGEST = 1 << 30

_libc = ctypes.CDLL(None, use_errno=True)
_libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_libc.write.restype = ctypes.c_ssize_t


def read_code_object(address: int) -> bytes | None:
    """The ELF file at `address`; None when there is none. Cut short where memory ends."""
    header = read_mapped(address, _HEADER)
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        return None
    extent = _extent(address, header)
    # What claims to be larger than any code object is damaged; its beginning is enough to find that out.
    return read_mapped(address, extent if extent <= _LARGEST else _HEADER)


def read_mapped(address: int, size: int) -> bytes:
    """Up to `size` bytes at `address`: fewer where the memory behind it cannot be read."""
    reader, writer = os.pipe()
    pieces = []
    try:
        end = address + size
        while address < end:
            written = _libc.write(writer, address, min(_CHUNK - address % _PAGE, end - address))
            if written <= 0:
                # A write that reaches into unmapped memory may fail as a whole: only up to the end of this page.
                written = _libc.write(writer, address, min(_PAGE - address % _PAGE, end - address))
            if written <= 0:
                break
            pieces.append(os.read(reader, written))
            address += written
    finally:
        os.close(reader)
        os.close(writer)
    return b"".join(pieces)


def _extent(address: int, header: bytes) -> int:
    """The end of the last thing that the headers place in the file."""
    program_table, section_table = struct.unpack_from("<QQ", header, 32)
    program_size, program_count, section_size, section_count = struct.unpack_from("<HHHH", header, 54)
    end: int = max(_HEADER, program_table + program_size * program_count, section_table + section_size * section_count)
    for row in _rows(address + program_table, program_size, program_count, _PROGRAM_ROW):
        offset, size = struct.unpack_from("<Q16xQ", row, 8)
        end = max(end, offset + size)
    for row in _rows(address + section_table, section_size, section_count, _SECTION_ROW):
        (kind,) = struct.unpack_from("<I", row, 4)
        offset, size = struct.unpack_from("<QQ", row, 24)
        if kind != _SHT_NOBITS:
            end = max(end, offset + size)
    return end


def _rows(address: int, size: int, count: int, least: int) -> Iterator[bytes]:
    if size < least or address >= 1 << 63:
        return
    data = read_mapped(address, size * count)
    for start in range(0, len(data) - size + 1, size):
        yield data[start : start + size]
