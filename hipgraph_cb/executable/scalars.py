"""One Python or numpy value as the bytes of one by-value argument."""

from __future__ import annotations

import struct
from collections.abc import Callable

# Type names as OpenCL and HIP compilers write them, without qualifiers: kind and size in bytes.
_NAMED_TYPES: dict[str, tuple[str, int]] = {
    "bool": ("unsigned", 1),
    "char": ("signed", 1),
    "signed char": ("signed", 1),
    "uchar": ("unsigned", 1),
    "unsigned char": ("unsigned", 1),
    "short": ("signed", 2),
    "ushort": ("unsigned", 2),
    "unsigned short": ("unsigned", 2),
    "int": ("signed", 4),
    "uint": ("unsigned", 4),
    "unsigned int": ("unsigned", 4),
    "unsigned": ("unsigned", 4),
    "long": ("signed", 8),
    "ulong": ("unsigned", 8),
    "unsigned long": ("unsigned", 8),
    "long long": ("signed", 8),
    "unsigned long long": ("unsigned", 8),
    "size_t": ("unsigned", 8),
    "half": ("float", 2),
    "_Float16": ("float", 2),
    "float": ("float", 4),
    "double": ("float", 8),
}
_FLOAT_FORMATS = {2: "<e", 4: "<f", 8: "<d"}

Encoder = Callable[[object], bytes]


class ScalarError(ValueError):
    """The value does not fit the parameter; the message says found and allowed."""

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(f"{found}, allowed: {allowed}")
        self.found = found
        self.allowed = allowed


def encoder(size: int, type_name: str | None) -> Encoder:
    """A function from one value to exactly `size` bytes.

    A numpy scalar, an array or bytes must have the exact size. A Python number follows `type_name` where it is known;
    else a float takes the IEEE format of the size and an int two's complement.
    """
    kind, named_size = _NAMED_TYPES.get(type_name or "", ("untyped", size))
    if named_size != size:
        kind = "untyped"

    def encode(value: object) -> bytes:
        if type(value) is int:
            return _encode_integer(value, size, kind)
        if isinstance(value, (bool, int)):
            return _encode_integer(int(value), size, kind)
        if type(value) is float:
            return _encode_float(value, size, kind)
        return _encode_buffer(value, size)

    return encode


def _encode_integer(value: int, size: int, kind: str) -> bytes:
    if kind == "float":
        return _encode_float(float(value), size, kind)
    low = 0 if kind == "unsigned" else -(1 << (8 * size - 1))
    high = (1 << (8 * size - 1)) if kind == "signed" else 1 << 8 * size
    if size not in (1, 2, 4, 8):
        raise ScalarError(f"the number {value}", f"bytes or a numpy value of {size} bytes")
    if not low <= value < high:
        raise ScalarError(f"the number {value}", f"{low} to {high - 1}")
    return (value % (1 << 8 * size)).to_bytes(size, "little")


def _encode_float(value: float, size: int, kind: str) -> bytes:
    if kind in ("signed", "unsigned"):
        raise ScalarError(f"the float {value!r}", "an integer")
    if size not in _FLOAT_FORMATS:
        raise ScalarError(f"the float {value!r}", f"bytes or a numpy value of {size} bytes")
    try:
        return struct.pack(_FLOAT_FORMATS[size], value)
    except OverflowError:
        raise ScalarError(f"the float {value!r}", f"a value that fits {size} bytes") from None


def _encode_buffer(value: object, size: int) -> bytes:
    try:
        view = memoryview(value)  # type: ignore[arg-type]  # the buffer protocol is not a static type before 3.12
    except TypeError:
        raise ScalarError(f"{type(value).__name__}", f"a number, or bytes or a numpy value of {size} bytes") from None
    if view.nbytes != size:
        raise ScalarError(f"{type(value).__name__} of {view.nbytes} bytes", f"exactly {size} bytes")
    return view.tobytes()
