"""A recording in Graphviz's language.

Node `c3` is command 3, so the names stay the same whatever the join policy is; joins are `j0`, `j1`, ... Commands of
one layer share a rank, those of a debug group a box. The commands of a nested recording are in a box of their own:
those of command 3 are `c3_c0`, `c3_c1`, ..., they start behind `c3`, and what waits for them hangs on `c3_end`.
Edges of events are dotted, inferred ones dashed; a red line joins two commands that certainly miss a barrier.
Labels are plain quoted text: what users and code objects put into names cannot break out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hipgraph_cb.export.describe import NestedEnd, all_nodes, describe
from hipgraph_cb.export.edges import EdgeKind, drawn_hazards, edge_kind
from hipgraph_cb.recording.commands import Copy, Dispatch, DispatchIndirect, Fill, Update
from hipgraph_cb.recording.dependencies import JoinNode, JoinPolicy
from hipgraph_cb.recording.events import nested_in
from hipgraph_cb.recording.formats import TextFormat
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

_COLOURS = {Fill: "#e8f0d8", Update: "#d8e8f0", Copy: "#f0e8d8", Dispatch: "#ffffff", DispatchIndirect: "#ffffff"}
_OTHER_COLOUR = "#eeeeee"
"""Of nested recordings and events, which are no work of their own."""
_STYLES = {
    EdgeKind.BARRIER: "",
    EdgeKind.INFERRED: ' [color="#8250df", style=dashed]',
    EdgeKind.EVENT: ' [color="#0a7ea4", style=dotted]',
}


def to_dot(recording: Recording, *, join: JoinPolicy = JoinPolicy.AUTO) -> str:
    """The graph as text: commands, and the joins and edges that the join policy makes of the barriers."""
    lines = [
        f"digraph {quote('recording' if recording.label is None else recording.label)} {{",
        "  rankdir=TB;",
        '  node [shape=box, style=filled, fontname="monospace"];',
    ]
    lines.extend(_command_nodes(recording))
    lines.extend(_clusters(recording))
    lines.extend(f"  {{ rank=same; {' '.join(f'c{index};' for index in layer)} }}" for layer in recording.layers)
    lines.extend(_edges(recording, join))
    lines.extend(_hazards(recording))
    return "\n".join([*lines, "}", ""])


def _command_nodes(recording: Recording, prefix: str = "") -> Iterator[str]:
    """The commands, each nested recording in a box behind the command that runs it."""
    for index, command in enumerate(recording):
        label = "".join(_line(text) for text in describe(recording, index))
        colour = _COLOURS.get(type(command), _OTHER_COLOUR)
        yield f'  {prefix}c{index} [label="{label}", fillcolor="{colour}"];'
        nested = nested_in(recording, command)
        if nested is not None:
            name = f"{prefix}c{index}"
            title = "nested" if nested.label is None else nested.label
            yield f"  subgraph cluster_{name} {{ label={quote(title)}; style=dashed; {name}_end;"
            yield from _command_nodes(nested, f"{name}_")
            yield from _clusters(nested, f"{name}_")
            yield "  }"


def _clusters(recording: Recording, prefix: str = "") -> Iterator[str]:
    """A box round the commands of every debug group; `newrank` lets the layers' ranks cross the boxes."""
    if recording.groups and not prefix:
        yield "  newrank=true;"
    depth = 0
    for number, group in enumerate(recording.groups):
        yield from ["  }"] * (depth - group.depth)
        depth = group.depth + 1
        nodes = " ".join(f"{prefix}c{index};" for index in range(group.start, group.stop))
        style = "" if group.color is None else f"color={quote(group.color)}; "
        style += "" if group.location is None else f"tooltip={quote(group.location)}; "
        yield f"  subgraph cluster_{prefix}{number} {{ label={quote(group.label)}; {style}{nodes}"
    yield from ["  }"] * depth


def _edges(recording: Recording, join: JoinPolicy) -> Iterator[str]:
    for name, node, dependencies in all_nodes(recording, join):
        if isinstance(node, JoinNode):
            yield f'  {name} [label="join ({node.kind.value})", shape=ellipse];'
        elif isinstance(node, NestedEnd):
            yield f'  {name} [label="", shape=point];'
        yield from (f"  {wait} -> {name}{_STYLES[edge_kind(recording, wait, name)]};" for wait in dependencies)


def _hazards(recording: Recording) -> Iterator[str]:
    """A red line, which is no edge, between two commands that certainly miss a barrier."""
    for hazard in drawn_hazards(recording):
        attributes = f'dir=none, constraint=false, color="#cf222e", tooltip={quote(hazard.text)}'
        yield f"  {hazard.first} -> {hazard.second} [{attributes}];"


def quote(text: str) -> str:
    """A quoted string of the language."""
    return f'"{_escape(text)}"'


def _line(text: str) -> str:
    """One left-aligned line of a label."""
    return _escape(text) + "\\l"


def _escape(text: str) -> str:
    """Text that shows as it is.

    A backslash begins Graphviz's own substitutions, `&` begins an HTML entity even in plain labels, and control
    characters and lone surrogates have no place in an UTF-8 text: they are shown as Python would write them.
    """
    return visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


FORMAT = TextFormat("dot", "a graph in Graphviz's language", to_dot, options=("join",))
