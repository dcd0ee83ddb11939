"""A recording for a group as programs of its devices, in the order in which they are launched."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.recording.commands import SignalEvent, WaitEvents
from hipgraph_cb.recording.recording import with_resources
from hipgraph_cb.recording.resources import HOST, TRANSIENT, BufferEntry
from hipgraph_cb.recording.segment_recordings import SegmentRecordings, event_recording, positions_of
from hipgraph_cb.recording.segments import Segment, segments_of
from hipgraph_cb.recording.steps import Steps

if TYPE_CHECKING:
    from hipgraph_cb.group.device_group import DeviceGroup
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.options import ProgramOptions
    from hipgraph_cb.runtime.program import Program


class Part(NamedTuple):
    """A program of one member."""

    member: int
    program: Program


class Parts:
    """All programs of a recording.

    A replay launches `parts`; behind them, every member that takes part waits for the last work of the others. `forks`
    come first where the streams of the members have other work, so that each waits for that of the others.

    Args:
        objects: the live object of each resource, transient buffers not included.

    Attributes:
        members: those that take part: they run a command, or have a buffer that one uses.
        positions: by command the parts that run it, and where.

    Raises:
        FailedPreconditionError: a command that uses memory its device cannot access.
        The errors of `Device.program`.
    """

    def __init__(
        self, group: DeviceGroup, recording: Recording, objects: Mapping[int, Any], options: ProgramOptions
    ) -> None:
        self._group = group
        self._recording = recording
        self._options = options
        self._objects = dict(objects)
        self.parts: list[Part] = []
        self.forks: list[Part] = []
        self.positions: dict[int, list[tuple[int, int]]] = {}
        with ExitStack() as made:
            self._made = made
            self._add_transients()
            self._build()
            self._made = made.pop_all()

    def close(self) -> None:
        """Close the programs, and the events and memory between them; launches in flight go on."""
        self._made.close()

    def _build(self) -> None:
        recording = self._recording
        host = self._free_id()
        steps = Steps(recording, self._reaches, host)
        segments = segments_of([step.device for step in steps.steps], steps.dependencies)
        buffers = self._recording.resources.buffers.values()
        owning = (entry.device for entry in buffers if entry.memory != HOST)
        self.members = sorted({*(segment.device for segment in segments), *owning})
        self.positions = positions_of(steps.steps, segments)
        if len(self.members) < 2:
            number = self.members[0] if self.members else 0
            bound = replace(recording.resources, bound=self._objects)
            self._add(self.parts, number, with_resources(recording, bound))
            return
        staging = None
        if steps.staged:
            staging = BufferEntry(host, steps.staged, "copies between devices", HOST)
            self._objects[host] = self._own(self._group[0].host_buffer(steps.staged, staging.label))
        self._add_segments(steps, segments, host + 1, staging)
        self._add_forks(sorted({segment.device for segment in segments}))

    def _add_segments(self, steps: Steps, segments: list[Segment], first: int, staging: BufferEntry | None) -> None:
        events = range(first, first + len(segments))
        for id, segment in zip(events, segments, strict=True):
            self._objects[id] = self._own(self._group[segment.device].event())
        makes = SegmentRecordings(self._recording, steps, segments, self._objects, events, staging)
        for number, segment in enumerate(segments):
            self._add(self.parts, segment.device, makes.recording(number))
        last = {segment.device: number for number, segment in enumerate(segments)}
        for member in self.members:
            others = [number for device, number in last.items() if device != member]
            if others:
                self._add(self.parts, member, makes.joining(member, others))

    def _add_forks(self, running: list[int]) -> None:
        """Each member signals; those that run something wait for the others."""
        label = self._recording.label
        events = {member: self._own(self._group[member].event()) for member in self.members}
        for member in self.members:
            self._add(self.forks, member, event_recording(SignalEvent(member), events, member, label))
        for member in running:
            others = tuple(other for other in self.members if other != member)
            self._add(self.forks, member, event_recording(WaitEvents(others), events, member, label))

    def _add(self, parts: list[Part], member: int, recording: Recording) -> None:
        program = self._group[member]._make_program(recording, None, self._options)
        parts.append(Part(member, self._own(program)))

    def _own(self, made: Any) -> Any:
        self._made.callback(made.close)
        return made

    def _reaches(self, member: int, buffer: int) -> bool:
        device = self._group[member]
        if buffer in self._objects:
            return bool(device.accepts(self._objects[buffer]))
        owner = self._recording.resources.buffers[buffer].device  # of a transient buffer that the program will make
        return owner == member or device.can_access(self._group[owner])

    def _free_id(self) -> int:
        table = self._recording.resources
        kinds = (table.buffers, table.executables, table.events, table.recordings, table.functions)
        return 1 + max((id for kind in kinds for id in kind), default=-1)

    def _add_transients(self) -> None:
        """Transient memory of each device, shared as the order of the commands allows."""
        entries = [
            entry
            for entry in self._recording.resources.buffers.values()
            if entry.memory == TRANSIENT and entry.id not in self._objects
        ]
        if not entries or len(self._recording.resources.devices) == 1:
            return
        offsets, size = self._recording._transients
        arenas = {
            member: self._own(self._group[member].allocate(size, "transient buffers"))
            for member in sorted({entry.device for entry in entries})
        }
        for entry in entries:
            self._objects[entry.id] = arenas[entry.device].part(offsets[entry.id], entry.size, entry.label)
