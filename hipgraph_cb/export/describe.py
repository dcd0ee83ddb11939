"""What every drawing shows: the nodes by name, and what a command says for itself, as lines of plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.recording.command_devices import DeviceChooser
from hipgraph_cb.recording.commands import Command, type_of
from hipgraph_cb.recording.dependencies import CommandNode, JoinPolicy, PlannedNode
from hipgraph_cb.recording.events import nested_in

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


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
    return [head, *label, *type_of(command).details(command, recording), *_device(recording, index)]


def _device(recording: Recording, index: int) -> list[str]:
    """Which device of a group runs a command, where peers access each other's memory; nothing for a single device."""
    if recording.resources.devices <= {0}:
        return []
    device = DeviceChooser(recording, lambda device, buffer: True).device_of(index)
    return ["on several devices" if device is None else f"on device {device}"]


def title(command: Command) -> str:
    """The verb; for a dispatch the kernel too."""
    kind = type_of(command)
    if kind.launches_kernel:
        return f"{kind.verb} {command.export}"  # type: ignore[union-attr]
    return kind.verb.removesuffix("_buffer")
