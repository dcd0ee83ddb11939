"""Puts the functions of all subjects into one native library."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from hipgraph_cb.abi.hsa import SONAME
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.virtual.callbacks import Codes
from hipgraph_cb.virtual.hsa import api
from hipgraph_cb.virtual.hsa.function_table import FUNCTIONS
from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.shared_object import ExportedFunction

SONAMES = (SONAME, "libhsa-runtime64.so")
MARKER = "hipgraph_cb_virtual_hsa_marker"
SYMBOL_VERSION = "ROCR_1"
CALL_CODES = Codes(
    unknown=Status.ERROR,
    not_initialized=Status.NOT_INITIALIZED,
    deinitialized=Status.NOT_INITIALIZED,
    quiet=(Status.INFO_BREAK,),
)


def load_library() -> NativeLibrary:
    """The native library with every function of the virtual runtime, not wired yet."""
    for found in iter_modules(api.__path__):
        import_module(f"{api.__name__}.{found.name}")
    exported = [ExportedFunction(MARKER, fallback=1)]
    for function in FUNCTIONS.values():
        fallback = Status.NOT_INITIALIZED if function.fallback is None else function.fallback
        exported.append(ExportedFunction(function.name, SYMBOL_VERSION, fallback))
    return NativeLibrary(SONAMES, exported)
