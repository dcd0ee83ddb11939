"""The parameter blocks of graph nodes, written in place and used again for the next node.

HIP copies parameters and arguments when a node is added, so one block serves all nodes of its kind.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.abi.hip.structures import KernelNodeParams, MemsetParams
from hipgraph_cb.abi.layout import packer
from hipgraph_cb.hip.api import bindings

if TYPE_CHECKING:
    from hipgraph_cb.recording.dispatch_plan import Shape

KERNEL_NODE = packer(KernelNodeParams)
MEMSET_NODE = packer(MemsetParams)
"""The width is in elements."""
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

    Addresses lie apart from the other arguments, since most dispatches have those of the one before.

    Args:
        function: the address of the hipFunction_t.
        places: of each explicit argument, in the order of the signature: where it lies in the kernarg block, and
            whether it is a pointer.
        extent: bytes of the kernarg block.

    Attributes:
        native: the parameters as hip-python takes them.
        table: the address of the table of pointers to the arguments, 0 where there are none.
        values, addresses: a kernarg block of everything but pointers, and one of nothing but pointers. Their `raw` is
            written for each dispatch.
        shape: what was written last.
    """

    def __init__(self, function: int, places: Sequence[tuple[int, bool]], extent: int) -> None:
        self.function = function
        self.native = bindings().hipKernelNodeParams()
        self.values, self.addresses = _block(extent), _block(extent)
        starts = ctypes.addressof(self.values), ctypes.addressof(self.addresses)
        self._table = (ctypes.c_void_p * max(len(places), 1))(
            *(starts[is_pointer] + offset for offset, is_pointer in places)
        )
        self.table = ctypes.addressof(self._table) if places else 0
        self._extent = extent
        self._block = memory_of(self.native, KERNEL_NODE.size)
        self.shape: Shape | None = None

    def write_shape(self, shape: Shape) -> None:
        """For launches of this shape."""
        count, size, dynamic_lds = self.shape = shape
        KERNEL_NODE.pack_into(self._block, 0, *size, 0, self.function, *count, self.table, dynamic_lds)

    def address_block(self, pointers: Iterable[tuple[int, int]]) -> bytearray:
        """What belongs in `addresses`; `pointers` are (offset in the kernarg block, device address)."""
        block = bytearray(self._extent)
        for offset, address in pointers:
            write_pointer(block, offset, address)
        return block


def _block(extent: int) -> Any:
    storage = (ctypes.c_uint64 * max((extent + 7) // 8, 1))()
    return (ctypes.c_char * max(extent, 1)).from_buffer(storage)


def memory_of(native: Any, size: int) -> memoryview:
    """The memory behind a struct of hip-python, which has to outlive the view."""
    return memoryview((ctypes.c_ubyte * size).from_address(int(native))).cast("B")
