"""Our own kernels for fills, copies and counts in memory, on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.backend.blits import code_object_for, most_lanes
from hipgraph_cb.hsa.executable import KernelCode, find_kernel, load_code

if TYPE_CHECKING:
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.code_object.target_id import TargetId
    from hipgraph_cb.code_object.verify import VerifiedExecutable
    from hipgraph_cb.hsa.agents import Agent
    from hipgraph_cb.hsa.api import HsaApi


def blits_for(target: TargetId) -> VerifiedExecutable:
    """The code object for a target. Raises UnavailableError where there is none."""
    missing = "open_device: the HSA backend has no fill and copy kernels for this target"
    return code_object_for(target, missing, "open the device with backend='hip'")


class BlitKernels:
    """The kernels on one device.

    Attributes:
        handle: keeps the code alive; programs that use it hold it too. None once the device is closed.
        most_lanes: work-items that one launch may have.
    """

    def __init__(self, api: HsaApi, agent: Agent) -> None:
        self._verified = blits_for(agent.target)
        handle = load_code(api, agent, self._verified.data, "the kernels for fills and copies")
        self.handle: Handle | None = handle
        self.most_lanes = most_lanes(agent.compute_units)
        self._kernels = {
            name: find_kernel(api, agent, handle.native, export, f"kernel {name}")
            for name, export in self._verified.exports.items()
        }

    def kernel(self, name: str) -> KernelCode:
        return self._kernels[name]
