"""Puts the functions of all subjects into one native library."""

from __future__ import annotations

from importlib import import_module

from hipgraph_cb.virtual.hsa.api import FUNCTIONS
from hipgraph_cb.virtual.hsa.status import Status
from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.shared_object import ExportedFunction

SONAMES = ("libhsa-runtime64.so.1", "libhsa-runtime64.so")
MARKER = "hipgraph_cb_virtual_hsa_marker"
SYMBOL_VERSION = "ROCR_1"
_SUBJECTS = (
    "system",
    "agents",
    "memory_pools",
    "copies",
    "signal_functions",
    "queue_functions",
    "executables",
    "loader_table",
    "profiling",
    "unsupported",
)


def load_library() -> NativeLibrary:
    """The native library with every function of the virtual runtime, not wired yet."""
    for subject in _SUBJECTS:
        import_module(f"hipgraph_cb.virtual.hsa.{subject}")
    exported = [ExportedFunction(MARKER, fallback=1)]
    for function in FUNCTIONS.values():
        fallback = Status.NOT_INITIALIZED if function.fallback is None else function.fallback
        exported.append(ExportedFunction(function.name, SYMBOL_VERSION, fallback))
    return NativeLibrary(SONAMES, exported)
