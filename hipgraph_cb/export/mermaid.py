"""A recording as a Mermaid flowchart, for pages that draw such a text.

Node names are those of the Graphviz export: `c3` is command 3, `j0` the first join.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hipgraph_cb.export.describe import NestedEnd, all_nodes, describe
from hipgraph_cb.recording.dependencies import JoinNode, JoinPolicy
from hipgraph_cb.recording.events import nested_in
from hipgraph_cb.recording.formats import TextFormat
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

_SPECIAL = frozenset('"#&<>`%$\\')
"""Signs inside a quoted label: entities, HTML, Markdown, `%%{` directives, `$$` formulas and escapes."""


def to_mermaid(recording: Recording, *, join: JoinPolicy = JoinPolicy.AUTO) -> str:
    """The graph as text: commands in boxes, debug groups round them, and the joins and edges of the join policy."""
    return "\n".join(["flowchart TD", *_nodes(recording), *_edges(recording, join), ""])


def _nodes(recording: Recording, prefix: str = "") -> Iterator[str]:
    """The commands, each nested recording in a box, and the boxes of the debug groups."""
    for index, command in enumerate(recording):
        name = f"{prefix}c{index}"
        label = "<br/>".join(_escape(line) for line in describe(recording, index))
        yield f'  {name}["{label}"]'
        nested = nested_in(recording, command)
        if nested is not None:
            yield f'  subgraph {name}_nested["{_escape(nested.label or "nested")}"]'
            yield from _nodes(nested, f"{name}_")
            yield "  end"
    yield from _groups(recording, prefix)


def _groups(recording: Recording, prefix: str) -> Iterator[str]:
    """Mermaid wants a node in one group only: the innermost."""
    depth = 0
    for number, group in enumerate(recording.groups):
        yield from ["  end"] * (depth - group.depth)
        depth = group.depth + 1
        yield f'  subgraph {prefix}g{number}["{_escape(group.label)}"]'
        inside = range(group.start, group.stop)
        yield from (f"    {prefix}c{index}" for index in inside if len(recording.group_paths[index]) == depth)
    yield from ["  end"] * depth
    for number, group in enumerate(recording.groups):
        if group.color is not None:
            yield f"  style {prefix}g{number} stroke:{group.color}"


def _edges(recording: Recording, join: JoinPolicy) -> Iterator[str]:
    for name, node, dependencies in all_nodes(recording, join):
        if isinstance(node, JoinNode):
            yield f'  {name}(["join ({node.kind.value})"])'
        elif isinstance(node, NestedEnd):
            yield f"  {name}(( ))"
        yield from (f"  {dependency} --> {name}" for dependency in dependencies)


def _escape(text: str) -> str:
    """Text that shows as it is: what Mermaid, Markdown or HTML would read as a sign becomes a numbered entity."""
    return "".join(f"#{ord(character)};" if character in _SPECIAL else character for character in visible(text))


FORMAT = TextFormat("mermaid", "a Mermaid flowchart", to_mermaid, options=("join",))
