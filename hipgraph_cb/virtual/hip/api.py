"""The table of functions that the virtual libamdhip64 exports. Each subject's module adds its own with `api`.

A function gets the runtime and its C arguments: integers, where NULL is 0. It returns None for hipSuccess, or raises
`CallError` with another code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

POINTER = HANDLE = SIZE = ctypes.c_size_t
INT = ctypes.c_int
UINT = ctypes.c_uint
USHORT = ctypes.c_ushort
UCHAR = ctypes.c_ubyte
UINT64 = ctypes.c_uint64
INT64 = ctypes.c_int64
FLOAT = ctypes.c_float

Implementation = TypeVar("Implementation", bound=Callable[..., int | None])


@dataclass(frozen=True)
class ApiFunction:
    """One exported function: its C signature and what it does.

    Attributes:
        result: the C result type; a hipError_t unless stated.
        on_error: what it returns instead of a code when it fails.
        releases: it gives something back (see `callbacks`).
        remembers: its result becomes the last error.
        fallback: the result while Python does not answer.
    """

    name: str
    implementation: Callable[..., int | None]
    arguments: tuple[Any, ...]
    result: Any
    on_error: int | None
    releases: bool
    remembers: bool
    fallback: int | str | None


FUNCTIONS: dict[str, ApiFunction] = {}


def api(
    name: str,
    *arguments: Any,
    result: Any = INT,
    on_error: int | None = None,
    releases: bool = False,
    remembers: bool = True,
    fallback: int | str | None = None,
) -> Callable[[Implementation], Implementation]:
    """Export the decorated function as `name`; several decorators give it several names."""

    def add(implementation: Implementation) -> Implementation:
        FUNCTIONS[name] = ApiFunction(name, implementation, arguments, result, on_error, releases, remembers, fallback)
        return implementation

    return add
