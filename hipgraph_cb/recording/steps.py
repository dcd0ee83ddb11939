"""What the devices of a group do for a recording: its commands, and what runs for those that no single device can run.

A copy between devices that cannot access each other's memory goes through memory of the host, and each of the two does
its half. Of a nested recording with work for several devices each runs its own commands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.recording.command_devices import DeviceChooser, Reaches
from hipgraph_cb.recording.commands import Command, Copy, Range
from hipgraph_cb.recording.inlining import inlined

if TYPE_CHECKING:
    from hipgraph_cb.recording.dependencies import Dependencies
    from hipgraph_cb.recording.recording import Recording

ALIGNMENT = 256
"""Of the copies in memory of the host."""


class Step(NamedTuple):
    """A command on the device that runs it.

    Attributes:
        command: its index in the recording.
        instead: what runs for it; None for the command itself.
    """

    command: int
    device: int
    instead: Command | None = None


class Steps:
    """All that the devices do, in the order of the commands.

    Args:
        reaches: whether a device can use a buffer.
        host: the id that the memory which copies go through will have.

    Attributes:
        dependencies: for each step the earlier steps that it waits for; many may share one tuple.
        staged: bytes of host memory that copies go through.

    Raises:
        FailedPreconditionError: a command that uses memory its device cannot access.
    """

    def __init__(self, recording: Recording, reaches: Reaches, host: int) -> None:
        self._reaches = reaches
        self._host = host
        self.steps: list[Step] = []
        self.staged = 0
        self._waits: list[tuple[int, ...]] = []
        self._add_all(recording, (), None)
        self.dependencies: Dependencies = tuple(self._waits)

    def _add_all(self, recording: Recording, before: tuple[int, ...], outer: int | None) -> tuple[int, ...]:
        """Add the commands of a recording behind some steps, and say which steps nothing in it waits for.

        Args:
            outer: the command that they are for; None where each is for itself.
        """
        chooser = DeviceChooser(recording, self._reaches)
        waits_of = shared_dependencies(recording)
        ends: list[tuple[int, ...]] = []  # of each command the steps that are its last
        known: dict[int, tuple[int, ...]] = {}
        unawaited: dict[int, None] = {}
        for index in range(len(recording)):
            waits = known.get(id(waits_of[index]))
            if waits is None:
                waits = tuple(end for wait in waits_of[index] for end in ends[wait]) or before
                known[id(waits_of[index])] = waits
                for wait in waits_of[index]:
                    unawaited.pop(wait, None)
            ends.append(self._add(recording, index, chooser.device_of(index), waits, outer))
            unawaited[index] = None
        return tuple(end for index in unawaited for end in ends[index])

    def _add(
        self, recording: Recording, index: int, device: int | None, waits: tuple[int, ...], outer: int | None
    ) -> tuple[int, ...]:
        command = recording[index] if outer is not None or device is None else None
        name = index if outer is None else outer
        if device is not None:
            return self._append(Step(name, device, command), waits)
        if isinstance(command, Copy):
            first, second = self._through_host(recording, name, command)
            return self._append(second, self._append(first, waits))
        nested: Any = command
        return self._add_all(inlined(recording, nested), waits, name) or waits

    def _append(self, step: Step, waits: tuple[int, ...]) -> tuple[int, ...]:
        self.steps.append(step)
        self._waits.append(waits)
        return (len(self.steps) - 1,)

    def _through_host(self, recording: Recording, name: int, command: Any) -> tuple[Step, Step]:
        """The two halves of a copy between devices that cannot access each other's memory."""
        source, target = command.source, command.target
        buffers = recording.resources.buffers
        between = Range(self._host, self.staged, source.length)
        self.staged += -(-source.length // ALIGNMENT) * ALIGNMENT
        return (
            Step(name, buffers[source.resource].device, Copy(source, between, command.label)),
            Step(name, buffers[target.resource].device, Copy(between, target, command.label)),
        )


def shared_dependencies(recording: Recording) -> Sequence[tuple[int, ...]]:
    """For each command the commands that it waits for; those of a layer share one tuple."""
    if recording.dependencies is not None:
        return recording.dependencies
    result: list[tuple[int, ...]] = []
    before: tuple[int, ...] = ()
    for layer in recording.layers:
        result += [before] * len(layer)
        before = tuple(layer)
    return result
