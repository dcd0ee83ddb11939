"""Puts the functions into native libraries, by the names of both releases."""

from __future__ import annotations

from pathlib import Path

from hipgraph_cb.virtual.callbacks import Codes
from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.roctx.functions import FUNCTIONS
from hipgraph_cb.virtual.shared_object import ExportedFunction

SONAMES = (
    "libroctx64.so.4",
    "libroctx64.so",
    "librocprofiler-sdk-roctx.so.0",
    "librocprofiler-sdk-roctx.so.1",
    "librocprofiler-sdk-roctx.so",
)
MARKER = "hipgraph_cb_virtual_roctx_marker"
CALL_CODES = Codes(unknown=1, not_initialized=0, deinitialized=0)


def exported_functions() -> list[ExportedFunction]:
    """What the native library exports, by name: the order of its slots."""
    functions = (
        ExportedFunction(name, fallback=function.fallback or 0) for name, function in sorted(FUNCTIONS.items())
    )
    return [ExportedFunction(MARKER, fallback=1), *functions]


def load_library(folder: Path | None = None) -> NativeLibrary:
    """The native library with every function, not wired yet: in memory, or of files."""
    return NativeLibrary(SONAMES, exported_functions(), folder=folder)
