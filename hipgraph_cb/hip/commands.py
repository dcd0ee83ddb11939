"""What a HIP function must be told about one command: the same for adding a node and for changing it later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.hip.api import bindings
from hipgraph_cb.hip.node_parameters import KernelParameters, MemsetParameters

if TYPE_CHECKING:
    from hipgraph_cb.hip.resources import BoundResources
    from hipgraph_cb.recording.commands import Copy, Dispatch, Fill, Update


class CommandArguments:
    """Turns commands into arguments of HIP functions, with the addresses of one program.

    The blocks that it returns are written again by the next call.
    """

    def __init__(self, resources: BoundResources) -> None:
        self._resources = resources
        self._addresses = resources.addresses
        self._memset = MemsetParameters()
        self._kernels: dict[tuple[int, str], KernelParameters] = {}
        kinds = bindings().hipMemcpyKind
        self._host_to_device = kinds.hipMemcpyHostToDevice
        self._device_to_device = kinds.hipMemcpyDeviceToDevice

    def fill(self, command: Fill) -> tuple[Any]:
        target = command.target
        address = self._addresses[target.resource] + target.offset
        return (self._memset.write(address, command.pattern, target.length),)

    def update(self, command: Update) -> tuple[int, bytes, int, Any]:
        """The host bytes are read at launch: the recording, which the program holds, owns them."""
        target = command.target
        address = self._addresses[target.resource] + target.offset
        return address, command.data, target.length, self._host_to_device

    def copy(self, command: Copy) -> tuple[int, int, int, Any]:
        source, target = command.source, command.target
        source_address = self._addresses[source.resource] + source.offset
        target_address = self._addresses[target.resource] + target.offset
        return target_address, source_address, target.length, self._device_to_device

    def dispatch(self, command: Dispatch) -> tuple[Any]:
        kernel = self._kernels.get((command.executable, command.export))
        if kernel is None:
            kernel = self._kernel(command.executable, command.export)
        addresses = self._addresses
        pointers = [(offset, addresses[range_.resource] + range_.offset) for offset, range_ in command.pointers]
        parameters = kernel.write(
            command.workgroup_count, command.workgroup_size, command.dynamic_lds, command.kernarg, pointers
        )
        return (parameters,)

    def _kernel(self, executable_id: int, export: str) -> KernelParameters:
        executable = self._resources.executables[executable_id]
        layout = executable.verified.exports[export].layout
        offsets = [parameter.offset for parameter in layout.parameters]
        extent = max((parameter.offset + parameter.size for parameter in layout.parameters), default=0)
        kernel = KernelParameters(executable.function(export), offsets, extent)
        self._kernels[executable_id, export] = kernel
        return kernel
