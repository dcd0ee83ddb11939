"""The machine code of a shared object whose functions jump through slots: stubs, starters and fallbacks (x86-64)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

STUB_SIZE = 8
ENTRY_SIZE = 16
"""Of a starter and of a fallback."""

Fallback = int | str | bytes
"""A 32-bit result, or the C string whose address is the result, or machine code of at most ENTRY_SIZE bytes."""


def _relative(target: int, next_instruction: int) -> bytes:
    return struct.pack("<i", target - next_instruction)


def stubs(place: int, slots: int, count: int) -> bytes:
    """`jmp *slot(%rip)`, padded with int3."""
    code = bytearray()
    for index in range(count):
        code += b"\xff\x25" + _relative(slots + 8 * index, place + STUB_SIZE * index + 6) + b"\xcc\xcc"
    return bytes(code)


def starters(place: int, entry: int, count: int) -> bytes:
    """`push $index; jmp entry`."""
    code = bytearray()
    for index in range(count):
        jump = b"\xe9" + _relative(entry, place + ENTRY_SIZE * index + 10)
        code += (b"\x68" + struct.pack("<I", index) + jump).ljust(ENTRY_SIZE, b"\xcc")
    return bytes(code)


def entry(place: int, library: int, function: int) -> bytes:
    """Where the starters lead: `lea library(%rip), %r11; jmp *function(%rip)`."""
    return b"\x4c\x8d\x1d" + _relative(library, place + 7) + b"\xff\x25" + _relative(function, place + 13)


def fallback_strings(given: Iterable[Fallback]) -> bytes:
    return b"".join(text.encode() + b"\0" for text in given if isinstance(text, str))


def fallbacks(given: Sequence[Fallback], place: int, text: int) -> bytes:
    """`mov $code, %eax; ret`, or `lea string(%rip), %rax; ret`, or what is given; the strings begin at `text`."""
    code = bytearray()
    for index, fallback in enumerate(given):
        if isinstance(fallback, bytes):
            answer = fallback
        elif isinstance(fallback, str):
            answer = b"\x48\x8d\x05" + _relative(text, place + ENTRY_SIZE * index + 7) + b"\xc3"
            text += len(fallback.encode()) + 1
        else:
            answer = b"\xb8" + struct.pack("<I", fallback & 0xFFFFFFFF) + b"\xc3"
        code += answer.ljust(ENTRY_SIZE, b"\xcc")
    return bytes(code)
