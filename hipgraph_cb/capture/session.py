"""A capture on a device: its buffers, code and program, to be filled, replayed and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hipgraph_cb.capture.expected import Difference
from hipgraph_cb.capture.memory import Key, check_size, name
from hipgraph_cb.errors import NotFoundError
from hipgraph_cb.recording.checking import check_recording
from hipgraph_cb.recording.number_types import value_of
from hipgraph_cb.recording.recording import with_resources
from hipgraph_cb.recording.resources import HOST, TRANSIENT, Slot

if TYPE_CHECKING:
    from hipgraph_cb.capture.capture import Capture
    from hipgraph_cb.group.device_group import DeviceGroup
    from hipgraph_cb.recording.outputs import Check
    from hipgraph_cb.recording.profile import Profile
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.recording.resources import ExecutableEntry
    from hipgraph_cb.recording.slot_uses import SlotUse
    from hipgraph_cb.runtime.buffer import Buffer
    from hipgraph_cb.runtime.device import Device
    from hipgraph_cb.runtime.executable import Executable
    from hipgraph_cb.runtime.program import Program

CHUNK = 1 << 24
"""Bytes of zeros that are written at once."""


def bind(recording: Recording, device: Device | DeviceGroup) -> Recording:
    """The recording over new buffers and executables of a device, every dispatch checked against its limits.

    The contents of the buffers are those of fresh memory. The recording holds what was made.

    Args:
        device: a group gives each resource its own device; a single one runs all.

    Raises:
        NotFoundError: a group of fewer devices than the recording names.
        HipGraphError: code for another device, a dispatch beyond the device's limits, or no memory left.
    """
    resources = recording.resources
    devices = _by_number(device, 1 + max(resources.devices, default=0))
    for each in dict.fromkeys(devices):
        check_recording(recording, each.limits)
    bound: dict[int, Any] = {}
    try:
        for executable in resources.executables.values():
            bound[executable.id] = _load(devices[executable.device], executable)
        for buffer in resources.buffers.values():
            if buffer.memory == TRANSIENT:
                continue  # a program has its own
            owner = devices[buffer.device]
            allocate = owner.host_buffer if buffer.memory == HOST else owner.allocate
            bound[buffer.id] = allocate(buffer.size, buffer.label)
        for event in resources.events.values():
            bound[event.id] = devices[event.device].event(event.label)
    except BaseException:
        _close(bound)
        raise
    return with_resources(recording, replace(resources, bound=bound))


def _load(device: Device, entry: ExecutableEntry) -> Executable:
    return device.load(entry.verified.source, entry.label, constants=entry.verified.constants)


def _by_number(device: Device | DeviceGroup, count: int) -> Sequence[Device]:
    if not isinstance(device, Sequence):
        return [device] * count
    if len(device) < count:
        raise NotFoundError(
            "the recording is for more devices than there are",
            found=f"device {count - 1}, and {device.describe()}",
            allowed=f"a group of {count} or more, or a single device",
        )
    return list(device)[:count]


def fill(recording: Recording, contents: Mapping[Key, bytes]) -> None:
    """Give every buffer of a bound recording its stored contents, and zeros where none are stored."""
    for id in lasting_buffers(recording):
        write(recording.resources[id], contents.get(id))


def write(buffer: Buffer, contents: bytes | None) -> None:
    """Write a whole buffer: the contents, or zeros."""
    if contents is not None:
        buffer.write(contents)
        return
    zeros = bytes(min(CHUNK, buffer.size))
    for start in range(0, buffer.size, CHUNK):
        count = min(CHUNK, buffer.size - start)
        buffer.view(start, count).write(zeros[:count])


class Session:
    """A capture made ready on one device; a context manager that closes what it made.

    Args:
        capture: what to replay.
        device: where; or a group, whose devices the recording names by number.
        bindings: contents for slots, in place of those of the capture, and the numbers for those that hold one.

    Attributes:
        recording: of the capture, over live objects.
        slots: the buffer in each slot that holds memory.
        bindings: what a replay gives: these, and the numbers.

    Raises:
        NotFoundError: a slot that is used and has no contents.
        HipGraphError: see `bind`.
    """

    def __init__(
        self, capture: Capture, device: Device | DeviceGroup, bindings: Mapping[int, Any] | None = None
    ) -> None:
        self.device = device
        self.expected = capture.expected
        self._contents: dict[Key, bytes] = dict(capture.contents)
        numbers = _numbers(capture.recording, self._contents, bindings or {})
        self._contents.update({Slot(index): data for index, data in (bindings or {}).items() if index not in numbers})
        sizes = _slot_sizes(capture.recording, self._contents)
        with ExitStack() as stack:
            self.recording = bind(capture.recording, device)
            stack.callback(_close, self.recording.resources.bound)
            self.slots: dict[int, Buffer] = {}
            (first,) = _by_number(device, 1)
            for index, size in sizes.items():
                self.slots[index] = first.allocate(size, f"slot {index}")
                stack.callback(self.slots[index].close)
            self._undo = stack.pop_all()
        self.bindings: dict[int, Any] = {**self.slots, **numbers}
        self._program: Program | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the program, the buffers and the executables."""
        if self._program is not None:
            self._program.close()
        self._undo.close()

    @property
    def memory(self) -> dict[Key, Buffer]:
        """Every buffer, by its resource id or slot."""
        buffers: dict[Key, Buffer] = {id: self.recording.resources[id] for id in lasting_buffers(self.recording)}
        return {**buffers, **{Slot(index): buffer for index, buffer in self.slots.items()}}

    def restore(self) -> None:
        """Give all memory its stored contents, or zeros."""
        self.fill(self._contents)

    def fill(self, contents: Mapping[Key, bytes]) -> None:
        """Give all memory other contents, or zeros."""
        for key, buffer in self.memory.items():
            write(buffer, contents.get(key))

    def stored_contents(self) -> dict[Key, bytes]:
        """What `restore` writes."""
        return {key: self._contents.get(key, bytes(buffer.size)) for key, buffer in self.memory.items()}

    @property
    def program(self) -> Program:
        """All commands; made when it is first used."""
        if self._program is None:
            self._program = self.device.program(self.recording)
        return self._program

    def replay(self, check: Check | None = None) -> None:
        """Replay all of it once and wait; with a `check`, watch it. See `Program.replay`."""
        self._run(self.program, check)

    def profile(self, repeats: int) -> Profile:
        """Replay with every command timed. See `Program.profile`."""
        return self.program.profile(repeats, bindings=self.bindings or None)

    def replay_commands(self, recording: Recording) -> None:
        """Replay other commands over the same resources and slots, and wait."""
        with self.device.program(recording, resources=self._transients) as program:
            self._run(program)

    @cached_property
    def _transients(self) -> dict[int | str, Buffer]:
        """Buffers that keep between programs of parts what transient buffers hold."""
        buffers = self.recording.resources.buffers
        made: dict[int | str, Buffer] = {}
        devices = _by_number(self.device, 1 + max(self.recording.resources.devices, default=0))
        for id in sorted(buffers.keys() - set(lasting_buffers(self.recording))):
            made[id] = devices[buffers[id].device].allocate(buffers[id].size, buffers[id].label)
            self._undo.callback(made[id].close)
        return made

    def _run(self, program: Program, check: Check | None = None) -> None:
        used = {index for index, use in enumerate(program.recording.slots) if use.commands}
        bindings = {index: value for index, value in self.bindings.items() if index in used}
        program.replay(bindings=bindings or None, check=check)
        self.device.synchronize()

    def differences(self) -> Iterator[tuple[str, Difference]]:
        """The buffers whose contents are not what the capture expects."""
        memory = self.memory
        for key, expected in self.expected.items():
            difference = expected.difference(memory[key].to_host())
            if difference is not None:
                yield name(self.recording, key), difference

    def contents(self) -> dict[Key, bytes]:
        """What all memory holds now."""
        return {key: buffer.to_host().tobytes() for key, buffer in self.memory.items()}


def _numbers(recording: Recording, contents: Mapping[Key, bytes], given: Mapping[int, Any]) -> dict[int, Any]:
    """The number for each slot that holds one: given, or stored."""
    numbers = {}
    for index, use in enumerate(recording.slots):
        data = contents.get(Slot(index))
        if use.type is not None and index in given:
            numbers[index] = given[index]
        elif use.type is not None and data is not None:
            numbers[index] = value_of(int.from_bytes(data, "little"), use.type)
        elif use.type is not None:
            raise _nothing_bound(recording, index, use)
    return numbers


def _slot_sizes(recording: Recording, contents: Mapping[Key, bytes]) -> dict[int, int]:
    """The bytes of the buffer of each slot that holds memory: those of its contents."""
    sizes = {}
    for index, use in enumerate(recording.slots):
        data = contents.get(Slot(index))
        if data is not None and use.type is None:
            check_size(recording, Slot(index), len(data))
            sizes[index] = len(data)
        elif use.commands and use.type is None:
            raise _nothing_bound(recording, index, use)
    return sizes


def _nothing_bound(recording: Recording, index: int, use: SlotUse) -> NotFoundError:
    role = f", as {use.role}" if use.role else ""
    name = recording.slot_names.get(index, index)
    way = f"--bind {name}={'VALUE' if use.type else 'FILE'}"
    return NotFoundError(
        f"nothing is bound to {recording.describe_slot(index)}",
        where=f"first used by {recording.where(use.commands[0])}{role}",
        allowed=f"a number of type {use.type}" if use.type else f"contents of {max(use.end, 1)} bytes or more",
        next_step=f"give it: {way}"
        if use.type
        else f"give them: {way}, or save the recording with contents={{Slot({index}): ...}}",
    )


def lasting_buffers(recording: Recording) -> list[int]:
    """The ids of the buffers that are there before and after a replay."""
    return [id for id, entry in recording.resources.buffers.items() if entry.memory != TRANSIENT]


def _close(bound: Mapping[int, Any]) -> None:
    for value in bound.values():
        value.close()
