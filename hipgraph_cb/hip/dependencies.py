"""The dependencies of a node, in the form hip-python takes: a pointer to an array of node handles (not a list)."""

from __future__ import annotations

import ctypes
from typing import Any

from hipgraph_cb.hip.api import pointer_to


class DependencyArray:
    """One array of handles, written again for each layer. HIP reads it during the call only.

    Attributes:
        pointer: what hip-python takes as `pDependencies`.
        first: the first handle; its `value` is all there is to write for a single one.
    """

    def __init__(self) -> None:
        self._reserve(16)

    def write(self, handles: list[Any]) -> Any:
        """Put the handles into the array; returns the pointer, which is another one when the array had to grow."""
        count = len(handles)
        if count > self._capacity:
            self._reserve(2 * count)
        self._array[:count] = handles
        return self.pointer

    def _reserve(self, capacity: int) -> None:
        self._capacity = capacity
        self._array = (ctypes.c_uint64 * capacity)()
        self.first = ctypes.c_uint64.from_buffer(self._array)
        self.pointer = pointer_to(ctypes.addressof(self._array))
