"""The dependencies of a node, in the form hip-python takes: a pointer to an array of node handles (not a list)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any


class DependencyArray:
    """One array of handles, written again for each node. HIP reads it during the call only."""

    def __init__(self) -> None:
        self._written: Sequence[int] = ()
        self._reserve(16)

    def write(self, dependencies: Sequence[int], handles: Sequence[int]) -> Any:
        """Put the handles of these nodes into the array; returns what hip-python takes as `pDependencies`.

        The commands of a layer share one tuple of dependencies: it is written once.
        """
        if dependencies is self._written:
            return self._pointer
        if len(dependencies) > self._capacity:
            self._reserve(2 * len(dependencies))
        for position, node in enumerate(dependencies):
            self._array[position] = handles[node]
        self._written = dependencies
        return self._pointer

    def _reserve(self, capacity: int) -> None:
        from rocm.bindings.util.types import Pointer

        self._capacity = capacity
        self._array = (ctypes.c_void_p * capacity)()
        self._pointer = Pointer(ctypes.addressof(self._array))
