"""The resource table of a recording, bound to live buffers and executables of one device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError
from hipgraph_cb.hip.buffer import HipBuffer
from hipgraph_cb.hip.executable import HipExecutable

if TYPE_CHECKING:
    from hipgraph_cb.device import Device
    from hipgraph_cb.hip.handle import Handle
    from hipgraph_cb.recording.recording import Recording


class BoundResources:
    """What the resource ids of one program mean.

    Attributes:
        objects: the live object of every id.
        addresses: device address by buffer id.
        executables: by executable id.
        handles: keep every allocation and module alive that the program uses (R5).

    Raises:
        NotFoundError, InvalidArgumentError, OutOfRangeError: as `ResourceTable.complete`, and for foreign objects.
        FailedPreconditionError: a resource is closed, or belongs to another device.
    """

    def __init__(
        self, device: Device, recording: Recording, substitutes: Mapping[int | str, Any] | None = None
    ) -> None:
        self.addresses: dict[int, int] = {}
        self.executables: dict[int, HipExecutable] = {}
        self.handles: list[Handle] = []
        table = recording.resources
        objects = self.objects = table.complete(substitutes)
        for buffer in table.buffers.values():
            live_buffer = own(objects[buffer.id], HipBuffer, device, f"buffer {buffer.name}")
            self.addresses[buffer.id] = live_buffer.address
            self._keep(live_buffer)
        for executable in table.executables.values():
            live_executable = own(objects[executable.id], HipExecutable, device, f"executable {executable.name}")
            self.executables[executable.id] = live_executable
            self._keep(live_executable)

    def _keep(self, resource: HipBuffer | HipExecutable) -> None:
        if resource.handle is not None:
            self.handles.append(resource.handle)


def own(value: Any, kind: type[Any], device: Device, where: str) -> Any:
    """`value`, if it is an open resource of this kind and device."""
    if not isinstance(value, kind):
        raise InvalidArgumentError(
            "program: not a resource of this backend", where=where, found=type(value).__name__, allowed=kind.__name__
        )
    value.check_open("program")
    if value.device is not device:
        raise FailedPreconditionError(
            "program: a resource belongs to another device",
            where=where,
            found=value.device.describe(),
            allowed=device.describe(),
        )
    return value
