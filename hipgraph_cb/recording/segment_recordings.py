"""The segments of a recording as recordings of their own, which wait for each other through events."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hipgraph_cb.recording.commands import Command, SignalEvent, WaitEvents
from hipgraph_cb.recording.groups import Group
from hipgraph_cb.recording.place_table import BUFFER, KIND_BITS
from hipgraph_cb.recording.recording import Recording
from hipgraph_cb.recording.resources import BufferEntry, EventEntry, ResourceTable

if TYPE_CHECKING:
    from hipgraph_cb.recording.command_table import CommandTable
    from hipgraph_cb.recording.segments import Segment
    from hipgraph_cb.recording.steps import Step, Steps


class SegmentRecordings:
    """Makes them.

    A segment waits at its start for the events of those that it needs, and signals its own event at its end.

    Args:
        recording: the whole.
        steps: what its devices do.
        segments: of the steps.
        bound: the live objects of its resources, of the events and of `added`.
        events: for each segment the id of its event.
        added: a buffer that the steps use besides.
    """

    def __init__(
        self,
        recording: Recording,
        steps: Steps,
        segments: Sequence[Segment],
        bound: Mapping[int, object],
        events: Sequence[int],
        added: BufferEntry | None = None,
    ) -> None:
        self._recording = recording
        self._steps = steps
        self._segments = segments
        self._bound = bound
        self._events = events
        self._buffers = dict(recording.resources.buffers)
        if added is not None:
            self._buffers[added.id] = added

    def recording(self, number: int) -> Recording:
        """What a segment does."""
        segment, whole = self._segments[number], self._recording
        table = whole.table.chosen(self._commands(number))
        indices = [self._steps.steps[position].command for position in segment.commands]
        before = 1 if segment.waits else 0
        return Recording(
            table,
            layer_starts=range(len(table)),
            resources=self._resources(table),
            binding_capacity=whole.binding_capacity,
            label=whole.label,
            groups=list(_groups(whole.groups, indices, before)),
            dependencies=self._dependencies(segment, before),
            numbers=[*indices[:before], *indices, indices[-1]],
            slot_names=whole.slot_names,
        )

    def joining(self, device: int, waits: Sequence[int]) -> Recording:
        """What makes a device wait for the ends of segments."""
        events = tuple(self._events[wait] for wait in waits)
        return event_recording(WaitEvents(events), self._bound, device, self._recording.label)

    def _commands(self, number: int) -> Iterator[int | Command]:
        segment = self._segments[number]
        if segment.waits:
            yield WaitEvents(tuple(self._events[wait] for wait in segment.waits))
        for position in segment.commands:
            step = self._steps.steps[position]
            yield step.command if step.instead is None else step.instead
        yield SignalEvent(self._events[number])

    def _dependencies(self, segment: Segment, before: int) -> tuple[tuple[int, ...], ...]:
        """Those within the segment; commands of others are done when it starts. Shared tuples stay shared."""
        local = {position: before + index for index, position in enumerate(segment.commands)}
        start = (0,) if before else ()
        known: dict[int, tuple[int, ...]] = {}
        result: list[tuple[int, ...]] = [()] * before
        ends = dict.fromkeys(local.values())
        for position in segment.commands:
            waits = self._steps.dependencies[position]
            inside = known.get(id(waits))
            if inside is None:
                inside = known[id(waits)] = tuple(local[wait] for wait in waits if wait in local) or start
                for wait in inside:
                    ends.pop(wait, None)
            result.append(inside)
        return (*result, tuple(ends))

    def _resources(self, table: CommandTable) -> ResourceTable:
        """What a table uses of all resources."""
        whole = self._recording.resources
        used = _Noted()
        for form in table.forms:
            form.with_ids(used)
        used.update({owner >> KIND_BITS: 0 for owner in table.places.owners[1:] if owner & _KIND == BUFFER})
        for id in [id for id in used if id in whole.recordings]:
            inner = whole.recordings[id].recording.resources
            for kind in (inner.buffers, inner.executables, inner.events, inner.recordings, inner.functions):
                used.update(dict.fromkeys(kind, 0))
        events = {id: EventEntry(id, None) for id in self._events if id in used}
        buffers = {id: entry for id, entry in self._buffers.items() if id in used}
        return ResourceTable(
            buffers=buffers,
            executables={id: entry for id, entry in whole.executables.items() if id in used},
            bound={id: value for id, value in self._bound.items() if id in used},
            events={**{id: entry for id, entry in whole.events.items() if id in used}, **events},
            recordings={id: entry for id, entry in whole.recordings.items() if id in used},
            functions={id: entry for id, entry in whole.functions.items() if id in used},
        )


_KIND = (1 << KIND_BITS) - 1


def event_recording(
    command: SignalEvent | WaitEvents, bound: Mapping[int, object], device: int, label: str | None
) -> Recording:
    """A recording that does one thing to events."""
    ids = command.events if isinstance(command, WaitEvents) else (command.event,)
    resources = ResourceTable(
        events={id: EventEntry(id, None, device) for id in ids}, bound={id: bound[id] for id in ids}
    )
    return Recording([command], resources=resources, dependencies=((),), label=label)


class _Noted(dict[int, int]):
    """As a mapping to other ids: notes which ids are looked up."""

    def __missing__(self, id: int) -> int:
        self[id] = id
        return id


def _groups(groups: Sequence[Group], indices: Sequence[int], before: int) -> Iterator[Group]:
    """The debug groups round the commands with these indices, the first of which is at position `before`."""
    for group in groups:
        start, stop = bisect_left(indices, group.start), bisect_left(indices, group.stop)
        if start < stop:
            yield group._replace(start=before + start, stop=before + stop)


def positions_of(steps: Sequence[Step], segments: Sequence[Segment]) -> dict[int, list[tuple[int, int]]]:
    """By command of the whole: the segments that do it, and where in each."""
    result: dict[int, list[tuple[int, int]]] = {}
    for number, segment in enumerate(segments):
        for index, position in enumerate(segment.commands, start=1 if segment.waits else 0):
            result.setdefault(steps[position].command, []).append((number, index))
    return result
