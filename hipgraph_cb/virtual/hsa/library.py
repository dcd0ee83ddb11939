"""Puts the functions of all subjects into one native library."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
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
DONE_AFTER_EXIT = (
    "hsa_shut_down",
    "hsa_memory_free",
    "hsa_memory_deregister",
    "hsa_amd_memory_pool_free",
    "hsa_amd_memory_unlock",
    "hsa_amd_vmem_address_free",
    "hsa_amd_vmem_handle_release",
    "hsa_amd_vmem_unmap",
    "hsa_signal_destroy",
    "hsa_queue_destroy",
    "hsa_executable_destroy",
    "hsa_code_object_reader_destroy",
)
"""What succeeds when Python has closed the library, since destructors of C and C++ still call it then."""
CALL_CODES = Codes(
    unknown=Status.ERROR,
    not_initialized=Status.NOT_INITIALIZED,
    deinitialized=Status.NOT_INITIALIZED,
    quiet=(Status.INFO_BREAK,),
)


def exported_functions() -> list[ExportedFunction]:
    """What the native library exports, by name: the order of its slots, whichever module was imported first."""
    for found in iter_modules(api.__path__):
        import_module(f"{api.__name__}.{found.name}")
    exported = [ExportedFunction(MARKER, fallback=1)]
    for _, function in sorted(FUNCTIONS.items()):
        otherwise = Status.NOT_INITIALIZED if function.fallback is None else function.fallback
        fallback = Status.SUCCESS if function.name in DONE_AFTER_EXIT else otherwise
        exported.append(ExportedFunction(function.name, SYMBOL_VERSION, fallback))
    return exported


def load_library(folder: Path | None = None) -> NativeLibrary:
    """The native library with every function of the virtual runtime, not wired yet: in memory, or of files."""
    return NativeLibrary(SONAMES, exported_functions(), folder=folder)
