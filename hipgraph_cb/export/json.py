"""A recording as JSON, for tools. The layout has a version; within one version, fields are only added.

Bytes are hexadecimal, in the order of memory. Places are `{"buffer": id, "offset", "length"}` or
`{"slot": index, "offset", "length"}`, with a length of null where the binding table sets the end. Numbers in slots are
`{"slot": index, "type"}`, those that a nested recording is given `{"value", "type"}`. Nested recordings
are under "recordings", whole, with the resource ids of the outermost one; "bindings" says what their slots are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.categories import names
from hipgraph_cb.recording.commands import Command, type_of
from hipgraph_cb.recording.commands.dispatch import arguments
from hipgraph_cb.recording.formats import TextFormat
from hipgraph_cb.recording.validation import integer

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.recording.resources import ExecutableEntry

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
        "executables": [_executable(entry) for entry in resources.executables.values()],
        "events": [entry._asdict() for entry in resources.events.values()],
        "recordings": [
            {"id": entry.id, "label": entry.label, "recording": as_object(entry.recording)}
            for entry in resources.recordings.values()
        ],
        "functions": [entry._asdict() for entry in resources.functions.values()],
        "channels": [entry._asdict() for entry in resources.channels.values()],
        "commands": [_command(recording, command) for command in recording],
        "layers": [list(layer) for layer in recording.layers],
        "dependencies": None if recording.dependencies is None else [list(waits) for waits in recording.dependencies],
        "groups": [group.as_row() for group in recording.groups],
        "one_shot": recording.one_shot,
        "categories": names(recording.categories),
        "slot_names": {str(slot): name for slot, name in recording.slot_names.items()},
    }


def _executable(entry: ExecutableEntry) -> dict[str, Any]:
    """Constants are in hexadecimal; "origins" says where kernels come from, as far as a wrapper knows it."""
    constants = {name: value.hex() for name, value in entry.verified.constants.items()}
    facts = {"id": entry.id, "label": entry.label, "sha256": entry.content_hash, "device": entry.device}
    return {**facts, "origins": dict(entry.verified.origins), "constants": constants}


def _command(recording: Recording, command: Command) -> dict[str, Any]:
    kind = type_of(command)
    row: dict[str, Any] = {"kind": kind.verb.removesuffix("_buffer"), "label": command.label}
    for (name, field), value in zip(kind.fields.items(), command, strict=True):
        row[name] = field.as_json(value)
    if kind.launches_kernel:
        row["arguments"] = arguments(recording, command)  # type: ignore[arg-type]
    return row


FORMAT = TextFormat("json", "everything, for tools", to_json)
