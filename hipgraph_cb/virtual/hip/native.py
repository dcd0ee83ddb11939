"""Reading and writing the caller's memory, with the null checks that the HIP functions make."""

from __future__ import annotations

import ctypes

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.virtual.callbacks import CallError


def require(condition: object, code: int = Code.INVALID_VALUE, note: str | None = None) -> None:
    """Answer the call with `code` unless the condition holds."""
    if not condition:
        raise CallError(code, note)


def store_pointer(address: int, value: int) -> None:
    """Write a pointer or size_t through an out parameter; NULL is hipErrorInvalidValue."""
    if not address:
        raise CallError(Code.INVALID_VALUE)
    ctypes.c_size_t.from_address(address).value = value


def store_int(address: int, value: int) -> None:
    """Write an int or enum through an out parameter; NULL is hipErrorInvalidValue."""
    if not address:
        raise CallError(Code.INVALID_VALUE)
    ctypes.c_int.from_address(address).value = value


def load_pointer(address: int) -> int:
    """The pointer or size_t at `address`."""
    return ctypes.c_size_t.from_address(address).value


def load_pointers(address: int, count: int) -> list[int]:
    """`count` pointers at `address`."""
    return list((ctypes.c_size_t * count).from_address(address)) if count else []


def store_pointers(address: int, values: list[int], room: int) -> None:
    """Write the first `room` values and fill what is left of the room with NULL."""
    out = (ctypes.c_size_t * room).from_address(address)
    for index in range(room):
        out[index] = values[index] if index < len(values) else 0


def store_text(address: int, room: int, text: str) -> None:
    """Write a C string, cut to `room` bytes with its terminator."""
    if not address or room <= 0:
        raise CallError(Code.INVALID_VALUE)
    data = text.encode()[: room - 1] + b"\0"
    ctypes.memmove(address, data, len(data))


def load_bytes(address: int, size: int) -> bytes:
    """`size` bytes at `address`."""
    return ctypes.string_at(address, size)


def load_text(address: int) -> str:
    """The C string at `address`; NULL is hipErrorInvalidValue."""
    if not address:
        raise CallError(Code.INVALID_VALUE)
    return ctypes.string_at(address).decode(errors="replace")


_static_texts: dict[str, ctypes.Array[ctypes.c_char]] = {}


def static_text(text: str) -> int:
    """The address of a C string that is never freed."""
    if text not in _static_texts:
        _static_texts[text] = ctypes.create_string_buffer(text.encode())
    return ctypes.addressof(_static_texts[text])
