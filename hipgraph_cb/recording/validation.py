"""The rules about a single command, apart from what a dispatch adds (`workgroups`).

Everything here is plain arithmetic on numbers and texts. The messages say what was found and what is allowed; the
command buffer adds which command it was.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Protocol

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.foreign.host import host_array, is_device_memory

LARGEST = (1 << 64) - 1
"""Offsets and lengths are unsigned 64-bit numbers (R6)."""

PATTERN_LENGTHS = (1, 2, 4, 8, 16)
_HIGHEST = {length: (1 << 8 * length) - 1 for length in PATTERN_LENGTHS}


def integer(value: object, name: str, *, largest: int = LARGEST) -> int:
    """`value` as a Python int from 0 to `largest`.

    Raises:
        InvalidArgumentError: not a whole number; a bool is refused too, for it is a slip in every place here.
        OutOfRangeError: negative, or beyond `largest`.
    """
    if type(value) is not int:
        value = _index(value, name)
    if not 0 <= value <= largest:
        raise OutOfRangeError(f"{name} is out of range", found=str(value), allowed=f"0 to {largest}")
    return value


def _index(value: object, name: str) -> int:
    if not isinstance(value, bool):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise InvalidArgumentError(
        f"{name} is not a whole number",
        found=f"{value!r} ({type(value).__name__})",
        allowed="an int or a NumPy integer",
    )


def check_list(value: object, name: str, entries: str) -> None:
    """Refuse what is no sequence of entries: a single one, a mapping, a text, an iterator.

    Raises:
        InvalidArgumentError: it is none.
    """
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray, memoryview)):
        raise InvalidArgumentError(
            f"{name} is not a list", found=type(value).__name__, allowed=f"a list or a tuple of {entries}"
        )


def text(value: object, name: str = "label") -> None:
    """Refuse a label that is neither None nor a str."""
    if value is not None and not isinstance(value, str):
        raise InvalidArgumentError(f"{name} is not a text", found=type(value).__name__, allowed="a str or None")


def truth(value: object, name: str) -> bool:
    """`value`, which must be True or False.

    Raises:
        InvalidArgumentError: it is neither.
    """
    if not isinstance(value, bool):
        raise InvalidArgumentError(f"{name}: not a truth value", found=repr(value)[:60], allowed="True or False")
    return value


def host_bytes(data: object, name: str = "data") -> bytes:
    """A copy of host data in C order: of a buffer-protocol object or of an array that can give its own bytes.

    Raises:
        InvalidArgumentError: no bytes can be had from it, or they would be Python objects.
    """
    if type(data) is bytes:
        return data
    try:
        view = memoryview(data)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return _array_bytes(data, name)
    if "O" in view.format:
        raise InvalidArgumentError(
            f"{name} holds Python objects", found=f"format {view.format!r}", allowed="plain data"
        )
    return view.tobytes()


def _array_bytes(data: object, name: str) -> bytes:
    """NumPy exports some types (datetime64, extensions such as bfloat16) through no buffer, only by `tobytes`. Others
    have no buffer but tell where their bytes are: `__array_interface__`, or DLPack on the CPU."""
    has_own = hasattr(data, "dtype") and hasattr(data, "tobytes") and not isinstance(data, type)
    array: Any = data if has_own else host_array(data)
    if array is None or getattr(array.dtype, "hasobject", False):
        on_device = is_device_memory(data)
        raise InvalidArgumentError(
            f"{name} is device memory" if on_device else f"{name} is not host data",
            found=type(data).__name__,
            allowed="bytes or an object with the buffer protocol, such as a NumPy array",
            next_step="copy it with copy_buffer"
            if on_device
            else "give numbers as numpy.array(values, dtype=...), whose type fixes the bytes",
        )
    return bytes(array.tobytes())


def pattern_bytes(pattern: object, pattern_length: object) -> bytes:
    """The bytes of a fill pattern, least significant first.

    Args:
        pattern: an int, which takes `pattern_length` bytes; bytes of that very length; or a NumPy scalar.
        pattern_length: bytes of an int pattern. Beside another kind of pattern it is 4, the default, or its length.

    Raises:
        InvalidArgumentError: another kind of pattern or a length that is none of `PATTERN_LENGTHS`.
        OutOfRangeError: an int that does not fit in `pattern_length` bytes.
    """
    if type(pattern) is int and type(pattern_length) is int and 0 <= pattern <= _HIGHEST.get(pattern_length, -1):
        return pattern.to_bytes(pattern_length, "little")
    length = integer(pattern_length, "pattern_length")
    if isinstance(pattern, int) and not isinstance(pattern, bool):
        _check_pattern_length(length)
        return _int_pattern(pattern, length)
    if isinstance(pattern, (bytes, bytearray, memoryview)) or _is_numpy_scalar(pattern):
        result = host_bytes(pattern, "pattern")
        _check_pattern_length(len(result))
        if length not in (4, len(result)):
            raise InvalidArgumentError(
                "pattern_length contradicts the pattern", found=f"pattern_length {length}, {len(result)} bytes"
            )
        return result
    raise InvalidArgumentError(
        "the pattern has no fixed bytes",
        found=f"{pattern!r} ({type(pattern).__name__})",
        allowed="an int, bytes, or a NumPy scalar",
        next_step="give a float as numpy.float32(value)",
    )


def _is_numpy_scalar(value: object) -> bool:
    return getattr(value, "dtype", None) is not None and getattr(value, "ndim", None) == 0


def _check_pattern_length(length: int) -> None:
    if length not in PATTERN_LENGTHS:
        raise InvalidArgumentError(
            "the pattern has the wrong length", found=f"{length} bytes", allowed="1, 2, 4, 8 or 16 bytes"
        )


def _int_pattern(pattern: int, length: int) -> bytes:
    highest = _HIGHEST[length]
    lowest = -(highest + 1 >> 1)
    if not lowest <= pattern <= highest:
        raise OutOfRangeError(
            f"the pattern does not fit in {length} bytes", found=str(pattern), allowed=f"{lowest} to {highest}"
        )
    return (pattern & highest).to_bytes(length, "little")


def check_pattern_fit(offset: int, length: int, pattern_length: int) -> None:
    """A fill starts at a multiple of its pattern's length, counted from the buffer's start, and covers whole ones.

    A misaligned 2- or 4-byte memset is undefined in HIP and a ragged length is cut short in silence.
    """
    if offset % pattern_length or length % pattern_length:
        raise InvalidArgumentError(
            "the fill is not made of whole, aligned patterns",
            found=f"offset {offset}, length {length}, pattern of {pattern_length} bytes",
            allowed=f"offset and length multiples of {pattern_length}",
            next_step="fill with a shorter pattern, or use update_buffer for the rest",
        )


def check_within(offset: int, length: int, size: int, name: str) -> None:
    """Refuse bytes that do not lie in the `size` bytes that `name` has."""
    if offset + length > size:
        raise OutOfRangeError(
            f"the range reaches past the end of {name}",
            found=f"offset {offset} + length {length} = {offset + length}",
            allowed=f"offset + length <= {size}, the size of {name}",
        )


def check_same_length(source: int | None, target: int | None) -> None:
    """A copy moves as many bytes as it fills; None is a length that only the binding table knows."""
    if source is not None and target is not None and source != target:
        raise InvalidArgumentError(
            "source and target of the copy have different lengths",
            found=f"source {source} bytes, target {target} bytes",
            next_step="pass length=",
        )


class OffsetAndLength(Protocol):
    """Bytes of some buffer; `length` None where only the binding table knows."""

    @property
    def offset(self) -> int: ...
    @property
    def length(self) -> int | None: ...


def check_apart(source: OffsetAndLength, target: OffsetAndLength, name: str) -> None:
    """Refuse a copy within one buffer whose source and target share bytes: the order of the moves is not defined."""
    if source.length is None or target.length is None:
        return  # asked again when the binding is known
    if source.offset < target.offset + target.length and target.offset < source.offset + source.length:
        raise InvalidArgumentError(
            "source and target of the copy overlap",
            found=f"bytes {source.offset} to {source.offset + source.length} "
            f"and {target.offset} to {target.offset + target.length} of {name}",
            next_step="copy through a scratch buffer",
        )


def check_slot(index: int, capacity: int) -> None:
    """Refuse a slot beyond the binding table that the command buffer was made for."""
    if index >= capacity:
        raise OutOfRangeError(
            f"slot {index} is outside the binding table",
            found=f"slot {index}",
            allowed=f"slots below binding_capacity={capacity}" if capacity else "no slots: binding_capacity is 0",
            next_step=f"make the command buffer with binding_capacity={index + 1} or more",
        )


def check_owner(kind: str, name: str, value: object, owner: object) -> None:
    """Refuse an object that belongs to another device than the command buffer, unless that one accepts it."""
    device = getattr(value, "device", owner)
    accepts = getattr(owner, "accepts", None)
    if device is not owner and (accepts is None or not accepts(value)):
        own, other = _device_name(owner), _device_name(device)
        raise InvalidArgumentError(
            f"{name} belongs to another device",
            found=f"{with_article(kind)} of {other}{', opened another time' if other == own else ''}",
            allowed=f"{with_article(kind)} of {own}, whose command buffer this is",
        )


def _device_name(device: object) -> str:
    name, ordinal = getattr(device, "name", None), getattr(device, "ordinal", None)
    if name is None:
        return str(device.describe()) if hasattr(device, "describe") else type(device).__name__
    return f"{name} (device {ordinal})"


def check_open(kind: str, name: str, value: object) -> None:
    """Refuse something that was closed before it was recorded."""
    if getattr(value, "closed", False):
        raise FailedPreconditionError(
            f"{name} is closed",
            found=f"a closed {kind}",
            next_step=f"record with {with_article(kind)} that is still open",
        )


def with_article(noun: str) -> str:
    """`noun` behind "a" or "an"."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
