"""Where the memory of a program is, and what HIP functions need to know of single commands."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from hipgraph_cb.backend.arena import PlaceExtents
from hipgraph_cb.errors import InternalError
from hipgraph_cb.hip.fill_launches import FillLaunches
from hipgraph_cb.hip.node_parameters import KernelLaunch
from hipgraph_cb.hip.row_launches import RowLaunches
from hipgraph_cb.recording.binding_table import with_known_numbers
from hipgraph_cb.recording.commands import Constant, Dispatch, HostCall, Location
from hipgraph_cb.recording.commands.fields import constant_bytes

if TYPE_CHECKING:
    from hipgraph_cb.backend.host_calls import HostCalls
    from hipgraph_cb.backend.resources import BoundResources
    from hipgraph_cb.hip.channel import HipRank
    from hipgraph_cb.hip.executable import HipExecutable
    from hipgraph_cb.hip.fills import FillKernel
    from hipgraph_cb.hip.row_kernels import RowKernels
    from hipgraph_cb.recording.binding_table import Table
    from hipgraph_cb.recording.place_table import PlaceTable


class CommandArguments:
    """The addresses of one program. Commands are those of `NestedScope.table`, in terms of the outermost recording.

    Args:
        row_kernels: what copies and fills of rows become a launch of.
        fill_kernel: what fills become a launch of; None for memsets.
        host_calls: those of the program; None where it has none.

    Attributes:
        slots: what is in each slot now; empty for a recording without slots.
        disabled: the commands of the outermost recording that are switched off.
        fill_kernel: as given.
        fill_launches: launches fills outside of a graph, where they are kernels.
    """

    def __init__(
        self,
        resources: BoundResources[HipExecutable],
        row_kernels: RowKernels,
        slots: Table | None = None,
        fill_kernel: FillKernel | None = None,
        disabled: frozenset[int] = frozenset(),
        host_calls: HostCalls | None = None,
    ) -> None:
        self.slots: Table = {} if slots is None else slots
        self.disabled = disabled
        self.fill_kernel = fill_kernel
        self._row_kernels = row_kernels
        self._host_calls = host_calls
        self.fill_launches = None if fill_kernel is None else FillLaunches(fill_kernel)
        self._resources = resources
        self._kernels: dict[tuple[int, str], KernelLaunch] = {}

    def extents(self, places: PlaceTable) -> PlaceExtents:
        """Where all places of a table are, with one binding table or another."""
        return PlaceExtents(places, self._resources.addresses)

    def place(self, place: Location) -> tuple[int, int]:
        """The device address and the length in bytes."""
        return self._resources.place(place, self.slots)

    def known(self, command: Any) -> Any:
        """A command with the numbers that the slots hold now."""
        has_numbers = any(isinstance(bound, Constant) for bound in self.slots.values())
        return with_known_numbers(command, self.slots) if has_numbers else command

    def event(self, event: int) -> Any:
        """What hip-python takes as the event with a resource id."""
        live: Any = self._resources.objects[event]
        return live.native

    def rank(self, channel: int) -> HipRank:
        """The rank with a resource id."""
        live: Any = self._resources.objects[channel]
        return live  # type: ignore[no-any-return]

    @cached_property
    def row_launches(self) -> RowLaunches:
        """Launches copies and fills of rows, whose kernels must be loaded."""
        return RowLaunches(self._row_kernels)

    def host_call(self, command: HostCall, where: str) -> int:
        """The number of the function of a command, which messages call `where`."""
        if self._host_calls is None:
            raise InternalError("program: a host call that was not announced", where=where)
        return self._host_calls.number(self._resources.objects[command.function], where)  # type: ignore[arg-type]

    def executable(self, id: int) -> HipExecutable:
        """The executable with a resource id."""
        return self._resources.executables[id]

    def launch(self, api: Any, command: Any, stream: Any) -> None:
        """Launch one dispatch on a stream, outside of any graph. Raises HipError."""
        command = self.known(command)
        if 0 in command.workgroup_count:
            return
        kernarg = bytearray(command.kernarg)
        for offset, place in command.pointers:
            kernarg[offset : offset + 8] = self.place(place)[0].to_bytes(8, "little")
        for offset, number in command.numbers:
            content = constant_bytes(number)
            kernarg[offset : offset + len(content)] = content
        shape = command.workgroup_count, command.workgroup_size, command.dynamic_lds
        self._kernel(command).launch(api, shape, kernarg, stream, command.cooperative)

    def _kernel(self, command: Dispatch) -> KernelLaunch:
        key = command.executable, command.export
        kernel = self._kernels.get(key)
        if kernel is None:
            executable = self.executable(command.executable)
            layout = executable.verified.exports[command.export].layout
            kernel = self._kernels[key] = KernelLaunch(executable.function(command.export), layout.offsets, layout.size)
        return kernel
