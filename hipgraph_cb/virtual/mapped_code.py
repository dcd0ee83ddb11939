"""The code object, or bundle of them, at an address. hipModuleLoadData gets no length, so it is read from the file.

Its tables may claim anything. So the memory is read by `write` into a pipe: the Linux kernel copies what is mapped, and
returns an error, not a signal, where nothing is.
"""

from __future__ import annotations

import ctypes
import os

from hipgraph_cb.code_object.extent import infer_size
from hipgraph_cb.errors import OutOfRangeError

_PAGE = 4096
_CHUNK = 32768  # a pipe holds at least 64 KiB
_LARGEST = 1 << 30  # no code object is larger

_libc = ctypes.CDLL(None, use_errno=True)
_libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_libc.write.restype = ctypes.c_ssize_t


def read_code(address: int) -> bytes:
    """The file at `address`.

    Raises:
        InvalidArgumentError, OutOfRangeError: there is no code object, or it is longer than the memory.
    """

    def read(offset: int, size: int) -> bytes:
        data = read_mapped(address + offset, size) if size <= _LARGEST else b""
        if len(data) < size:
            raise OutOfRangeError(
                "the code object is longer than the memory that holds it",
                where=f"offset {offset}",
                found=f"{size} bytes are claimed, {len(data)} can be read",
                next_step="the file is truncated; build or copy it again",
            )
        return data

    return read(0, infer_size(read, _LARGEST))


def read_mapped(address: int, size: int) -> bytes:
    """Up to `size` bytes at `address`: fewer where the memory behind it cannot be read."""
    if not 0 <= address < 1 << 63:
        return b""
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
