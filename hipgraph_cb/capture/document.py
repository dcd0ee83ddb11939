"""The JSON of a manifest: one text for one value, and reading that takes nothing on trust.

The text is what `json.dumps` makes with sorted keys, no spaces and ASCII only. Anything else is refused, so a document
has no room for a key that is there twice, a number written another way, or whatever two readers may read differently.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError

_Value = TypeVar("_Value")

LARGEST_NUMBER = (1 << 64) - 1


def dump(document: object) -> bytes:
    """The one text of a document."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii") + b"\n"


def parse(text: bytes) -> Any:
    """The document of a text that `dump` made.

    Raises:
        InvalidArgumentError: no JSON, or another text than `dump` makes of its value.
    """
    try:
        document = json.loads(text, parse_int=_number, parse_constant=_constant)
        if dump(document) == text:
            return document
        found = "another text for the same values"
    except (ValueError, RecursionError) as error:
        found = f"{type(error).__name__}: {error}"[:200]
    raise InvalidArgumentError(
        "the manifest is not in its one form",
        found=found,
        allowed="JSON in ASCII with sorted keys and no spaces, each key once",
    )


def _number(digits: str) -> int:
    """An int of few digits: conversion takes time that grows with their square."""
    if len(digits) > 20:
        raise ValueError("a number of more than 20 digits")
    return int(digits)


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


@contextmanager
def inside(where: str) -> Iterator[None]:
    """Errors raised inside say that it was there."""
    try:
        yield
    except HipGraphError as error:
        raise error.located(where) from None


def fields(value: object, *names: str) -> list[Any]:
    """The values of an object that has exactly these fields."""
    if not isinstance(value, dict):
        raise _wrong(value, "an object with the fields " + ", ".join(names))
    if value.keys() != set(names):
        missing, unknown = [name for name in names if name not in value], sorted(set(value) - set(names))
        raise InvalidArgumentError(
            "an object of the manifest has other fields than its version of the format",
            found=("; ".join([*(f"no {name!r}" for name in missing), *(f"{name!r}" for name in unknown)]))[:200],
            allowed=", ".join(names),
        )
    return [value[name] for name in names]


def number(value: object, *, largest: int = LARGEST_NUMBER) -> int:
    if type(value) is not int or not 0 <= value <= largest:
        raise _wrong(value, f"a whole number from 0 to {largest}")
    return value


def real(value: object) -> float:
    if type(value) is not float or not 0 <= value < math.inf:
        raise _wrong(value, "a number with a point, 0.0 or more")
    return value


def boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, "true or false")
    return value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(value, "a text")
    return value


def optional(read: Callable[[Any], _Value], value: object) -> _Value | None:
    """null, or what `read` makes of it."""
    return None if value is None else read(value)


def items(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(value, "an array")
    return value


def tuple_of(read: Callable[[Any], _Value], value: object) -> tuple[_Value, ...]:
    return tuple([read(each) for each in items(value)])


def octets(value: object) -> bytes:
    """Bytes in lower-case hexadecimal."""
    try:
        data = bytes.fromhex(text(value))
    except ValueError:
        raise _wrong(value, "bytes in hexadecimal") from None
    if data.hex() != value:
        raise _wrong(value, "bytes in lower-case hexadecimal without spaces")
    return data


def _wrong(value: object, allowed: str) -> InvalidArgumentError:
    listing = repr(value)
    return InvalidArgumentError(
        "a value of the manifest is of another kind",
        found=listing if len(listing) <= 80 else listing[:77] + "...",
        allowed=allowed,
    )
