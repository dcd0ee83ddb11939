"""What a HIP function must be told about one command: the same for adding a node and for changing it later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hipgraph_cb.executable.kernel_args import ParameterKind
from hipgraph_cb.hip.api import bindings
from hipgraph_cb.hip.node_parameters import KernelParameters, MemsetParameters, UnalignedKernelParameters
from hipgraph_cb.recording.commands import Command, Copy, Dispatch, Fill, Location, Range, Update

if TYPE_CHECKING:
    from hipgraph_cb.backend.resources import BoundResources
    from hipgraph_cb.hip.executable import HipExecutable
    from hipgraph_cb.recording.bindings import BoundRange

Preparation = Callable[[Any], tuple[Any, ...]]


class CommandArguments:
    """Turns commands into arguments of HIP functions, with the addresses of one program.

    The blocks that it returns are written again by the next call.

    Attributes:
        slots: what stands for each slot now; empty for a recording without slots.
        preparations: what prepares the arguments, by the type of the command.
    """

    def __init__(self, resources: BoundResources[HipExecutable], slots: Mapping[int, BoundRange] | None = None) -> None:
        self.slots: Mapping[int, BoundRange] = {} if slots is None else slots
        self._resources = resources
        self._addresses = resources.addresses
        self._memset = MemsetParameters()
        self._kernels: dict[tuple[int, str], KernelParameters] = {}
        self._recent: KernelParameters | None = None
        kinds = bindings().hipMemcpyKind
        self._host_to_device = kinds.hipMemcpyHostToDevice
        self._device_to_device = kinds.hipMemcpyDeviceToDevice
        self.preparations: dict[type[Command], Preparation] = {
            Fill: self._fill,
            Update: self._update,
            Copy: self._copy,
            Dispatch: self._dispatch_to_ranges if slots is None else self._dispatch,
        }

    def _fill(self, command: Fill) -> tuple[Any]:
        address, length = self.place(command.target)
        return self._memset.write(address, command.pattern, length)

    def _update(self, command: Update) -> tuple[int, bytes, int, Any]:
        """The host bytes are read at launch: the recording, which the program holds, owns them."""
        address, length = self.place(command.target)
        return address, command.data, length, self._host_to_device

    def _copy(self, command: Copy) -> tuple[int, int, int, Any]:
        source, _length = self.place(command.source)
        target, length = self.place(command.target)
        return target, source, length, self._device_to_device

    def _dispatch(self, command: Dispatch) -> tuple[Any]:
        place = self.place
        pointers = [(offset, place(location)[0]) for offset, location in command.pointers]
        return self._kernel_of(command).write(command, pointers)

    def _dispatch_to_ranges(self, command: Dispatch) -> tuple[Any]:
        """The same where no pointer is a slot: the common case, and the one that is measured."""
        kernel = self._recent
        if kernel is None or command.export is not kernel.export or command.executable != kernel.executable:
            kernel = self._recent = self._kernel_of(command)
        return kernel.write_ranges(command, self._addresses)

    def place(self, place: Location) -> tuple[int, int]:
        """The device address and the length in bytes."""
        if isinstance(place, Range):
            return self._addresses[place.resource] + place.offset, place.length
        part = self.slots[place.slot].part(place)
        return part.buffer.address + part.offset, part.length

    def kernel(self, command: Dispatch) -> tuple[int, int]:
        """The address of the kernel's function, and that of the table of its arguments, for one launch."""
        self.preparations[Dispatch](command)
        kernel = self._kernel_of(command)
        return kernel.function, kernel.table

    def _kernel_of(self, command: Dispatch) -> KernelParameters:
        key = (command.executable, command.export)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._new_kernel(*key)
        return kernel

    def _new_kernel(self, executable_id: int, export: str) -> KernelParameters:
        executable = self._resources.executables[executable_id]
        layout = executable.verified.exports[export].layout
        offsets = [parameter.offset for parameter in layout.parameters]
        pointers = [parameter.offset for parameter in layout.parameters if parameter.kind is ParameterKind.POINTER]
        kind = UnalignedKernelParameters if any(offset % 8 for offset in pointers) else KernelParameters
        return kind(executable.function(export), offsets, layout.size, executable_id, export)
