"""Atomic operations on 64-bit words, as machine code: other threads may be at the same word without Python's lock.

The first argument is the address of the word (in `rdi`), at an offset for those that take a structure.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from hipgraph_cb.abi.hsa.structures import AmdQueue, AmdSignal
from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.shared_object import ExportedFunction

SIGNAL_VALUE = AmdSignal.value.offset
WRITE_INDEX, READ_INDEX = AmdQueue.write_dispatch_id.offset, AmdQueue.read_dispatch_id.offset
"""Offsets in amd_signal_t and amd_queue_v2_t."""

_RETURN = b"\xc3"
_RESULT_IS_SECOND = b"\x48\x89\xf0"  # mov %rsi, %rax


def _at(opcode: bytes, register: int, offset: int) -> bytes:
    """An instruction with a register operand (0 rax, 2 rdx, 6 rsi) and the word at `offset(%rdi)`."""
    if offset == 0:
        return opcode + bytes((register << 3 | 7,))
    if offset < 128:
        return opcode + bytes((0x40 | register << 3 | 7, offset))
    return opcode + bytes((0x80 | register << 3 | 7,)) + offset.to_bytes(4, "little")


def load_code(offset: int) -> bytes:
    return _at(b"\x48\x8b", 0, offset) + _RETURN


def store_code(offset: int) -> bytes:
    return _at(b"\x48\x89", 6, offset) + _RETURN


def add_code(offset: int) -> bytes:
    """Returns the value before."""
    return _RESULT_IS_SECOND + _at(b"\xf0\x48\x0f\xc1", 0, offset) + _RETURN


def compare_and_swap_code(offset: int) -> bytes:
    """(word, expected, value): returns the value before."""
    return _RESULT_IS_SECOND + _at(b"\xf0\x48\x0f\xb1", 2, offset) + _RETURN


_CODES = {
    "add": add_code(0),
    "cas": compare_and_swap_code(0),
    "exchange": _RESULT_IS_SECOND + _at(b"\x48\x87", 0, 0) + _RETURN,
    "and": _at(b"\xf0\x48\x21", 6, 0) + _RETURN,
    "or": _at(b"\xf0\x48\x09", 6, 0) + _RETURN,
    "xor": _at(b"\xf0\x48\x31", 6, 0) + _RETURN,
}


@cache
def atomic(name: str) -> Callable[..., int]:
    """add, cas, exchange, and, or, xor: a function of the word's address and one or two signed values."""
    arguments = [ctypes.c_size_t, *[ctypes.c_int64] * (2 if name == "cas" else 1)]
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(_library().target(name))


@cache
def _library() -> NativeLibrary:
    return NativeLibrary(
        ["libhipgraph_cb_atomics.so"], [ExportedFunction(name, fallback=code) for name, code in _CODES.items()]
    )
