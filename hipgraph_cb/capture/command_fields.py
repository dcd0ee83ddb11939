"""What a command consists of, one aspect at a time, to be compared with another command and shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hipgraph_cb.export.describe import arguments, data, title
from hipgraph_cb.recording.commands import (
    Command,
    Copy,
    Dispatch,
    DispatchIndirect,
    ExecuteCommands,
    Fill,
    Location,
    Range,
    Update,
    WaitEvents,
)
from hipgraph_cb.recording.recording import Recording

NESTED = "nested recording"


class Aspect(NamedTuple):
    """One thing about a command.

    Attributes:
        what: what it is, for people.
        value: what counts, without the id of a resource.
        resource: the id that counts besides, or None.
        text: the value, for people.
    """

    what: str
    value: object
    resource: int | None
    text: str


def aspects(recording: Recording, command: Command) -> list[Aspect]:
    """All aspects of a command but its label. Two commands with equal ones, ids mapped, do the same."""
    return list(_aspects(recording, command))


def summary(recording: Recording, command: Command) -> str:
    """A command in one line."""
    if isinstance(command, (Dispatch, DispatchIndirect)):
        return title(command)
    return f"{title(command)} " + ", ".join(aspect.text for aspect in _aspects(recording, command))


def _aspects(recording: Recording, command: Command) -> Iterator[Aspect]:
    if isinstance(command, Fill):
        yield _place(recording, "target", command.target)
        yield Aspect("pattern", command.pattern, None, data(command.pattern))
    elif isinstance(command, Update):
        yield _place(recording, "target", command.target)
        yield Aspect("data", command.data, None, data(command.data))
    elif isinstance(command, Copy):
        yield _place(recording, "source", command.source)
        yield _place(recording, "target", command.target)
    elif isinstance(command, (Dispatch, DispatchIndirect)):
        yield from _dispatch(recording, command)
    elif isinstance(command, ExecuteCommands):
        entry = recording.resources.recordings[command.recording]
        yield Aspect(NESTED, None, command.recording, entry.name)
        for slot, place in enumerate(command.bindings):
            if place is not None:
                yield _place(recording, f"slot {slot}", place)
    else:
        for event in command.events if isinstance(command, WaitEvents) else (command.event,):
            yield Aspect("event", None, event, recording.resources.events[event].name)


def _dispatch(recording: Recording, command: Dispatch | DispatchIndirect) -> Iterator[Aspect]:
    entry = recording.resources.executables[command.executable]
    yield Aspect("executable", None, command.executable, entry.name)
    count, size = command.workgroup_count, command.workgroup_size
    if isinstance(command, DispatchIndirect):
        yield _place(recording, "workgroup count", command.workgroup_count)
    else:
        yield Aspect("workgroup count", count, None, str(tuple(count)))
    yield Aspect("workgroup size", size, None, str(size))
    yield Aspect("dynamic LDS", command.dynamic_lds, None, f"{command.dynamic_lds} bytes")
    pointers = dict(command.pointers)
    parameters = entry.verified.export(command.export).layout.parameters
    for parameter, line in zip(parameters, arguments(recording, command), strict=True):
        text = line.removeprefix(f"{parameter.label} = ")
        if parameter.offset in pointers:
            yield _place(recording, parameter.label, pointers[parameter.offset])
        else:
            raw = command.kernarg[parameter.offset : parameter.offset + parameter.size]
            yield Aspect(parameter.label, raw, None, text)
    for place, reads, writes in command.accesses:
        word = " and ".join([*["reads"] * reads, *["writes"] * writes])
        row = _place(recording, f"declared access ({word})", place)
        yield row._replace(value=(row.value, reads, writes))


def _place(recording: Recording, what: str, place: Location) -> Aspect:
    text = recording.describe_place(place)
    if isinstance(place, Range):
        return Aspect(what, place[1:], place.resource, text)
    return Aspect(what, tuple(place), None, text)
