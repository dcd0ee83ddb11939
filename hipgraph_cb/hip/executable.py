"""Code objects on a HIP device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.backend.owned import OwnedExecutable
from hipgraph_cb.errors import HipError
from hipgraph_cb.hip.buffer import HipBuffer

if TYPE_CHECKING:
    from hipgraph_cb.code_object.verify import VerifiedExecutable
    from hipgraph_cb.hip.device import HipDevice


class HipExecutable(OwnedExecutable):
    """A HIP module."""

    _device: HipDevice

    def __init__(self, device: HipDevice, verified: VerifiedExecutable, label: str | None) -> None:
        super().__init__(device, verified, label)
        device.api.make_current()
        native = device.api.call("hipModuleLoadData", verified.data, where=self.describe())
        self.handle = Handle(device.api, native, "hipModuleUnload", keep=verified.data)
        self._functions: dict[str, int] = {}

    def function(self, export: str) -> int:
        """The address of the hipFunction_t of a kernel, asked for once."""
        function = self._functions.get(export)
        if function is None:
            module = self.held()
            where = f"kernel {export} of {self.describe()}"
            native = self._device.api.call("hipModuleGetFunction", module.native, export.encode(), where=where)
            function = self._functions[export] = int(native)
        return function

    def _occupancy(self, export: str, workgroup_size: int, dynamic_lds: int) -> int:
        question = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"
        arguments = (self.function(export), workgroup_size, dynamic_lds)
        self._device.api.make_current()
        return int(self._device.api.call(question, *arguments, where=f"kernel {export} of {self.describe()}"))

    def resident_workgroups(self, export: str, workgroup_size: int, dynamic_lds: int) -> int:
        """How many workgroups of a kernel the whole device holds at once."""
        return self._occupancy(export, workgroup_size, dynamic_lds) * self._device.compute_units

    def _global(self, name: str) -> HipBuffer:
        module = self.held("global_")
        try:
            address, size = self._device.api.call("hipModuleGetGlobal", module.native, name.encode())
        except HipError as error:
            if error.code != Code.NOT_FOUND:
                raise
            raise self._no_variable(name) from error
        return HipBuffer(self._device, int(size), int(address), module, name)
