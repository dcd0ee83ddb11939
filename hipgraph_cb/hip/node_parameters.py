"""The parameter blocks of graph nodes, as images for many nodes at once and as one block that they are written into.

HIP copies parameters and arguments when a node is added, so one block serves all nodes of its kind.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.abi.hip.structures import KernelNodeParams, MemsetParams
from hipgraph_cb.errors import OutOfRangeError
from hipgraph_cb.hip.api import bindings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.recording.dispatch_plan import Shape

_KERNEL_FIELDS = {
    "blockDim": ("<u4", 3),
    "func": "<u8",
    "gridDim": ("<u4", 3),
    "kernelParams": "<u8",
    "sharedMemBytes": "<u4",
}
_MEMSET_FIELDS = {"dst": "<u8", "elementSize": "<u4", "height": "<u8", "value": "<u4", "width": "<u8"}


def _node(structure: type[ctypes.Structure], fields: dict[str, Any]) -> np.dtype[Any]:
    """Some fields of a structure; what is left out stays zero."""
    offsets = [getattr(structure, name).offset for name in fields]
    size = ctypes.sizeof(structure)
    return np.dtype({"names": list(fields), "formats": list(fields.values()), "offsets": offsets, "itemsize": size})


KERNEL_NODE = _node(KernelNodeParams, _KERNEL_FIELDS)
MEMSET_NODE = _node(MemsetParams, _MEMSET_FIELDS)
"""The width is in elements."""


class ParameterBlock:
    """A struct of hip-python, and its bytes.

    Attributes:
        native: what hip-python takes.
        image: its memory; `raw` is written for each node.
    """

    def __init__(self, kind: str, size: int) -> None:
        self.native = getattr(bindings(), kind)()
        self.image: Any = (ctypes.c_char * size).from_address(int(self.native))


def kernel_block() -> ParameterBlock:
    """For kernel nodes."""
    return ParameterBlock("hipKernelNodeParams", KERNEL_NODE.itemsize)


def memset_block() -> ParameterBlock:
    """For memset nodes."""
    return ParameterBlock("hipMemsetParams", MEMSET_NODE.itemsize)


def kernel_images(
    functions: NDArray[Any] | int,
    counts: NDArray[Any],
    sizes: NDArray[Any],
    lds: NDArray[Any],
    tables: NDArray[Any] | int,
) -> list[bytes]:
    """Images of kernel nodes.

    Args:
        functions: the addresses of the hipFunction_t.
        counts, sizes, lds: the shape of each launch.
        tables: for each the address of the table of pointers to its arguments; 0 where there are none.
    """
    _check_lds(lds)
    nodes = np.zeros(len(counts), KERNEL_NODE)
    nodes["func"], nodes["gridDim"], nodes["blockDim"] = functions, counts, sizes
    nodes["sharedMemBytes"], nodes["kernelParams"] = lds, tables
    return images_of(nodes)


def with_shapes(images: bytes, counts: NDArray[Any], lds: NDArray[Any]) -> list[bytes]:
    """Images of kernel nodes, one behind the other, with other counts and LDS."""
    _check_lds(lds)
    nodes = np.frombuffer(bytearray(images), KERNEL_NODE)  # a copy of an array would lack what is between the fields
    nodes["gridDim"], nodes["sharedMemBytes"] = counts, lds
    return images_of(nodes)


def without_table(image: bytes) -> tuple[bytes, bytes]:
    """The image of a kernel node without the address of its table."""
    start = KernelNodeParams.kernelParams.offset
    return image[:start], image[start + 8 :]


def _check_lds(lds: NDArray[Any]) -> None:
    if (lds >> np.uint64(32)).any():
        raise OutOfRangeError("dynamic_lds is out of range", found=str(int(lds.max())), allowed=f"0 to {2**32 - 1}")


def memset_images(
    targets: NDArray[np.uint64], values: NDArray[Any], lengths: NDArray[np.uint64], elements: NDArray[Any] | int
) -> list[bytes]:
    """Images of 1-D memset nodes with patterns of `elements` bytes. A 2-D memset is never made: AMD's runtime writes
    past its rows."""
    nodes = np.zeros(len(targets), MEMSET_NODE)
    nodes["dst"], nodes["elementSize"], nodes["height"] = targets, elements, 1
    nodes["value"], nodes["width"] = values, lengths // np.asarray(elements, np.uint64)
    return images_of(nodes)


def images_of(nodes: NDArray[Any]) -> list[bytes]:
    """The bytes of each row."""
    images: list[bytes] = nodes.view(f"V{nodes.itemsize}").tolist()
    return images


class KernelLaunch:
    """The arguments of one kernel, for launches outside of any graph, one after the other.

    Args:
        function: the address of the hipFunction_t.
        offsets: where each explicit argument is in the kernarg block.
        extent: bytes of the kernarg block.

    Attributes:
        function, offsets: as given.
        table: the address of the table of pointers to the arguments, 0 where there are none.
        values: the kernarg block; its `raw` is written for each launch.
    """

    def __init__(self, function: int, offsets: Sequence[int], extent: int) -> None:
        self.function = function
        self.offsets = offsets
        storage = (ctypes.c_uint64 * max((extent + 7) // 8, 1))()
        self.values: Any = (ctypes.c_char * max(extent, 1)).from_buffer(storage)
        start = ctypes.addressof(self.values)
        self._table = (ctypes.c_void_p * max(len(offsets), 1))(*(start + offset for offset in offsets))
        self.table = ctypes.addressof(self._table) if offsets else 0

    def launch(
        self, api: Any, shape: Shape, kernarg: bytes | bytearray, stream: Any, cooperative: bool = False
    ) -> None:
        """Launch it on a stream. Raises HipError."""
        count, size, dynamic_lds = shape
        self.values.raw = bytes(kernarg)
        if cooperative:
            api.call("hipModuleLaunchCooperativeKernel", self.function, *count, *size, dynamic_lds, stream, self.table)
            return
        api.call("hipModuleLaunchKernel", self.function, *count, *size, dynamic_lds, stream, self.table, None)
