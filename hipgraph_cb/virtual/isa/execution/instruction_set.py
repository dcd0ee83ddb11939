"""Importing this module registers the meaning of every instruction: that of each module in the packages of meanings."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from hipgraph_cb.virtual.isa import matrix, memory, scalar, vector

MODULES = tuple(
    import_module(f"{package.__name__}.{found.name}")
    for package in (scalar, vector, memory, matrix)
    for found in iter_modules(package.__path__)
)
