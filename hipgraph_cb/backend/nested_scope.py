"""A recording as a part of a program: the outermost, or one that a command of another scope runs."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, cast

from hipgraph_cb.cached import cached_property
from hipgraph_cb.recording.commands import type_of
from hipgraph_cb.recording.commands.execute import ExecuteCommands, substitute_any
from hipgraph_cb.recording.events import EventStates, nested_in

if TYPE_CHECKING:
    from hipgraph_cb.recording.command_table import CommandTable
    from hipgraph_cb.recording.commands import Place
    from hipgraph_cb.recording.recording import Recording


class NestedScope:
    """Both backends take nested recordings apart, and see all commands in terms of the outermost recording.

    Args:
        signalled: the events that this program has signalled before.

    Attributes:
        outer, command: the command that runs it, by its scope and index; None and 0 for the outermost.
        table: its commands, with places of the outermost recording.
        signalled: the events that this program has signalled before.
    """

    def __init__(
        self,
        recording: Recording,
        outer: NestedScope | None = None,
        command: int = 0,
        signalled: Collection[int] = (),
    ) -> None:
        self.recording = recording
        self.outer = outer
        self.command = command
        self.signalled = frozenset(signalled)

    def nested(self, index: int, signalled: Collection[int] | None = None) -> NestedScope:
        """The scope of the recording that a command runs.

        Args:
            signalled: the events that this program signals before it; None works them out.
        """
        command = cast("ExecuteCommands", self.recording[index])
        recording = self.recording.resources.recordings[command.recording].recording
        return NestedScope(recording, self, index, self.signalled_before(index) if signalled is None else signalled)

    @cached_property
    def table(self) -> CommandTable:
        own = self.recording.table
        if self.outer is None:
            return own
        command = cast("ExecuteCommands", self.outer.table[self.command])

        def at(place: Place) -> Place:
            return substitute_any(command, place)

        return own.with_places(own.places.replaced(at))

    def where(self, index: int) -> str:
        """How messages call a command, from the outside in."""
        own = self.recording.where(index)
        return own if self.outer is None else f"{self.outer.where(self.command)}, {own}"

    @property
    def outermost_command(self) -> int | None:
        """The command of the outermost recording that runs this one; None for the outermost itself."""
        if self.outer is None:
            return None
        outer = self.outer.outermost_command
        return self.command if outer is None else outer

    def signalled_before(self, index: int) -> frozenset[int]:
        """The events that this program signals before a command that waits or nests, and has not reset since."""
        return self._signalled_before.get(index, self.signalled)

    @cached_property
    def _signalled_before(self) -> dict[int, frozenset[int]]:
        if not self.recording.resources.events:
            return {}
        states = EventStates()
        states.outcomes.update(dict.fromkeys(self.signalled, True))
        result: dict[int, frozenset[int]] = {}
        for index, command in enumerate(self.recording):
            nested = nested_in(self.recording, command)
            if nested is not None or type_of(command).is_order:
                result[index] = signalled_in(states)
            states.enter(command, nested)
        return result


def signalled_in(states: EventStates) -> frozenset[int]:
    """The events that are signalled at this point."""
    return frozenset(event for event, is_signalled in states.outcomes.items() if is_signalled)
