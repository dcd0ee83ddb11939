"""The parameter blocks of graph nodes, written in place and used again for the next node.

HIP copies parameters and arguments when a node is added, so one block serves all nodes of its kind.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.hip.api import bindings

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import Dimensions, Dispatch

KERNEL_NODE = struct.Struct("<3I4xQQ3I4xQI4x")
"""hipKernelNodeParams: blockDim, extra, func, gridDim, kernelParams, sharedMemBytes."""
MEMSET_NODE = struct.Struct("<QI4xQQI4xQ")
"""hipMemsetParams: dst, elementSize, height, pitch, value, width (in elements)."""
write_pointer = struct.Struct("<Q").pack_into


class MemsetParameters:
    """Of one 1-D memset node. A 2-D memset is never made: AMD's runtime writes past its rows."""

    def __init__(self) -> None:
        self.native = bindings().hipMemsetParams()
        self._block = memory_of(self.native, MEMSET_NODE.size)

    def write(self, address: int, pattern: bytes, length: int) -> tuple[Any]:
        """For `length` bytes from `address` on filled with a pattern of 1, 2 or 4 bytes; returns the native block."""
        element = len(pattern)
        value = int.from_bytes(pattern, "little")
        MEMSET_NODE.pack_into(self._block, 0, address, element, 1, 0, value, length // element)
        return (self.native,)


class KernelParameters:
    """Of the kernel nodes of one export: one block of arguments and one table of pointers into it.

    Args:
        function: the address of the hipFunction_t.
        offsets: where each explicit argument lies in the kernarg block, in the order of the signature.
        extent: bytes of the kernarg block that a dispatch may give.
        executable, export: what the recording calls the kernel.

    Attributes:
        table: the address of the table of pointers to the arguments, 0 where there are none.
    """

    def __init__(
        self, function: int, offsets: Sequence[int], extent: int, executable: int = 0, export: str = ""
    ) -> None:
        self.executable = executable
        self.export = export
        self.native = bindings().hipKernelNodeParams()
        self._result = (self.native,)
        self.function = function
        self._storage = (ctypes.c_uint64 * max((extent + 7) // 8, 1))()
        self._arguments = memoryview(self._storage).cast("B")
        self._words = memoryview(self._storage).cast("B").cast("Q")
        start = ctypes.addressof(self._storage)
        self._table = (ctypes.c_void_p * max(len(offsets), 1))(*(start + offset for offset in offsets))
        self.table = ctypes.addressof(self._table) if offsets else 0
        self._block = memory_of(self.native, KERNEL_NODE.size)
        self._take = struct.Struct(f"{extent}s").pack_into
        self._shape: tuple[Dimensions, Dimensions, int] | None = None

    def write(self, command: Dispatch, pointers: Sequence[tuple[int, int]]) -> tuple[Any]:
        """For one dispatch; `pointers` are (offset in the kernarg block, device address). Returns the native block."""
        arguments = self._arguments
        arguments[: len(command.kernarg)] = command.kernarg
        for offset, address in pointers:
            write_pointer(arguments, offset, address)
        if command[2:5] != self._shape:
            self._write_shape(command)
        return self._result

    def write_ranges(self, command: Dispatch, addresses: Mapping[int, int]) -> tuple[Any]:
        """As `write`, with the pointers that the command itself names, none of them a slot, each at a multiple of 8."""
        words = self._words
        self._take(self._storage, 0, command[5])
        for offset, place in command[6]:
            # by index: the names of a named tuple cost more
            words[offset >> 3] = addresses[place[0]] + place[1]
        if command[2:5] != self._shape:
            self._write_shape(command)
        return self._result

    def _write_shape(self, command: Dispatch) -> None:
        self._shape = command[2:5]
        count, size, dynamic_lds = self._shape
        KERNEL_NODE.pack_into(self._block, 0, *size, 0, self.function, *count, self.table, dynamic_lds)


class UnalignedKernelParameters(KernelParameters):
    """Of an export with a pointer that is not at a multiple of 8, as assembly may have it."""

    def write_ranges(self, command: Dispatch, addresses: Mapping[int, int]) -> tuple[Any]:
        return self.write(command, [(offset, addresses[place[0]] + place[1]) for offset, place in command.pointers])


def memory_of(native: Any, size: int) -> memoryview:
    """The memory behind a struct of hip-python, which has to outlive the view."""
    return memoryview((ctypes.c_ubyte * size).from_address(int(native))).cast("B")
