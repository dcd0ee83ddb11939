"""One Python or numpy value as the bytes of one by-value argument."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from hipgraph_cb.abi.c_types import C_TYPES, FLOAT, FLOAT_LETTERS, INTEGER_LETTERS, SIGNED, UNSIGNED

_UNTYPED = "untyped"
BFLOAT = "__bf16"
"""The upper half of a float, which neither `struct` nor numpy knows; its name is its kind."""
# `.value_type` as older compilers write it, in the words of `.type_name`.
_VALUE_TYPES = {
    "i8": "char",
    "u8": "uchar",
    "i16": "short",
    "u16": "ushort",
    "i32": "int",
    "u32": "uint",
    "i64": "long",
    "u64": "ulong",
    "f16": "half",
    "f32": "float",
    "f64": "double",
}
_FLOAT_FORMATS = {(size, kind): letter for size, letter in FLOAT_LETTERS.items() for kind in (FLOAT, _UNTYPED)}
_INTEGER_FORMATS = {
    (size, kind): letter.lower() if kind == SIGNED else letter
    for size, letter in INTEGER_LETTERS.items()
    for kind in (SIGNED, UNSIGNED, _UNTYPED)
}

Encoder = Callable[[object], bytes]


class ScalarError(ValueError):
    """The value does not fit the parameter; the message says what was found and what is allowed."""

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(f"{found}, allowed: {allowed}")
        self.found = found
        self.allowed = allowed


def encoder(size: int, type_name: str | None) -> Encoder:
    """A function from one value to exactly `size` bytes.

    A numpy array or bytes must have the exact size. A Python number follows `type_name` where it is known; else a float
    takes the IEEE format of the size and an int two's complement; a numpy scalar of another size is a number as well. A
    tuple or a list has one value for each element of a vector type.
    """
    kind = _kind(size, type_name)
    fast: dict[type, Callable[[object], bytes] | None] = {
        number: _fast_pack(number_format(size, type_name, number)) for number in (int, float)
    }

    elements = _vector_encoder(size, type_name)

    def encode(value: object) -> bytes:
        pack = fast.get(type(value))
        if pack is not None:
            try:
                return pack(value)
            except (struct.error, OverflowError):
                pass  # out of range, or a negative untyped number: the rules below decide
        if type(value) is float:
            return _encode_float(value, size, kind)
        if isinstance(value, int):
            return _encode_integer(int(value), size, kind)
        if elements is not None and isinstance(value, (tuple, list)):
            return elements(value)
        return _encode_buffer(value, size, kind)

    return encode


def number_format(size: int, type_name: str | None, number: type) -> str | None:
    """The `struct` format that packs a Python number of type `number` as `encoder` does, or refuses it; None if none.

    What `struct` refuses may still be right: a negative number for an untyped parameter.
    """
    if number is int:
        return _INTEGER_FORMATS.get((size, _kind(size, type_name)))
    return _FLOAT_FORMATS.get((size, _kind(size, type_name))) if number is float else None


def named_value_type(value_type: str | None) -> str | None:
    """A `.value_type` in the words of `.type_name`; None for a struct and for what is not known."""
    return _VALUE_TYPES.get(value_type or "")


def is_float(size: int, type_name: str | None) -> bool:
    """Whether the type name says that a value of this size is a floating-point number."""
    return _kind(size, type_name) == FLOAT


def has_size(size: int, type_name: str) -> bool:
    """Whether a value of this type has this size."""
    return C_TYPES[type_name].size == size


def is_host_value(value: object) -> bool:
    """Whether `value` is a number or other bytes of the host, or at least not device memory."""
    if value is None or isinstance(value, (bool, int, float, complex, str, list, tuple, dict, set)):
        return True
    try:
        memoryview(value)  # type: ignore[arg-type]  # the buffer protocol is not a static type before 3.12
    except (TypeError, ValueError, BufferError):
        return False
    return True


def _kind(size: int, type_name: str | None) -> str:
    if type_name == BFLOAT:
        return BFLOAT
    named = C_TYPES.get(type_name or "")
    return named.kind if named is not None and named.size == size else _UNTYPED


def _fast_pack(form: str | None) -> Callable[[object], bytes] | None:
    """`struct` packs a Python number in one call where its type and the parameter's agree."""
    return struct.Struct(f"<{form}").pack if form else None


def _encode_integer(value: int, size: int, kind: str) -> bytes:
    if kind in (FLOAT, BFLOAT):
        return _encode_float(value, size, kind)
    if size not in INTEGER_LETTERS:
        raise ScalarError(_number(value), f"bytes or a numpy value of {size} bytes")
    low = 0 if kind == UNSIGNED else -(1 << (8 * size - 1))
    high = (1 << (8 * size - 1)) if kind == SIGNED else 1 << 8 * size
    if not low <= value < high:
        raise ScalarError(_number(value), f"{low} to {high - 1}")
    return (value % (1 << 8 * size)).to_bytes(size, "little")


def _encode_float(value: float, size: int, kind: str) -> bytes:
    if kind in (SIGNED, UNSIGNED):
        raise ScalarError(_number(value), "an integer")
    if kind == BFLOAT:
        return _encode_bfloat(value)
    if size not in FLOAT_LETTERS:
        raise ScalarError(_number(value), f"bytes or a numpy value of {size} bytes")
    try:
        return struct.pack(f"<{FLOAT_LETTERS[size]}", value)
    except (struct.error, OverflowError):
        raise ScalarError(_number(value), f"a value that fits a float of {size} bytes") from None


def _encode_bfloat(value: float) -> bytes:
    """The upper half of the float, rounded to nearest with ties to even."""
    bits = int.from_bytes(_encode_float(value, 4, FLOAT), "little")
    if bits & 0x7FFFFFFF > 0x7F800000:  # NaN stays one
        return (bits >> 16 | 0x40).to_bytes(2, "little")
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).to_bytes(2, "little")


def _number(value: int | float) -> str:
    if isinstance(value, float):
        return f"the float {value!r}"
    # Python refuses to print integers of thousands of digits.
    return f"the number {value}" if value.bit_length() <= 128 else f"a number of {value.bit_length()} bits"


def _vector_encoder(size: int, type_name: str | None) -> Callable[[Sequence[object]], bytes] | None:
    """What packs one value for each element of a vector type such as float4; None for other types.

    A vector of three elements has the size of one of four.
    """
    name = (type_name or "").rstrip("0123456789")
    count = int(type_name[len(name) :] or 0) if type_name else 0
    element = C_TYPES.get(name)
    if element is None or count < 2 or size != element.size * (4 if count == 3 else count):
        return None
    encode = encoder(element.size, name)

    def elements(values: Sequence[object]) -> bytes:
        if len(values) != count:
            raise ScalarError(f"{len(values)} values", f"{count} values for {type_name}")
        return b"".join(map(encode, values)).ljust(size, b"\0")

    return elements


def _encode_buffer(value: object, size: int, kind: str) -> bytes:
    try:
        view = memoryview(value)  # type: ignore[arg-type]  # the buffer protocol is not a static type before 3.12
    except (TypeError, ValueError, BufferError):
        raise ScalarError(f"{type(value).__name__}", f"a number, or bytes or a numpy value of {size} bytes") from None
    if view.nbytes == size:
        return view.tobytes()
    number = value.item() if view.ndim == 0 and hasattr(value, "item") else None
    if type(number) is float:
        return _encode_float(number, size, kind)
    if isinstance(number, int):
        return _encode_integer(int(number), size, kind)
    raise ScalarError(f"{type(value).__name__} of {view.nbytes} bytes", f"exactly {size} bytes")
