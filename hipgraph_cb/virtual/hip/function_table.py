"""The table of functions that the virtual libamdhip64 exports. Each subject's module adds its own with `api`."""

from __future__ import annotations

from hipgraph_cb.virtual.exported import (
    FLOAT,
    HANDLE,
    INT,
    INT64,
    POINTER,
    SIZE,
    UCHAR,
    UINT,
    UINT64,
    USHORT,
    ApiFunction,
    exporter,
)

__all__ = [
    "FLOAT",
    "FUNCTIONS",
    "HANDLE",
    "INT",
    "INT64",
    "POINTER",
    "SIZE",
    "UCHAR",
    "UINT",
    "UINT64",
    "USHORT",
    "ApiFunction",
    "api",
]

FUNCTIONS: dict[str, ApiFunction] = {}

api = exporter(FUNCTIONS)
