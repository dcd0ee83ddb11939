"""On which device of a group each command of a recording runs.

A kernel runs where its code is loaded. A fill, an update or a copy runs on the device of its memory: a copy between two
devices on that of the source, if it can access the target, else on that of the target. What names no memory of a device
runs on the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hipgraph_cb.errors import FailedPreconditionError
from hipgraph_cb.recording.commands import Command, Copy, ExecuteCommands, Range
from hipgraph_cb.recording.commands.types import places, type_of
from hipgraph_cb.recording.inlining import inlined
from hipgraph_cb.recording.resources import HOST

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

Reaches = Callable[[int, int], bool]
"""Whether a device can use a buffer: their number and its id."""
Needs = tuple[set[int], dict[int, None]]
"""The devices that have to run something, and the ids of the buffers."""


class DeviceChooser:
    """Chooses the device of each command."""

    def __init__(self, recording: Recording, reaches: Reaches) -> None:
        self._recording = recording
        self._resources = recording.resources
        self._reaches = reaches
        self._known: dict[tuple[int, int], bool] = {}

    def device_of(self, index: int) -> int | None:
        """The device that runs a command; None where no single one can: a copy between devices that do not access each
        other, and a nested recording with work for several.

        Raises:
            FailedPreconditionError: a command that uses memory its device cannot access.
        """
        command = self._recording[index]
        fixed, buffers = self._needs(self._recording, command)
        candidates = sorted(fixed) or self._candidates(buffers)
        if len(fixed) < 2:
            for device in candidates:
                if all(self._can_use(device, buffer) for buffer in buffers):
                    return device
        is_copy = isinstance(command, Copy) and isinstance(command.source, Range) and isinstance(command.target, Range)
        if is_copy or isinstance(command, ExecuteCommands):
            return None
        raise self._out_of_reach(index, candidates[0], buffers)

    def _needs(self, recording: Recording, command: Command) -> Needs:
        if isinstance(command, ExecuteCommands):
            nested = inlined(recording, command)
            all_fixed: set[int] = set()
            all_buffers: dict[int, None] = {}
            for inner in nested:
                fixed, buffers = self._needs(nested, inner)
                all_fixed |= fixed
                all_buffers |= buffers
            return all_fixed, all_buffers
        return self._fixed_device(command), {place.resource: None for place in places(command) if type(place) is Range}

    def _fixed_device(self, command: Command) -> set[int]:
        """Of a kernel or an event, whose memory does not decide."""
        kind, named = type_of(command), command
        if kind.launches_kernel:
            return {self._resources.executables[named.executable].device}  # type: ignore[union-attr]
        if kind.is_order:
            event = named.events[0] if hasattr(named, "events") else named.event  # type: ignore[union-attr]
            return {self._resources.events[event].device}
        return set()

    def _candidates(self, buffers: Iterable[int]) -> list[int]:
        entries = [self._resources.buffers[buffer] for buffer in buffers]
        own = [entry.device for entry in entries if entry.memory != HOST] or [entry.device for entry in entries]
        return list(dict.fromkeys(own)) or [0]

    def _can_use(self, device: int, buffer: int) -> bool:
        known = self._known.get((device, buffer))
        if known is None:
            known = self._known[device, buffer] = self._reaches(device, buffer)
        return known

    def _out_of_reach(self, index: int, device: int, buffers: Iterable[int]) -> FailedPreconditionError:
        far = next(buffer for buffer in buffers if not self._can_use(device, buffer))
        entry = self._resources.buffers[far]
        return FailedPreconditionError(
            "the device that runs a command cannot access memory of another one",
            where=self._recording.where(index),
            found=f"{entry.name} of member {entry.device}, and the command runs on member {device}",
            allowed="memory of its own, of members that it can access, and of the host",
            next_step="copy it to the member with copy_buffer, which goes through the host where it must",
        )
