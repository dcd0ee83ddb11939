"""The types that numbers in slots have, and how a value becomes the bits of its type."""

from __future__ import annotations

import operator
import struct
from typing import Any, NamedTuple

from hipgraph_cb.abi.c_types import FLOAT, FLOAT_LETTERS, INTEGER_LETTERS, SIGNED, UNSIGNED
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError


class NumberType(NamedTuple):
    """A scalar type; `kind` is that of `abi.c_types`, `size` in bytes."""

    name: str
    kind: str
    size: int
    numpy_name: str

    @property
    def format(self) -> struct.Struct:
        """How `struct` packs it."""
        letters = FLOAT_LETTERS if self.kind == FLOAT else INTEGER_LETTERS
        letter = letters[self.size]
        return struct.Struct(f"<{letter.lower() if self.kind == SIGNED else letter}")


NUMBER_TYPES: dict[str, NumberType] = {
    row.name: row
    for row in (
        *(NumberType(f"u{8 * size}", UNSIGNED, size, f"uint{8 * size}") for size in INTEGER_LETTERS),
        *(NumberType(f"i{8 * size}", SIGNED, size, f"int{8 * size}") for size in INTEGER_LETTERS),
        *(NumberType(f"f{8 * size}", FLOAT, size, f"float{8 * size}") for size in FLOAT_LETTERS),
    )
}
"""By name, in an order that does not change: place tables hold positions in it."""
TYPE_NAMES = tuple(NUMBER_TYPES)
TYPE_NUMBERS = {name: number for number, name in enumerate(TYPE_NAMES)}
_FORMATS = {name: row.format for name, row in NUMBER_TYPES.items()}
_BY_NUMPY_NAME = {row.numpy_name: name for name, row in NUMBER_TYPES.items()}


def type_name(given: object) -> str:
    """The name of a type: of one of ours, of a NumPy scalar type or dtype, or of a text with either.

    Raises:
        InvalidArgumentError: another type, or one whose size depends on the machine.
    """
    name = given if isinstance(given, str) else getattr(given, "__name__" if isinstance(given, type) else "name", None)
    found = _BY_NUMPY_NAME.get(name, name) if isinstance(name, str) else None
    if found not in NUMBER_TYPES:
        raise InvalidArgumentError(
            "no type that a number in a slot can have",
            found=repr(given),
            allowed=f"{', '.join(NUMBER_TYPES)}, or a NumPy type such as numpy.uint32",
        )
    return found


def bits_of(value: Any, type: str) -> int:
    """The bits of a number: an int or a NumPy integer; for a float type also a float or a NumPy one.

    Raises:
        InvalidArgumentError: no number of that kind.
        OutOfRangeError: one that the type cannot hold.
    """
    row = NUMBER_TYPES[type]
    number = _as_float(value, row) if row.kind == FLOAT else _as_integer(value, row)
    try:
        return int.from_bytes(_FORMATS[type].pack(number), "little")
    except (struct.error, OverflowError):
        raise OutOfRangeError(f"the number does not fit {type}", found=_shown(number), allowed=_range(row)) from None


def number_from_text(text: str, type: str) -> int | float:
    """The number that a text means: `7`, `-1`, `0x1f`, `2.5`.

    Raises:
        InvalidArgumentError: none of that type.
    """
    try:
        return float(text) if NUMBER_TYPES[type].kind == FLOAT else int(text, 0)
    except ValueError:
        raise InvalidArgumentError(
            f"not a number of type {type}", found=repr(text)[:60], allowed="such as 7, 0x1f or 2.5"
        ) from None


def value_of(bits: int, type: str) -> int | float:
    """The number that bits mean."""
    value: int | float = _FORMATS[type].unpack(bits.to_bytes(NUMBER_TYPES[type].size, "little"))[0]
    return value


def _as_integer(value: Any, row: NumberType) -> int:
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise _wrong_kind(value, row, "an int or a NumPy integer")


def _as_float(value: Any, row: NumberType) -> float:
    is_number = isinstance(value, (int, float)) or _is_numpy_number(value)
    if not is_number or isinstance(value, bool):
        raise _wrong_kind(value, row, "a float or an int, or a NumPy number")
    try:
        return float(value)
    except OverflowError:
        raise OutOfRangeError(f"the number does not fit {row.name}", found=_shown(value), allowed=_range(row)) from None


def _is_numpy_number(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return getattr(value, "ndim", None) == 0 and getattr(dtype, "kind", None) in ("i", "u", "f")


def _wrong_kind(value: object, row: NumberType, allowed: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"not a number of type {row.name}", found=f"{repr(value)[:60]} ({type(value).__name__})", allowed=allowed
    )


def _range(row: NumberType) -> str:
    if row.kind == FLOAT:
        return f"a float of {row.size} bytes"
    low = -(1 << 8 * row.size - 1) if row.kind == SIGNED else 0
    return f"{low} to {low + (1 << 8 * row.size) - 1}"


def _shown(number: float) -> str:
    if isinstance(number, int) and number.bit_length() > 128:
        return f"a number of {number.bit_length()} bits"  # Python refuses to print thousands of digits
    return str(number)
