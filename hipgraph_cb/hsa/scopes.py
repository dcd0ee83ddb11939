"""Recordings within recordings, as the lowering walks through them: what stands for their slots, and known signals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from hipgraph_cb.errors import InternalError
from hipgraph_cb.hsa.packet_template import Origin
from hipgraph_cb.recording.commands import Copy, ExecuteCommands, Fill, Location, Range, SlotRange, Update, WaitEvents
from hipgraph_cb.recording.events import EventStates, nested_in
from hipgraph_cb.recording.recording import Recording

Transfer = Fill | Update | Copy


class Scope:
    """The outermost recording, or one that a command of another scope runs. Nested recordings become packets in place.

    Args:
        bindings: what stands for the slots of a nested recording; None for the outermost, whose slots replays bind.
        signalled: the events that this program has signalled before.

    Attributes:
        outer: the command that runs it.
    """

    def __init__(
        self,
        recording: Recording,
        outer: Origin | None = None,
        bindings: tuple[Location | None, ...] | None = None,
        signalled: Collection[int] = (),
    ) -> None:
        self.recording = recording
        self.outer = outer
        self._bindings = bindings
        self._signalled = signalled

    def nested(self, command: ExecuteCommands, origin: Origin) -> Scope:
        """The scope of the recording that a command runs."""
        recording = self.recording.resources.recordings[command.recording].recording
        bindings = tuple(None if place is None else self.place(place) for place in command.bindings)
        return Scope(recording, origin, bindings, self.signalled_before(origin.command))

    def place(self, place: Location) -> Location:
        """A place in terms of the outermost recording."""
        if self._bindings is None or isinstance(place, Range):
            return place
        outer = self._bindings[place.slot]
        if outer is None:
            raise InternalError("program: a nested recording uses a slot that nothing stands in")
        rest = None if outer.length is None else outer.length - place.offset
        length = rest if place.length is None else place.length
        if isinstance(outer, Range):
            return Range(outer.resource, outer.offset + place.offset, length or 0)
        return SlotRange(outer.slot, outer.offset + place.offset, length)

    def placed(self, command: Transfer) -> Transfer:
        """A fill, update or copy in terms of the outermost recording."""
        if self._bindings is None:
            return command
        if isinstance(command, Copy):
            return command._replace(source=self.place(command.source), target=self.place(command.target))
        return command._replace(target=self.place(command.target))

    def signalled_before(self, index: int) -> Collection[int]:
        """The events that this program signals before the command with this index, and has not reset since."""
        return self._signalled_by_wait.get(index, self._signalled)

    @cached_property
    def _signalled_by_wait(self) -> Mapping[int, Collection[int]]:
        """By the index of each command that waits or nests."""
        if not self.recording.resources.events:
            return {}
        states = EventStates()
        states.outcomes.update(dict.fromkeys(self._signalled, True))
        result: dict[int, Collection[int]] = {}
        for index, command in enumerate(self.recording.commands):
            if isinstance(command, (WaitEvents, ExecuteCommands)):
                result[index] = frozenset(event for event, signalled in states.outcomes.items() if signalled)
            states.enter(command, nested_in(self.recording, command))
        return result
