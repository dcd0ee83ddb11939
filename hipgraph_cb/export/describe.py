"""What every drawing shows: the nodes by name, and what a command says for itself, as lines of plain text."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.abi.c_types import C_TYPES
from hipgraph_cb.recording.commands import (
    VERBS,
    Command,
    Copy,
    Dispatch,
    DispatchIndirect,
    ExecuteCommands,
    Fill,
    Location,
    Update,
    WaitEvents,
)
from hipgraph_cb.recording.dependencies import CommandNode, JoinPolicy, PlannedNode
from hipgraph_cb.recording.events import nested_in

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

SHOWN_BYTES = 16
"""Data is shown up to this many bytes: enough for a vector argument, short enough for a node."""


class NestedEnd(NamedTuple):
    """Where all commands of a nested recording are done; whatever waits for it is drawn behind this."""

    command: int


def named_nodes(recording: Recording, join: JoinPolicy) -> Iterator[tuple[str, PlannedNode, list[str]]]:
    """The nodes of the plan in order: name (`c` and the command's index, or `j` and a number), node, dependencies.

    A nested recording is one node, the command that runs it.
    """
    names: list[str] = []
    joins = 0
    for node in recording.plan(join):
        if isinstance(node, CommandNode):
            names.append(f"c{node.command}")
        else:
            names.append(f"j{joins}")
            joins += 1
        yield names[-1], node, [names[dependency] for dependency in node.dependencies]


def all_nodes(
    recording: Recording, join: JoinPolicy, prefix: str = "", entry: Sequence[str] = ()
) -> Iterator[tuple[str, PlannedNode | NestedEnd, list[str]]]:
    """As `named_nodes`, with the nodes of nested recordings behind the command that runs them.

    Those of command 3 are `c3_c0`, `c3_c1`, ..., they wait for `c3`, and `c3_end` waits for them.

    Args:
        prefix: goes before every name.
        entry: what the nodes wait for that wait for nothing else.
    """
    ends: dict[str, str] = {}
    for plain, node, dependencies in named_nodes(recording, join):
        name = ends[plain] = prefix + plain
        yield name, node, [ends[dependency] for dependency in dependencies] or list(entry)
        nested = nested_in(recording, recording[node.command]) if isinstance(node, CommandNode) else None
        if nested is None or not isinstance(node, CommandNode):
            continue
        inside = list(all_nodes(nested, join, f"{name}_", [name]))
        yield from inside
        waited_for = {wait for _, _, waits in inside for wait in waits}
        ends[plain] = f"{name}_end"
        yield ends[plain], NestedEnd(node.command), [each for each, _, _ in inside if each not in waited_for]


def describe(recording: Recording, index: int) -> list[str]:
    """The lines for one command: what it is, its label, what it works on."""
    command = recording[index]
    head = f"{index} {title(command)}"
    label = [] if command.label is None else [command.label]
    return [head, *label, *_details(recording, command)]


def title(command: Command) -> str:
    """The verb; for a dispatch the kernel too."""
    if isinstance(command, (Dispatch, DispatchIndirect)):
        return f"{VERBS[type(command)]} {command.export}"
    return VERBS[type(command)].removesuffix("_buffer")


def _details(recording: Recording, command: Command) -> list[str]:
    if isinstance(command, Fill):
        return [recording.describe_place(command.target), f"pattern {data(command.pattern)}"]
    if isinstance(command, Update):
        return [recording.describe_place(command.target), f"data {data(command.data)}"]
    if isinstance(command, Copy):
        return [f"from {recording.describe_place(command.source)}", f"to {recording.describe_place(command.target)}"]
    if isinstance(command, ExecuteCommands):
        return [recording.resources.recordings[command.recording].name, *_bindings(recording, command)]
    if isinstance(command, (Dispatch, DispatchIndirect)):
        lds = [f"{command.dynamic_lds} bytes of dynamic LDS"] if command.dynamic_lds else []
        return [_shape(recording, command), *lds, *arguments(recording, command)]
    events = command.events if isinstance(command, WaitEvents) else (command.event,)
    return [", ".join(recording.resources.events[event].name for event in events)]


def _shape(recording: Recording, command: Dispatch | DispatchIndirect) -> str:
    size = _dimensions(command.workgroup_size)
    if isinstance(command, DispatchIndirect):
        return f"as many workgroups of {size} as {recording.describe_place(command.workgroup_count)} says"
    return f"{_dimensions(command.workgroup_count)} workgroups of {size}"


def _bindings(recording: Recording, command: ExecuteCommands) -> list[str]:
    return [
        f"slot {slot} = {recording.describe_place(place)}"
        for slot, place in enumerate(command.bindings)
        if place is not None
    ]


def data(value: bytes) -> str:
    """Bytes in the order in which they lie in memory."""
    shown = value[:SHOWN_BYTES].hex(" ")
    return shown if len(value) <= SHOWN_BYTES else f"{shown} ... ({len(value)} bytes)"


def arguments(recording: Recording, command: Dispatch | DispatchIndirect) -> list[str]:
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
    ctype = C_TYPES.get(parameter.type_name or "")
    if ctype is not None and ctype.size == len(raw):
        return str(struct.unpack(f"<{ctype.letter}", raw)[0])
    return data(raw) if len(raw) > 8 else f"0x{int.from_bytes(raw, 'little'):0{2 * len(raw)}x}"


def _dimensions(values: tuple[int, int, int]) -> str:
    return " x ".join(map(str, values))
