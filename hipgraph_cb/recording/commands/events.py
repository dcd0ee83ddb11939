"""Signals, resets and waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.recording.categories import CommandCategory
from hipgraph_cb.recording.commands.fields import EVENT, EVENTS, LABEL
from hipgraph_cb.recording.commands.places import same_type_only
from hipgraph_cb.recording.commands.types import CommandType, register

if TYPE_CHECKING:
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording


@same_type_only
class SignalEvent(NamedTuple):
    """Signal the event with this resource id once everything recorded before is done."""

    event: int
    label: str | None = None


@same_type_only
class ResetEvent(NamedTuple):
    """Make the event with this resource id count as not signalled again."""

    event: int
    label: str | None = None


@same_type_only
class WaitEvents(NamedTuple):
    """Everything recorded after waits until the events with these resource ids are signalled."""

    events: tuple[int, ...]
    label: str | None = None


def _check(command: SignalEvent | ResetEvent, checker: CommandChecker) -> None:
    checker.check_event(command)


def _check_wait(command: WaitEvents, checker: CommandChecker) -> None:
    checker.check_wait(command)


def _details(command: SignalEvent | ResetEvent, recording: Recording) -> list[str]:
    return [recording.resources.events[command.event].name]


def _wait_details(command: WaitEvents, recording: Recording) -> list[str]:
    return [", ".join(recording.resources.events[event].name for event in command.events)]


_EVENT = {"event": EVENT, "label": LABEL}
SIGNAL = register(
    CommandType(
        SignalEvent,
        "signal_event",
        "signal",
        _EVENT,
        check=_check,
        details=_details,
        is_order=True,
        category=CommandCategory.DISPATCH,
    )
)
RESET = register(
    CommandType(
        ResetEvent,
        "reset_event",
        "reset",
        _EVENT,
        check=_check,
        details=_details,
        is_order=True,
        category=CommandCategory.DISPATCH,
    )
)
WAIT = register(
    CommandType(
        WaitEvents,
        "wait_events",
        "wait",
        {"events": EVENTS, "label": LABEL},
        check=_check_wait,
        details=_wait_details,
        is_order=True,
        category=CommandCategory.DISPATCH,
    )
)
