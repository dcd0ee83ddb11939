"""A recording as JSON, for tools. The layout has a version; within one version, fields are only added.

Bytes are hexadecimal, in the order in which they lie in memory. Places are `{"buffer": id, "offset", "length"}` or
`{"slot": index, "offset", "length"}`, with a length of null where the binding table sets the end. Nested recordings
stand under "recordings", whole, with the resource ids of the outermost one; "bindings" says what their slots are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hipgraph_cb.export.describe import arguments
from hipgraph_cb.recording.commands import (
    VERBS,
    Command,
    Copy,
    Dispatch,
    DispatchIndirect,
    ExecuteCommands,
    Fill,
    Location,
    SlotRange,
    Update,
    WaitEvents,
)
from hipgraph_cb.recording.formats import TextFormat
from hipgraph_cb.recording.validation import integer

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

JSON_FORMAT = "hipgraph_cb recording"
VERSION = 1
LARGEST_INDENT = 64


def to_json(recording: Recording, *, indent: int | None = 2) -> str:
    """The recording as one JSON object, in plain ASCII."""
    if indent is not None:
        integer(indent, "to_json: indent", largest=LARGEST_INDENT)
    return json.dumps(as_object(recording), indent=indent, ensure_ascii=True) + "\n"


def as_object(recording: Recording) -> dict[str, Any]:
    """The same as Python dictionaries and lists."""
    resources = recording.resources
    return {
        "format": JSON_FORMAT,
        "version": VERSION,
        "label": recording.label,
        "binding_capacity": recording.binding_capacity,
        "buffers": [entry._asdict() for entry in resources.buffers.values()],
        "executables": [
            {"id": entry.id, "label": entry.label, "sha256": entry.content_hash}
            for entry in resources.executables.values()
        ],
        "events": [entry._asdict() for entry in resources.events.values()],
        "recordings": [
            {"id": entry.id, "label": entry.label, "recording": as_object(entry.recording)}
            for entry in resources.recordings.values()
        ],
        "commands": [_command(recording, command) for command in recording],
        "layers": [list(layer) for layer in recording.layers],
        "dependencies": None if recording.dependencies is None else [list(waits) for waits in recording.dependencies],
        "groups": [group._asdict() for group in recording.groups],
    }


def _command(recording: Recording, command: Command) -> dict[str, Any]:
    common = {"kind": VERBS[type(command)].removesuffix("_buffer"), "label": command.label}
    if isinstance(command, Fill):
        return {**common, "target": _place(command.target), "pattern": command.pattern.hex()}
    if isinstance(command, Update):
        return {**common, "target": _place(command.target), "data": command.data.hex()}
    if isinstance(command, Copy):
        return {**common, "source": _place(command.source), "target": _place(command.target)}
    if isinstance(command, (Dispatch, DispatchIndirect)):
        return {**common, **_dispatch(recording, command)}
    if isinstance(command, ExecuteCommands):
        bindings = [None if place is None else _place(place) for place in command.bindings]
        return {**common, "recording": command.recording, "bindings": bindings}
    if isinstance(command, WaitEvents):
        return {**common, "events": list(command.events)}
    return {**common, "event": command.event}


def _dispatch(recording: Recording, command: Dispatch | DispatchIndirect) -> dict[str, Any]:
    return {
        "executable": command.executable,
        "export": command.export,
        "workgroup_count": list(command.workgroup_count)
        if isinstance(command, Dispatch)
        else _place(command.workgroup_count),
        "workgroup_size": list(command.workgroup_size),
        "dynamic_lds": command.dynamic_lds,
        "kernarg": command.kernarg.hex(),
        "pointers": [{"at": offset, **_place(place)} for offset, place in command.pointers],
        "accesses": [{**_place(place), "reads": reads, "writes": writes} for place, reads, writes in command.accesses],
        "arguments": arguments(recording, command),
    }


def _place(place: Location) -> dict[str, int | None]:
    name = "slot" if isinstance(place, SlotRange) else "buffer"
    return {name: place[0], "offset": place.offset, "length": place.length}


FORMAT = TextFormat("json", "everything, for tools", to_json)
