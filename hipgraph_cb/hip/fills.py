"""Fills by a kernel of our own, for memory that the runtime's memset nodes do not take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.backend.blits import WORKGROUP_SIZE, code_object_for, fill, most_lanes
from hipgraph_cb.backend.handle import Handle
from hipgraph_cb.hip.node_parameters import KernelParameters

if TYPE_CHECKING:
    from typing import Any

    from hipgraph_cb.executable.target_id import TargetId
    from hipgraph_cb.executable.verify import VerifiedExport
    from hipgraph_cb.hip.api import HipApi


class FillKernel:
    """The kernel of one device, loaded when it is needed first.

    Args:
        compute_units: of the device.

    Attributes:
        handle: keeps the module alive once it is loaded; programs that use it hold it too.
        most_lanes: work-items that one launch may have.
    """

    def __init__(self, api: HipApi, target: TargetId, compute_units: int) -> None:
        self._api = api
        self._target = target
        self.most_lanes = most_lanes(compute_units)
        self.handle: Handle | None = None
        self.function = 0
        self.export: VerifiedExport

    def load(self) -> Handle:
        """Load it, unless it is there.

        Raises:
            UnavailableError: there is none for this target.
            HipError: HIP refused it.
        """
        if self.handle is None:
            verified = code_object_for(
                self._target, "program: there is no fill kernel for this target", "use fill='memset'"
            )
            self.export = verified.exports["fill"]
            native = self._api.call("hipModuleLoadData", verified.data, where="the fill kernel")
            handle = Handle(self._api, native, "hipModuleUnload", keep=verified.data)
            try:
                self.function = int(self._api.call("hipModuleGetFunction", native, b"fill", where="the fill kernel"))
            except BaseException:
                handle.release()
                raise
            self.handle = handle
        return self.handle

    def release(self) -> None:
        """Give the module back."""
        if self.handle is not None:
            self.handle.release()
            self.handle = None


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
