"""What a recording does to events, seen from outside: which it waits for, and how it leaves them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError
from hipgraph_cb.recording.commands import ExecuteCommands, ResetEvent, SignalEvent, WaitEvents
from hipgraph_cb.recording.resource_builder import ResourceBuilder
from hipgraph_cb.recording.validation import text

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import Command
    from hipgraph_cb.recording.recording import Recording


class EventUse(NamedTuple):
    """What a recording does to events.

    Attributes:
        awaited: events that must have been signalled before, because a wait stands before every signal of them.
        outcomes: for each event that it signals or resets whether it leaves it signalled.
    """

    awaited: frozenset[int] = frozenset()
    outcomes: dict[int, bool] = {}  # noqa: RUF012 - never written to


NO_EVENTS = EventUse()


class EventStates:
    """The states of the events while a recording is read in order."""

    def __init__(self) -> None:
        self.awaited: set[int] = set()
        self.outcomes: dict[int, bool] = {}

    def unsignalled(self, command: Command, nested: Recording | None = None) -> list[int]:
        """The events that a command waits for in vain: this recording has reset them and not signalled them since."""
        waited: Iterable[int] = ()
        if isinstance(command, WaitEvents):
            waited = command.events
        elif nested is not None:
            waited = sorted(nested._event_use.awaited)
        return [event for event in waited if self.outcomes.get(event) is False]

    def enter(self, command: Command, nested: Recording | None = None) -> None:
        """Note what a command does."""
        if isinstance(command, SignalEvent):
            self.outcomes[command.event] = True
        elif isinstance(command, ResetEvent):
            self.outcomes[command.event] = False
        elif isinstance(command, WaitEvents):
            self._wait(command.events)
        elif nested is not None:
            self._wait(nested._event_use.awaited)
            self.outcomes.update(nested._event_use.outcomes)

    def _wait(self, events: Iterable[int]) -> None:
        self.awaited.update(event for event in events if event not in self.outcomes)


def event_use(recording: Recording) -> EventUse:
    """What a recording does to events, nested recordings included."""
    states = EventStates()
    for command in recording:
        states.enter(command, nested_in(recording, command))
    return EventUse(frozenset(states.awaited), states.outcomes)


def nested_in(recording: Recording, command: Command) -> Recording | None:
    """The recording that a command runs, if it is one that does."""
    if isinstance(command, ExecuteCommands):
        return recording.resources.recordings[command.recording].recording
    return None


def make_signal(resources: ResourceBuilder, event: object, label: str | None) -> SignalEvent:
    """See `CommandBuffer.signal_event`."""
    text(label)
    return SignalEvent(resources.event(event), label)


def make_reset(resources: ResourceBuilder, event: object, label: str | None) -> ResetEvent:
    """See `CommandBuffer.reset_event`."""
    text(label)
    return ResetEvent(resources.event(event), label)


def make_wait(resources: ResourceBuilder, events: object, label: str | None) -> WaitEvents | None:
    """See `CommandBuffer.wait_events`."""
    text(label)
    if not isinstance(events, (list, tuple)):
        raise InvalidArgumentError(
            "wait_events: not a list of events", found=type(events).__name__, allowed="a list or a tuple of events"
        )
    ids = dict.fromkeys(resources.event(event, f"entry {index}") for index, event in enumerate(events))
    return WaitEvents(tuple(ids), label) if ids else None


class Names(Protocol):
    """Whatever knows how messages call the resources."""

    def name(self, resource: int) -> str: ...


def refuse_unsignalled(resources: Names, events: Iterable[int], verb: str) -> None:
    """Refuse a wait for an event that this very recording has reset."""
    for event in events:
        raise FailedPreconditionError(
            f"{verb}: {resources.name(event)} was reset before and is not signalled again",
            next_step="signal it between the reset and the wait, or reset it after the wait",
        )
