"""Reading and writing the caller's memory, with the checks that the HSA functions make."""

from __future__ import annotations

import ctypes

from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.virtual.callbacks import CallError


def require(condition: object, status: Status = Status.INVALID_ARGUMENT, note: str | None = None) -> None:
    """Answer the call with `status` unless the condition holds."""
    if not condition:
        raise CallError(status, note)


def store_u64(address: int, value: int) -> None:
    """Write a handle, pointer or 64-bit number through an out parameter; NULL is refused."""
    require(address)
    ctypes.c_uint64.from_address(address).value = value


def store_u32(address: int, value: int) -> None:
    require(address)
    ctypes.c_uint32.from_address(address).value = value


def store_u16(address: int, value: int) -> None:
    require(address)
    ctypes.c_uint16.from_address(address).value = value


def store_u8(address: int, value: int) -> None:
    """Write a bool or a byte."""
    require(address)
    ctypes.c_uint8.from_address(address).value = value


def store_bytes(address: int, data: bytes) -> None:
    require(address)
    ctypes.memmove(address, data, len(data))


def load_u64s(address: int, count: int) -> list[int]:
    """`count` handles or 64-bit numbers; NULL is refused where there are any."""
    require(address or not count)
    return list((ctypes.c_uint64 * count).from_address(address)) if count else []


def load_i64s(address: int, count: int) -> list[int]:
    require(address or not count)
    return list((ctypes.c_int64 * count).from_address(address)) if count else []


def load_u32s(address: int, count: int) -> list[int]:
    require(address or not count)
    return list((ctypes.c_uint32 * count).from_address(address)) if count else []


def load_text(address: int) -> str:
    """The C string at `address`; NULL is refused."""
    require(address)
    return ctypes.string_at(address).decode(errors="replace")


_static_texts: dict[str, ctypes.Array[ctypes.c_char]] = {}


def static_text(text: str) -> int:
    """The address of a C string that is never freed."""
    if text not in _static_texts:
        _static_texts[text] = ctypes.create_string_buffer(text.encode())
    return ctypes.addressof(_static_texts[text])
