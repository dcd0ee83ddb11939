"""Fills by a kernel of our own, launched outside of any graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.backend.blits import WORKGROUP_SIZE, fill
from hipgraph_cb.hip.node_parameters import KernelLaunch

if TYPE_CHECKING:
    from typing import Any

    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.fills import FillKernel


class FillLaunches:
    """Launches of the kernel of one device; it must be loaded."""

    def __init__(self, kernel: FillKernel) -> None:
        offsets = [parameter.offset for parameter in kernel.export.parameters]
        self._most_lanes = kernel.most_lanes
        self._launch = KernelLaunch(kernel.function, offsets, kernel.export.layout.size)

    def launch(self, api: HipApi, address: int, pattern: bytes, length: int, stream: Any) -> None:
        """Fill `length` bytes from `address` on with a pattern of 1, 2 or 4 bytes. Raises HipError."""
        blit = fill(address, length, pattern, self._most_lanes, WORKGROUP_SIZE)
        shape = (blit.lanes // WORKGROUP_SIZE, 1, 1), (WORKGROUP_SIZE, 1, 1), 0
        self._launch.launch(api, shape, blit.arguments, stream)
