"""Fills by a kernel of our own, for memory that the runtime's memset nodes do not take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.backend.blits import WORKGROUP_SIZE, code_object_for, fill, most_lanes
from hipgraph_cb.hip.builtin_kernels import BuiltinKernel
from hipgraph_cb.hip.node_parameters import KernelParameters

if TYPE_CHECKING:
    from typing import Any

    from hipgraph_cb.code_object.target_id import TargetId
    from hipgraph_cb.hip.api import HipApi


class FillKernel(BuiltinKernel):
    """The fill kernel of one device.

    Args:
        compute_units: of the device.

    Attributes:
        most_lanes: work-items that one launch may have.
    """

    def __init__(self, api: HipApi, target: TargetId, compute_units: int) -> None:
        missing = "program: there is no fill kernel for this target"
        super().__init__(api, "fill", lambda: code_object_for(target, missing, "use fill='memset'"))
        self.most_lanes = most_lanes(compute_units)


class FillParameters:
    """Of one launch of the kernel, with the interface of `MemsetParameters`; it must be loaded."""

    def __init__(self, kernel: FillKernel) -> None:
        places = [(parameter.offset, False) for parameter in kernel.export.parameters]  # the address is in the block
        self._most_lanes = kernel.most_lanes
        self._parameters = KernelParameters(kernel.function, places, kernel.export.layout.size)
        self.function = kernel.function
        self.table = self._parameters.table

    def write(self, address: int, pattern: bytes, length: int) -> tuple[Any]:
        """For `length` bytes from `address` on filled with a pattern of 1, 2 or 4 bytes; returns the native block."""
        self._write(address, pattern, length)
        return (self._parameters.native,)

    def _write(self, address: int, pattern: bytes, length: int) -> int:
        blit = fill(address, length, pattern, self._most_lanes, WORKGROUP_SIZE)
        self._parameters.values.raw = blit.arguments
        workgroups = blit.lanes // WORKGROUP_SIZE
        self._parameters.write_shape(((workgroups, 1, 1), (WORKGROUP_SIZE, 1, 1), 0))
        return workgroups

    def launch(self, api: HipApi, address: int, pattern: bytes, length: int, stream: Any) -> None:
        """The same outside of any graph."""
        workgroups = self._write(address, pattern, length)
        shape = (workgroups, 1, 1, WORKGROUP_SIZE, 1, 1, 0)
        api.call("hipModuleLaunchKernel", self.function, *shape, stream, self.table, None)
