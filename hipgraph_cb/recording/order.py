"""Who waits for whom where barriers alone do not say it: with events, and with dependencies inferred from accesses.

A signal waits for everything before it, and everything after a wait waits for the wait, which waits for the signals.
What stands between a signal and its wait is ordered with neither. The recording is read once, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from hipgraph_cb.recording.commands import Collectives, Command, ExecuteCommands, ResetEvent, SignalEvent, WaitEvents

if TYPE_CHECKING:
    from hipgraph_cb.recording.dependencies import Dependencies
    from hipgraph_cb.recording.recording import Recording

Waits = tuple[int, ...]


class Order:
    """The order so far: what every further command waits for, and which commands nothing waits for yet."""

    def __init__(self) -> None:
        self._next = 0
        self._base: Waits = ()  # every command from `_base_from` on waits for these
        self._base_from = 0
        self._ends: dict[int, None] = {}  # in order; nothing waits for them yet
        self._waited_for: Waits = ()
        self._signals: dict[int, int] = {}
        self._uses: dict[int, list[int]] = {}

    def barrier(self) -> None:
        """Every further command waits for every command so far."""
        self._base, self._base_from = tuple(self._ends), self._next

    def enter(self, command: Command, events: Collection[int] = (), conflicts: Collection[int] = ()) -> Waits:
        """The commands that the next command waits for, ascending; what is implied by waiting may be left out.

        Args:
            events: those that a nested recording waits for from outside.
            conflicts: commands that it must wait for besides.
        """
        if isinstance(command, SignalEvent):
            self._signals[command.event] = self._next
            return self._add(self._used([command.event], tuple(self._ends)))
        if isinstance(command, ResetEvent):
            self._signals.pop(command.event, None)
            waits = tuple(self._uses.pop(command.event, ()))
            self._next += 1  # nothing ever waits for a reset: it does nothing on the device
            return waits
        if isinstance(command, WaitEvents):
            waits = self._add(self._used(command.events, self._with_base(self._signals_of(command.events))))
            self._base_from = self._next - 1
            self._base = (self._base_from,)
            return waits
        return self._add(self._with_base({*conflicts, *self._signals_of(events)}))

    def signalled_by_nested(self, index: int, events: Collection[int]) -> None:
        """Note the events that the nested recording of a command leaves signalled."""
        for event in events:
            self._signals[event] = index

    def _signals_of(self, events: Collection[int]) -> set[int]:
        return {self._signals[event] for event in events if event in self._signals}

    def _used(self, events: Collection[int], waits: Waits) -> Waits:
        for event in events:
            self._uses.setdefault(event, []).append(self._next)
        return waits

    def _with_base(self, waits: Collection[int]) -> Waits:
        """What a command of its own account waits for, and the base unless that is implied."""
        if not waits:
            return self._base
        if any(wait >= self._base_from for wait in waits):
            return tuple(sorted(waits))
        return tuple(sorted({*waits, *self._base}))

    def _add(self, waits: Waits) -> Waits:
        if waits is not self._waited_for:
            for wait in waits:
                self._ends.pop(wait, None)
            self._waited_for = waits
        self._ends[self._next] = None
        self._next += 1
        return waits


class _Collectives:
    """The order of the operations over each channel, which has to be the same on every rank."""

    def __init__(self, recording: Recording) -> None:
        self._recordings = recording.resources.recordings
        self._last: dict[int, int] = {}

    def before(self, command: Command, index: int) -> set[int]:
        """The commands with the operations before those of a command, which is the next one."""
        channels: Collection[int] = ()
        if isinstance(command, Collectives):
            channels = (command.channel,)
        elif isinstance(command, ExecuteCommands):
            channels = self._recordings[command.recording].recording.resources.channels
        found = {self._last[channel] for channel in channels if channel in self._last}
        self._last.update(dict.fromkeys(channels, index))
        return found


def dependencies_of(recording: Recording, conflicts_of: Callable[[int, bool], Collection[int]] | None) -> Dependencies:
    """For each command the earlier commands it waits for.

    Args:
        conflicts_of: tells whom a command must wait for besides; it gets the index, and whether a barrier stands
            before it.
    """
    order = Order()
    starts = frozenset(recording.layer_starts[1:])
    recordings = recording.resources.recordings
    collectives = _Collectives(recording)
    result = []
    for index, command in enumerate(recording):
        is_behind_barrier = index in starts
        if is_behind_barrier:
            order.barrier()
        conflicts = () if conflicts_of is None else conflicts_of(index, is_behind_barrier)
        if recording.resources.channels:
            conflicts = {*conflicts, *collectives.before(command, index)}
        if isinstance(command, ExecuteCommands):
            use = recordings[command.recording].recording._event_use
            result.append(order.enter(command, use.awaited, conflicts))
            order.signalled_by_nested(index, [event for event, signalled in use.outcomes.items() if signalled])
        else:
            result.append(order.enter(command, (), conflicts))
    return tuple(result)
