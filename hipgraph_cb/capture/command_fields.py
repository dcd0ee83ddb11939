"""What a command consists of, field by field, to be compared with another command and shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from hipgraph_cb.export.describe import title
from hipgraph_cb.recording.commands import (
    Command,
    Dispatch,
    KernelLaunch,
    Location,
    Operation,
    Place,
    Range,
    SlotNumber,
    SlotRange,
    type_of,
)
from hipgraph_cb.recording.commands.dispatch import arguments
from hipgraph_cb.recording.commands.values import data
from hipgraph_cb.recording.recording import Recording

NESTED = "nested recording"


class ComparedField(NamedTuple):
    """One field of a command, as it is compared and shown.

    Attributes:
        what: what it is, for people.
        value: what counts, without the id of a resource.
        resource: the id that counts too, or None.
        text: the value, for people.
    """

    what: str
    value: object
    resource: int | None
    text: str


def compared_fields(recording: Recording, command: Command) -> list[ComparedField]:
    """All fields of a command except its label. Two commands with equal ones, ids mapped, do the same."""
    return list(_compared_fields(recording, command))


def summary(recording: Recording, command: Command) -> str:
    """A command in one line."""
    if type_of(command).launches_kernel:
        return title(command)
    return f"{title(command)} " + ", ".join(field.text for field in _compared_fields(recording, command))


def _compared_fields(recording: Recording, command: Command) -> Iterator[ComparedField]:
    kind = type_of(command)
    if kind.launches_kernel:
        yield from _dispatch(recording, command)  # type: ignore[arg-type]
        return
    resources = recording.resources
    values: Iterable[Any] = command
    for (name, field), value in zip(kind.fields.items(), values, strict=True):
        if field.name == "place" or isinstance(value, SlotNumber):
            yield _place(recording, name, value)
        elif field.name == "bindings":
            yield from (
                _place(recording, f"slot {slot}", place) for slot, place in enumerate(value) if place is not None
            )
        elif field.name == "recording":
            yield ComparedField(NESTED, None, value, resources.recordings[value].name)
        elif field.name == "function":
            yield ComparedField("function", None, value, resources.functions[value].name)
        elif field.name == "channel":
            entry = resources.channels[value]
            yield ComparedField("channel", (entry.rank, entry.ranks), value, entry.name)
        elif field.name == "operations":
            yield from _operations(recording, value)
        elif field.name == "accesses":
            yield from _accesses(recording, value)
        elif field.name in ("event", "events"):
            for event in (value,) if field.name == "event" else value:
                yield ComparedField("event", None, event, resources.events[event].name)
        elif field.name != "label":
            yield ComparedField(name, value, None, data(value) if isinstance(value, bytes) else str(value))


def _dispatch(recording: Recording, command: KernelLaunch) -> Iterator[ComparedField]:
    entry = recording.resources.executables[command.executable]
    yield ComparedField("executable", None, command.executable, entry.name)
    count, size = command.workgroup_count, command.workgroup_size
    if isinstance(count, (Range, SlotRange)):
        yield _place(recording, "workgroup count", count)
    else:
        shown = (recording.describe_place(each) if isinstance(each, SlotNumber) else str(each) for each in count)
        yield ComparedField("workgroup count", count, None, f"({', '.join(shown)})")
    yield ComparedField("workgroup size", size, None, str(size))
    lds = command.dynamic_lds
    amount = recording.describe_place(lds) if isinstance(lds, SlotNumber) else lds
    yield ComparedField("dynamic LDS", lds, None, f"{amount} bytes")
    if isinstance(command, Dispatch):
        yield ComparedField("cooperative", command.cooperative, None, str(command.cooperative))
        yield ComparedField("priority", command.priority, None, str(command.priority))
    pointers = dict(command.pointers)
    parameters = entry.verified.export(command.export).layout.parameters
    for parameter, line in zip(parameters, arguments(recording, command), strict=True):
        text = line.removeprefix(f"{parameter.label} = ")
        if parameter.offset in pointers:
            yield _place(recording, parameter.label, pointers[parameter.offset])
        else:
            end = parameter.offset + parameter.size
            raw = command.kernarg[parameter.offset : end]
            numbers = tuple(row for row in command.numbers if parameter.offset <= row[0] < end)
            yield ComparedField(parameter.label, (raw, numbers) if numbers else raw, None, text)
    yield from _accesses(recording, command.accesses)


def _operations(recording: Recording, operations: Iterable[Operation]) -> Iterator[ComparedField]:
    for operation in operations:
        what = operation.collective
        yield ComparedField("operation", tuple(what), None, str(what))
        for name, place in (("source", operation.source), ("target", operation.target)):
            if place is not None:
                yield _place(recording, name, place)


def _accesses(recording: Recording, accesses: Iterable[tuple[Location, bool, bool]]) -> Iterator[ComparedField]:
    for place, reads, writes in accesses:
        word = " and ".join([*["reads"] * reads, *["writes"] * writes])
        row = _place(recording, f"declared access ({word})", place)
        yield row._replace(value=(row.value, reads, writes))


def _place(recording: Recording, what: str, place: Place) -> ComparedField:
    text = recording.describe_place(place)
    if isinstance(place, Range):
        return ComparedField(what, place[1:], place.resource, text)
    return ComparedField(what, tuple(place), None, text)
