"""The parameter blocks of graph nodes, written in place and used again for the next node.

HIP copies parameters and arguments when a node is added, so one block serves all nodes of its kind.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
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
    """Of the kernel nodes of one export.

    Args:
        function: the address of the hipFunction_t.
        offsets: where each explicit argument lies in the kernarg block, in the order of the signature.
        extent: bytes of the kernarg block.
        executable, export: what the recording calls the kernel.

    Attributes:
        table: the address of the table of pointers to the arguments of `write`, 0 where there are none.
        arguments: the kernarg block that the table points into.
        result: what `write` returns: the native parameters.
    """

    def __init__(
        self,
        function: int,
        offsets: Sequence[int],
        extent: int,
        executable: int = 0,
        export: str = "",
    ) -> None:
        self.function = function
        self.executable = executable
        self.export = export
        self.native = bindings().hipKernelNodeParams()
        self.result = (self.native,)
        storage = (ctypes.c_uint64 * max((extent + 7) // 8, 1))()
        self.arguments = memoryview(storage).cast("B")[:extent]
        start = ctypes.addressof(storage)
        self._table = (ctypes.c_void_p * max(len(offsets), 1))(*(start + offset for offset in offsets))
        self.table = ctypes.addressof(self._table) if offsets else 0
        self._block = memory_of(self.native, KERNEL_NODE.size)

    def write(self, command: Dispatch, pointers: Sequence[tuple[int, int]]) -> tuple[Any]:
        """For one dispatch; `pointers` are (offset in the kernarg block, device address). Returns the native block."""
        self.arguments[:] = command.kernarg
        for offset, address in pointers:
            write_pointer(self.arguments, offset, address)
        self.write_shape(command.workgroup_count, command.workgroup_size, command.dynamic_lds)
        return self.result

    def write_shape(self, count: Dimensions, size: Dimensions, dynamic_lds: int) -> None:
        """For launches of this shape."""
        KERNEL_NODE.pack_into(self._block, 0, *size, 0, self.function, *count, self.table, dynamic_lds)


def memory_of(native: Any, size: int) -> memoryview:
    """The memory behind a struct of hip-python, which has to outlive the view."""
    return memoryview((ctypes.c_ubyte * size).from_address(int(native))).cast("B")
