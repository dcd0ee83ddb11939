"""What a HIP function must be told about one command: the same for adding a node and for changing it later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.code_object.kernel_args import KernargLayout, ParameterKind
from hipgraph_cb.hip.api import bindings
from hipgraph_cb.hip.fills import FillKernel, FillParameters
from hipgraph_cb.hip.node_parameters import KernelParameters, MemsetParameters
from hipgraph_cb.recording.bindings import nested_table
from hipgraph_cb.recording.commands import (
    Command,
    Copy,
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
    from hipgraph_cb.recording.dispatch_plan import Shape


class Launch(NamedTuple):
    """What the dispatches of one model share; `addresses` is the kernarg block of their pointers."""

    kernel: KernelParameters
    shape: Shape
    addresses: bytearray


Launches = dict[int, Launch]


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
        self._kernels: dict[tuple[int, str, tuple[int, ...]], KernelParameters] = {}
        self._addresses_by_value: dict[tuple[int, str], frozenset[int]] = {}
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

    def kernel(self, model: Dispatch, launches: Launches) -> KernelParameters:
        """The parameters of a dispatch, with all but its kernarg block written.

        Args:
            launches: what was made so far, by the identity of the model and of its pointers: those of the same buffers
                share one tuple. It serves one recording, as long as the slots stand for the same.
        """
        kernel, shape, addresses = launches.get(id(model)) or self._launch(model, launches)
        if shape != kernel.shape:
            kernel.write_shape(shape)
        kernel.addresses.raw = addresses
        return kernel

    def _launch(self, model: Dispatch, launches: Launches) -> Launch:
        executable, export, count, size, dynamic_lds, _, pointers, _, _ = model
        by_value = self._addresses_by_value.get((executable, export))
        if by_value is None:
            by_value = self._addresses_by_value[executable, export] = self._layout(
                executable, export
            ).addresses_by_value
        given = tuple([offset for offset, _ in pointers if offset in by_value]) if by_value else ()
        kernel = self._kernels.get((executable, export, given)) or self._new_kernel(executable, export, given)
        alike = launches.get(id(pointers))
        if alike is not None and alike.kernel is kernel:
            addresses = alike.addresses
        else:
            addresses = kernel.address_block([(offset, self.place(place)[0]) for offset, place in pointers])
        launch = launches[id(model)] = launches[id(pointers)] = Launch(kernel, (count, size, dynamic_lds), addresses)
        return launch

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
        return (self.launch(command).native,)

    def launch(self, command: Dispatch) -> KernelParameters:
        """The parameters of a dispatch, all written."""
        kernel = self.kernel(command, {})
        kernel.values.raw = command.kernarg
        return kernel

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

    def _new_kernel(self, executable: int, export: str, given: tuple[int, ...]) -> KernelParameters:
        """Parameters of a kernel; `given` are the offsets of by-value arguments that hold addresses."""
        layout = self._layout(executable, export)
        places = [(row.offset, row.kind is ParameterKind.POINTER or row.offset in given) for row in layout.parameters]
        function = self._resources.executables[executable].function(export)
        kernel = self._kernels[executable, export, given] = KernelParameters(function, places, layout.size)
        return kernel

    def _layout(self, executable: int, export: str) -> KernargLayout:
        layout: KernargLayout = self._resources.executables[executable].verified.exports[export].layout
        return layout


_PREPARATIONS: dict[type[Command], Callable[[CommandArguments, Any], tuple[Any, ...]]] = {
    Fill: CommandArguments._fill,
    Update: CommandArguments._update,
    Copy: CommandArguments._copy,
    Dispatch: CommandArguments._dispatch,
}
"""Not bound to an instance: that would be a cycle, which keeps memory of the device until it is collected."""
