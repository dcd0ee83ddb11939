"""Fills by a kernel of our own, for memory that the runtime's memset nodes do not take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.backend.blits import code_object_for, most_lanes
from hipgraph_cb.hip.builtin_kernels import BuiltinKernel

if TYPE_CHECKING:
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
