"""What every drawing shows: the nodes by name, and what a command says for itself, as lines of plain text."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.commands import Command, Copy, Dispatch, Fill, Location, Update
from hipgraph_cb.recording.dependencies import CommandNode, JoinPolicy, PlannedNode

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

SHOWN_BYTES = 16
"""Data is shown up to this many bytes: enough for a vector argument, short enough for a node."""

_FORMATS = {
    "char": "b",
    "signed char": "b",
    "uchar": "B",
    "unsigned char": "B",
    "short": "h",
    "ushort": "H",
    "unsigned short": "H",
    "int": "i",
    "uint": "I",
    "unsigned int": "I",
    "long": "q",
    "ulong": "Q",
    "unsigned long": "Q",
    "half": "e",
    "float": "f",
    "double": "d",
}


def named_nodes(recording: Recording, join: JoinPolicy) -> Iterator[tuple[str, PlannedNode, list[str]]]:
    """The nodes of the plan in order: name (`c` and the command's index, or `j` and a number), node, dependencies."""
    names: list[str] = []
    joins = 0
    for node in recording.plan(join):
        if isinstance(node, CommandNode):
            names.append(f"c{node.command}")
        else:
            names.append(f"j{joins}")
            joins += 1
        yield names[-1], node, [names[dependency] for dependency in node.dependencies]


def describe(recording: Recording, index: int) -> list[str]:
    """The lines for one command: what it is, its label, what it works on."""
    command = recording[index]
    head = f"{index} {title(command)}"
    label = [] if command.label is None else [command.label]
    return [head, *label, *_details(recording, command)]


def title(command: Command) -> str:
    """The verb; for a dispatch the kernel too."""
    if isinstance(command, Dispatch):
        return f"dispatch {command.export}"
    return {Fill: "fill", Update: "update", Copy: "copy"}[type(command)]


def _details(recording: Recording, command: Command) -> list[str]:
    if isinstance(command, Fill):
        return [recording.describe_place(command.target), f"pattern {data(command.pattern)}"]
    if isinstance(command, Update):
        return [recording.describe_place(command.target), f"data {data(command.data)}"]
    if isinstance(command, Copy):
        return [f"from {recording.describe_place(command.source)}", f"to {recording.describe_place(command.target)}"]
    shape = f"{_dimensions(command.workgroup_count)} workgroups of {_dimensions(command.workgroup_size)}"
    lds = [f"{command.dynamic_lds} bytes of dynamic LDS"] if command.dynamic_lds else []
    return [shape, *lds, *arguments(recording, command)]


def data(value: bytes) -> str:
    """Bytes in the order in which they lie in memory."""
    shown = value[:SHOWN_BYTES].hex(" ")
    return shown if len(value) <= SHOWN_BYTES else f"{shown} ... ({len(value)} bytes)"


def arguments(recording: Recording, command: Dispatch) -> list[str]:
    """A line per parameter of the kernel: its label and what it is given."""
    layout = recording.resources.executables[command.executable].verified.exports[command.export].layout
    pointers = dict(command.pointers)
    return [
        f"{parameter.label} = {_argument(recording, parameter, command.kernarg, pointers)}"
        for parameter in layout.parameters
    ]


def _argument(recording: Recording, parameter: Any, kernarg: bytes, pointers: dict[int, Location]) -> str:
    if parameter.offset in pointers:
        return recording.describe_place(pointers[parameter.offset])
    raw = kernarg[parameter.offset : parameter.offset + parameter.size]
    if parameter.kind.name == "POINTER":
        return "null"
    form = _FORMATS.get(parameter.type_name or "")
    if form is not None and struct.calcsize(form) == len(raw):
        return str(struct.unpack(f"<{form}", raw)[0])
    return data(raw) if len(raw) > 8 else f"0x{int.from_bytes(raw, 'little'):0{2 * len(raw)}x}"


def _dimensions(values: tuple[int, int, int]) -> str:
    return " x ".join(map(str, values))
