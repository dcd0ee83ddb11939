"""The table of functions that the virtual librccl exports. Each subject's module adds its own with `api`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.exported import HANDLE, INT, POINTER, SIZE, UINT, ApiFunction, exporter

__all__ = ["FUNCTIONS", "HANDLE", "INT", "POINTER", "SIZE", "UINT", "api"]

FUNCTIONS: dict[str, ApiFunction] = {}
_export = exporter(FUNCTIONS)
_TALKATIVE = ("WARN", "INFO", "TRACE")
Function = Callable[..., Any]


def api(name: str, *arguments: Any, is_grouped: bool = False, **options: Any) -> Callable[[Function], Function]:
    """Export the decorated function, also by the name that profilers leave to it: with a p in front.

    Args:
        is_grouped: where it fails within a group, the whole group does.
    """

    def add(function: Function) -> Function:
        for each in (name, f"p{name}"):
            _export(each, *arguments, **options)(_with_own_codes(each, function, is_grouped))
        return function

    return add


def _with_own_codes(name: str, function: Function, is_grouped: bool) -> Function:
    """A code of HIP is a failure of HIP here. With NCCL_DEBUG the reason is written to stderr, as RCCL does."""

    @wraps(function)
    def call(runtime: Any, *arguments: Any) -> Any:
        try:
            return function(runtime, *arguments)
        except CallError as error:
            code = error.code if isinstance(error.code, Result) else Result.UNHANDLED_HIP_ERROR
            own = CallError(code, error.note)
            if is_grouped and runtime.group.depth:
                runtime.group.error = runtime.group.error or own
            if error.note and os.environ.get("NCCL_DEBUG", "").upper() in _TALKATIVE:
                os.write(2, f"hipgraph_cb: {name}: {error.note}\n".encode(errors="backslashreplace"))
            raise own from error

    return call
