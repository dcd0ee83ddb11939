"""Code objects on a HIP device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.backend.owned import OwnedExecutable
from hipgraph_cb.code_object.linking import linked
from hipgraph_cb.errors import HipError
from hipgraph_cb.hip.buffer import HipBuffer, new_buffer
from hipgraph_cb.runtime.loaded_code import KernelFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hipgraph_cb.code_object.code_object import CodeObject
    from hipgraph_cb.code_object.verify import VerifiedExecutable
    from hipgraph_cb.hip.device import HipDevice


class HipExecutable(OwnedExecutable):
    """A HIP module, or one for each module of a wrapper."""

    _device: HipDevice

    def __init__(self, device: HipDevice, verified: VerifiedExecutable, label: str | None) -> None:
        super().__init__(device, verified, label)
        device.api.make_current()
        self._load_modules()
        self._functions: dict[str, int] = {}

    def _load_module(self, module: CodeObject, keep: Handle | None, addresses: Mapping[str, int]) -> Handle:
        """HIP has no call that defines a symbol, so the code object gets the addresses."""
        api, data = self._device.api, linked(module, addresses)
        native = api.call("hipModuleLoadData", data, where=self.describe())
        return Handle(api, native, "hipModuleUnload", keep=(data, keep))

    def _new_buffer(self, size: int, label: str) -> HipBuffer:
        return new_buffer(self._device, size, label)

    def function(self, export: str) -> int:
        """The address of the hipFunction_t of a kernel, asked for once."""
        function = self._functions.get(export)
        if function is None:
            module = self.held()[self.verified.exports[export].module]
            where = f"kernel {export} of {self.describe()}"
            native = self._device.api.call("hipModuleGetFunction", module.native, export.encode(), where=where)
            function = self._functions[export] = int(native)
        return function

    def _facts(self, export: str) -> KernelFacts:
        verified = self.verified.exports[export]
        return KernelFacts(verified.private_segment_size, verified.group_segment_size, None)

    def _occupancy(self, export: str, workgroup_size: int, dynamic_lds: int) -> int:
        question = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"
        arguments = (self.function(export), workgroup_size, dynamic_lds)
        self._device.api.make_current()
        return int(self._device.api.call(question, *arguments, where=f"kernel {export} of {self.describe()}"))

    def resident_workgroups(self, export: str, workgroup_size: int, dynamic_lds: int) -> int:
        """How many workgroups of a kernel the whole device holds at once."""
        return self._occupancy(export, workgroup_size, dynamic_lds) * self._device.compute_units

    def _global(self, name: str) -> HipBuffer:
        for module in self.held("global_"):
            try:
                address, size = self._device.api.call("hipModuleGetGlobal", module.native, name.encode())
            except HipError as error:
                if error.code != Code.NOT_FOUND:
                    raise
            else:
                return HipBuffer(self._device, int(size), int(address), module, name)
        raise self._no_variable(name)
