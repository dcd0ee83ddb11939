"""Puts the functions of all subjects into one native library."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from hipgraph_cb.abi.rccl import SONAME, Result
from hipgraph_cb.virtual.callbacks import Codes
from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.rccl import api
from hipgraph_cb.virtual.rccl.function_table import FUNCTIONS
from hipgraph_cb.virtual.shared_object import ExportedFunction

SONAMES = (SONAME, "librccl.so")
MARKER = "hipgraph_cb_virtual_rccl_marker"
DONE_AFTER_EXIT = ("ncclCommDestroy", "ncclCommAbort", "ncclCommFinalize", "ncclMemFree", "ncclCommDeregister")
"""What succeeds when Python has closed the library, since destructors of C and C++ still call it then."""
CALL_CODES = Codes(
    unknown=Result.INTERNAL_ERROR,
    not_initialized=Result.SYSTEM_ERROR,
    deinitialized=Result.SYSTEM_ERROR,
    quiet=(Result.IN_PROGRESS,),
)


def exported_functions() -> list[ExportedFunction]:
    """What the native library exports, by name: the order of its slots, whichever module was imported first."""
    for found in iter_modules(api.__path__):
        import_module(f"{api.__name__}.{found.name}")
    exported = [ExportedFunction(MARKER, fallback=1)]
    for _, function in sorted(FUNCTIONS.items()):
        otherwise = Result.SYSTEM_ERROR if function.fallback is None else function.fallback
        is_done = function.name.removeprefix("p") in DONE_AFTER_EXIT
        exported.append(ExportedFunction(function.name, fallback=Result.SUCCESS if is_done else otherwise))
    return exported


def load_library(folder: Path | None = None) -> NativeLibrary:
    """The native library with every function of the virtual runtime, not wired yet: in memory, or of files."""
    return NativeLibrary(SONAMES, exported_functions(), folder=folder)
