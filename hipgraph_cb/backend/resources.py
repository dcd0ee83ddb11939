"""The resource table of a recording, bound to live buffers and executables of one device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hipgraph_cb.backend.host_calls import HostCalls
from hipgraph_cb.backend.lifetime import Superseded
from hipgraph_cb.backend.owned import OwnedBuffer, OwnedExecutable
from hipgraph_cb.backend.supported import contains
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError
from hipgraph_cb.recording.binding_table import part_of
from hipgraph_cb.recording.commands import HostCall, Location, Range

if TYPE_CHECKING:
    from hipgraph_cb.backend.device import BackendDevice
    from hipgraph_cb.backend.lifetime import Needs
    from hipgraph_cb.recording.binding_table import Table
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.recording.resources import Entry
    from hipgraph_cb.runtime.device import Device


ExecutableKind = TypeVar("ExecutableKind", bound=OwnedExecutable)


class BoundResources(Generic[ExecutableKind]):
    """The live objects of the resource ids of one program.

    Args:
        kinds: what buffers and executables of the device's backend are.

    Attributes:
        objects: the live object of every id.
        addresses: device address by buffer id.
        executables: by executable id.
        imported: the buffers whose memory another library owns.
        host_calls: the functions of the host that it calls; None where there are none.
        handles: keep every allocation, module and function alive that the program uses (R5).

    Raises:
        NotFoundError, InvalidArgumentError, OutOfRangeError: as `ResourceTable.complete`, and for foreign objects.
        FailedPreconditionError: a resource is closed, or belongs to another device.
    """

    def __init__(
        self,
        device: BackendDevice,
        recording: Recording,
        substitutes: Mapping[int | str, Any] | None,
        kinds: tuple[type[OwnedBuffer], type[ExecutableKind]],
    ) -> None:
        self._device = device
        self.addresses: dict[int, int] = {}
        self.executables: dict[int, ExecutableKind] = {}
        self.handles: list[Any] = []
        self.host_calls = HostCalls() if contains(recording, HostCall) else None
        if self.host_calls is not None:
            self.handles.append(self.host_calls)
        self.imported: list[Any] = []
        table = recording.resources
        objects = self.objects = dict(table.complete(substitutes))
        for buffer in table.buffers.values():
            if buffer.id not in objects:
                continue
            live_buffer = own(objects[buffer.id], kinds[0], device, "buffer", buffer)
            live_buffer.device.lend(device)
            self.handles.append(live_buffer.held("program"))
            is_imported = live_buffer.is_imported  # such memory is looked for whenever it is used
            self.addresses[buffer.id] = live_buffer.address if is_imported else live_buffer._address
            if is_imported:
                self.imported.append(live_buffer)
        for executable in table.executables.values():
            live_executable = own(objects[executable.id], kinds[1], device, "executable", executable)
            self.handles.extend(live_executable.held("program"))
            self.executables[executable.id] = live_executable

        if len(self.addresses) < len(table.buffers):
            self._add_transients(device, recording)

    def _add_transients(self, device: Device, recording: Recording) -> None:
        """Allocate the transient buffers as parts of one buffer, which goes with the program."""
        offsets, size = recording._transients
        arena: Any = device._allocate(size, "transient buffers")
        self.handles.append(arena.held("program"))
        for id in sorted(offsets.keys() - self.addresses.keys()):
            entry = recording.resources.buffers[id]
            part = arena.part(offsets[id], entry.size, entry.label)
            self.addresses[id], self.objects[id] = part._address, part

    def place(self, place: Location, slots: Table) -> tuple[int, int]:
        """The device address of a place and its length in bytes, with this memory in the slots."""
        if isinstance(place, Range):
            return self.addresses[place.resource] + place.offset, place.length
        part = part_of(slots, place)
        return part.buffer.bound_address + part.offset, part.length

    def retire(self, needs: Needs, recording: Recording) -> None:
        """Keep what a program used until its launches are done: the objects, and the host bytes of the recording."""
        self._device.backlog.retire(Superseded(needs, [*self.handles, recording]))

    def of(self, recording: Recording) -> dict[int | str, Any]:
        """The same objects as substitutes for a program of another recording over this resource table."""
        table = recording.resources
        return {
            id: self.objects[id]
            for id in (*table.buffers, *table.executables, *table.events, *table.functions, *table.channels)
        }


def own(value: Any, kind: type[Any], device: Device, word: str, entry: Entry) -> Any:
    """`value`, if it is a resource of this kind and device; messages call it by `word` and its entry."""
    if not isinstance(value, kind):
        raise InvalidArgumentError(
            "program: not a resource of this backend",
            where=f"{word} {entry.name}",
            found=type(value).__name__,
            allowed=kind.__name__,
        )
    if not device.accepts(value):
        raise FailedPreconditionError(
            "program: a resource belongs to another device",
            where=f"{word} {entry.name}",
            found=value.device.describe(),
            allowed=f"{device.describe()}, which makes the program",
        )
    return value
