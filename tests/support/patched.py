"""Code objects with a kernel that was broken on purpose."""

from __future__ import annotations

import struct

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
