"""What a HIP function must be told about one command: the same for adding a node and for changing it later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.hip.api import bindings
from hipgraph_cb.hip.fills import FillKernel, FillParameters
from hipgraph_cb.hip.node_parameters import KernelParameters, MemsetParameters
from hipgraph_cb.recording.bindings import nested_table
from hipgraph_cb.recording.commands import (
    Command,
    Copy,
    Dimensions,
    Dispatch,
    ExecuteCommands,
    Fill,
    Location,
    Range,
    Update,
)

if TYPE_CHECKING:
    from hipgraph_cb.backend.resources import BoundResources
    from hipgraph_cb.hip.executable import HipExecutable
    from hipgraph_cb.recording.bindings import BoundRange

Pointers = tuple[tuple[int, Location], ...]
Patch = tuple[slice, bytes]
Function = Callable[..., Any]
Call = tuple[Function, tuple[Any, ...]]


class CommandArguments:
    """Turns commands into arguments of HIP functions, with the addresses of one program.

    The blocks that it returns are written again by the next call.

    Args:
        fill_kernel: what fills become a launch of; None for memsets.

    Attributes:
        slots: what stands for each slot now; empty for a recording without slots.
    """

    def __init__(
        self,
        resources: BoundResources[HipExecutable],
        slots: Mapping[int, BoundRange] | None = None,
        fill_kernel: FillKernel | None = None,
    ) -> None:
        self.slots: Mapping[int, BoundRange] = {} if slots is None else slots
        self._resources = resources
        self._addresses = resources.addresses
        self._fill_kernel = fill_kernel
        self._fills = MemsetParameters() if fill_kernel is None else FillParameters(fill_kernel)
        self._kernels: dict[tuple[int, str], KernelParameters] = {}
        kinds = bindings().hipMemcpyKind
        self._host_to_device = kinds.hipMemcpyHostToDevice
        self._device_to_device = kinds.hipMemcpyDeviceToDevice

    @property
    def fill_launches(self) -> FillParameters | None:
        """What launches fills, where they are kernels."""
        return self._fills if isinstance(self._fills, FillParameters) else None

    def prepare(self, command: Command) -> tuple[Any, ...]:
        """The arguments of the function that adds a command's node, or changes it."""
        return _PREPARATIONS[type(command)](self, command)

    def calls(self, commands: Sequence[Command], functions: Mapping[type[Command], Function]) -> Iterator[Call]:
        """For one command after another its function and what `prepare` makes of it: for a whole recording.

        Dispatches are what there are thousands of. Those of the same buffers share one tuple of pointers, so their
        addresses are found by its identity.
        """
        patches: dict[int, list[Patch]] = {}
        executable, export = -1, ""
        count: Dimensions | None = None
        size: Dimensions | None = None
        lds = 0
        for command in commands:
            if type(command) is not Dispatch:
                yield functions[type(command)], self.prepare(command)
                continue
            new_executable, new_export, new_count, new_size, new_lds, block, pointers, _, _ = command
            if new_export is not export or new_executable != executable:
                executable, export = new_executable, new_export
                kernel = self._kernel_of(command)
                arguments, call, count = kernel.arguments, (functions[Dispatch], kernel.result), None
            if new_count is not count or new_size is not size or new_lds != lds:
                count, size, lds = new_count, new_size, new_lds
                kernel.write_shape(count, size, lds)
            arguments[:] = block
            for where, addresses in patches.get(id(pointers)) or self._patches(patches, pointers):
                arguments[where] = addresses
            yield call

    def _patches(self, known: dict[int, list[Patch]], pointers: Pointers) -> list[Patch]:
        """Where addresses go in a kernarg block, and their bytes: neighbours together."""
        patches = known[id(pointers)] = []
        end = -1
        for offset, place in pointers:
            address = self.place(place)[0].to_bytes(8, "little")
            if offset == end:
                start, before = patches.pop()
                patches.append((slice(start.start, offset + 8), before + address))
            else:
                patches.append((slice(offset, offset + 8), address))
            end = offset + 8
        return patches

    def _fill(self, command: Fill) -> tuple[Any]:
        address, length = self.place(command.target)
        return self._fills.write(address, command.pattern, length)

    def _update(self, command: Update) -> tuple[int, bytes, int, Any]:
        """The host bytes are read at launch: the recording, which the program holds, owns them."""
        address, length = self.place(command.target)
        return address, command.data, length, self._host_to_device

    def _copy(self, command: Copy) -> tuple[int, int, int, Any]:
        source, _length = self.place(command.source)
        target, length = self.place(command.target)
        return target, source, length, self._device_to_device

    def _dispatch(self, command: Dispatch) -> tuple[Any]:
        address = self._address
        pointers = [(offset, address(place)) for offset, place in command.pointers]
        return self._kernel_of(command).write(command, pointers)

    def _address(self, place: Location) -> int:
        return self.place(place)[0]

    def place(self, place: Location) -> tuple[int, int]:
        """The device address and the length in bytes."""
        if isinstance(place, Range):
            return self._addresses[place.resource] + place.offset, place.length
        part = self.slots[place.slot].part(place)
        return part.buffer.address + part.offset, part.length

    def event(self, event: int) -> Any:
        """What hip-python takes as the event with a resource id."""
        live: Any = self._resources.objects[event]
        return live.native

    def nested(self, command: ExecuteCommands) -> CommandArguments:
        """The same for the nested recording that a command runs."""
        table = nested_table(command, self._resources.objects, self.slots)
        return CommandArguments(self._resources, table or None, self._fill_kernel)

    def kernel(self, command: Dispatch) -> tuple[int, int]:
        """The address of the kernel's function, and that of the table of its arguments, for one launch."""
        self.prepare(command)
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
        return KernelParameters(executable.function(export), offsets, layout.size, executable_id, export)


_PREPARATIONS: dict[type[Command], Callable[[CommandArguments, Any], tuple[Any, ...]]] = {
    Fill: CommandArguments._fill,
    Update: CommandArguments._update,
    Copy: CommandArguments._copy,
    Dispatch: CommandArguments._dispatch,
}
"""Not bound to an instance: that would be a cycle, which keeps memory of the device until it is collected."""
