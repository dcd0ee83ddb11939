"""The table of functions that the virtual libhsa-runtime64 exports. Each subject's module adds its own.

`api` adds a function that returns a status, `value` one that returns something else, `native` one that is machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.exported import HANDLE, INT, INT64, POINTER, SIZE, UINT, UINT64, USHORT, ApiFunction, exporter

__all__ = [
    "FUNCTIONS",
    "HANDLE",
    "INT",
    "INT64",
    "POINTER",
    "SIZE",
    "UINT",
    "UINT64",
    "USHORT",
    "api",
    "native",
    "value",
]

FUNCTIONS: dict[str, ApiFunction] = {}

_export = exporter(FUNCTIONS)
Function = Callable[..., Any]


def api(name: str, *arguments: Any, before_init: bool = False, **options: Any) -> Callable[[Function], Function]:
    """Export the decorated function, which is refused while the library is not initialised."""

    def add(function: Function) -> Function:
        _export(name, *arguments, **options)(function if before_init else _initialized(function))
        return function

    return add


def value(name: str, *arguments: Any, result: Any, on_error: int = 0) -> Callable[[Function], Function]:
    """Export the decorated function, whose result is not a status."""
    return _export(name, *arguments, result=result, on_error=on_error, remembers=False, fallback=on_error)


def native(name: str, *arguments: Any, result: Any, code: bytes) -> None:
    """Export machine code."""
    FUNCTIONS[name] = ApiFunction(name, None, arguments, result, 0, False, False, code)


def _initialized(function: Function) -> Function:
    @wraps(function)
    def checked(runtime: Any, *arguments: Any) -> Any:
        if not runtime.references:
            raise CallError(Status.NOT_INITIALIZED, "hsa_init has to be called first")
        return function(runtime, *arguments)

    return checked
