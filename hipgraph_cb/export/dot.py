"""A recording in Graphviz's language.

Node `c3` is command 3, so the names stay the same whatever the join policy is; joins are `j0`, `j1`, ... Commands of
one layer share a rank, those of a debug group a box. Labels are plain quoted text: what users and code objects put
into names cannot break out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hipgraph_cb.export.describe import describe, named_nodes
from hipgraph_cb.export.visible import visible
from hipgraph_cb.recording.commands import Copy, Dispatch, Fill, Update
from hipgraph_cb.recording.dependencies import JoinNode, JoinPolicy

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

_COLOURS = {Fill: "#e8f0d8", Update: "#d8e8f0", Copy: "#f0e8d8", Dispatch: "#ffffff"}


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
    return "\n".join([*lines, "}", ""])


def _command_nodes(recording: Recording) -> Iterator[str]:
    for index, command in enumerate(recording):
        label = "".join(_line(text) for text in describe(recording, index))
        yield f'  c{index} [label="{label}", fillcolor="{_COLOURS[type(command)]}"];'


def _clusters(recording: Recording) -> Iterator[str]:
    """A box round the commands of every debug group; `newrank` lets the layers' ranks cross the boxes."""
    if recording.groups:
        yield "  newrank=true;"
    depth = 0
    for number, group in enumerate(recording.groups):
        yield from ["  }"] * (depth - group.depth)
        depth = group.depth + 1
        nodes = " ".join(f"c{index};" for index in range(group.start, group.stop))
        yield f"  subgraph cluster_{number} {{ label={quote(group.label)}; {nodes}"
    yield from ["  }"] * depth


def _edges(recording: Recording, join: JoinPolicy) -> Iterator[str]:
    for name, node, dependencies in named_nodes(recording, join):
        if isinstance(node, JoinNode):
            yield f'  {name} [label="join ({node.kind.value})", shape=ellipse];'
        yield from (f"  {dependency} -> {name};" for dependency in dependencies)


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
