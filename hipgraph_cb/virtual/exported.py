"""Tables of the functions that a virtual library exports. Each subject's module adds its own with a decorator.

A function gets the runtime and its C arguments: integers, where NULL is 0. It returns None for success, or raises
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
        implementation: None for one that is native code as a whole, in `fallback`.
        result: the C result type; the library's status code unless stated.
        on_error: what it returns instead of a code when it fails.
        releases: it releases something (see `callbacks`).
        remembers: its result is a code, which becomes the last error.
        fallback: the result while Python does not answer.
    """

    name: str
    implementation: Callable[..., int | None] | None
    arguments: tuple[Any, ...]
    result: Any
    on_error: int | None
    releases: bool
    remembers: bool
    fallback: int | str | bytes | None


def exporter(functions: dict[str, ApiFunction]) -> Callable[..., Callable[[Implementation], Implementation]]:
    """The decorator that adds to `functions`."""

    def api(
        name: str,
        *arguments: Any,
        result: Any = INT,
        on_error: int | None = None,
        releases: bool = False,
        remembers: bool = True,
        fallback: int | str | bytes | None = None,
    ) -> Callable[[Implementation], Implementation]:
        """Export the decorated function as `name`; several decorators give it several names."""

        def add(implementation: Implementation) -> Implementation:
            functions[name] = ApiFunction(
                name, implementation, arguments, result, on_error, releases, remembers, fallback
            )
            return implementation

        return add

    return api
