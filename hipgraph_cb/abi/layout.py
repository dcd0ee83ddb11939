"""Packing a structure in one `struct` call, where filling in a ctypes object field by field would be slow."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

_LETTERS = {1: "b", 2: "h", 4: "i", 8: "q"}


def packer(structure: type[ctypes.Structure]) -> struct.Struct:
    """Packs the numbers of an integer-only structure in its order, those of arrays and inner structures in a row."""
    return struct.Struct("<" + _format(structure))


def _format(kind: Any) -> str:
    if issubclass(kind, ctypes.Array):
        count: int = kind._length_
        return _format(kind._type_) * count
    if not issubclass(kind, ctypes.Structure):
        letter = _LETTERS[ctypes.sizeof(kind)]
        is_signed = kind(-1).value < 0
        return letter if is_signed else letter.upper()
    text, end = "", 0
    for name, field, *_ in kind._fields_:
        offset = getattr(kind, name).offset
        text += f"{offset - end}x{_format(field)}"
        end = offset + ctypes.sizeof(field)
    return f"{text}{ctypes.sizeof(kind) - end}x"
