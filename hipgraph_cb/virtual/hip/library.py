"""Puts the functions of all subjects into one native library."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.virtual.callbacks import Codes
from hipgraph_cb.virtual.hip import api
from hipgraph_cb.virtual.hip.after_exit import FALLBACKS
from hipgraph_cb.virtual.hip.function_table import FUNCTIONS, ApiFunction
from hipgraph_cb.virtual.hip.profile import Profile
from hipgraph_cb.virtual.hip.refused import refused_functions
from hipgraph_cb.virtual.hip.symbol_versions import VERSIONS, symbol_version
from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.shared_object import ExportedFunction

SONAMES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
MARKER = "hipgraph_cb_virtual_marker"

CALL_CODES = Codes(
    unknown=Code.UNKNOWN,
    not_initialized=Code.NOT_INITIALIZED,
    deinitialized=Code.DEINITIALIZED,
    quiet=(Code.NOT_READY,),
)


def subjects() -> dict[str, list[str]]:
    """What each subject is about, as its module says, -> the functions it exports."""
    modules = [import_module(f"{api.__name__}.{found.name}") for found in iter_modules(api.__path__)]
    listed: dict[str, list[str]] = {}
    for module in modules:
        title = (module.__doc__ or "").split("\n\n")[0].replace("\n", " ").strip()
        listed[title] = sorted(
            name
            for name, function in FUNCTIONS.items()
            if function.implementation is not None and function.implementation.__module__ == module.__name__
        )
    return {title: names for title, names in listed.items() if names}


def functions_of(profile: Profile) -> dict[str, ApiFunction]:
    """The functions that a version exports."""
    subjects()
    everything = FUNCTIONS | refused_functions()
    return {name: function for name, function in everything.items() if profile.has(name)}


def exported_functions(functions: Mapping[str, ApiFunction]) -> list[ExportedFunction]:
    """What the native library exports for these functions of the virtual runtime, by name: the order of its slots."""
    exported = [ExportedFunction(MARKER, fallback=1)]
    for _, function in sorted(functions.items()):
        otherwise = Code.DEINITIALIZED if function.fallback is None else function.fallback
        fallback = FALLBACKS.get(function.name, otherwise)
        exported.append(ExportedFunction(function.name, symbol_version(function.name), fallback))
    return exported


def load_library(functions: Mapping[str, ApiFunction], folder: Path | None = None) -> NativeLibrary:
    """The native library with these functions, not wired yet: made in memory, or of files in a folder."""
    return NativeLibrary(SONAMES, exported_functions(functions), VERSIONS, folder)
