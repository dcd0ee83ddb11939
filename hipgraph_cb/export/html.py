"""A recording as one HTML file that needs nothing else: no network, no other file.

The layout is computed here; the page draws it on a canvas, so that thousands of nodes pan and zoom smoothly. Node names
are those of the Graphviz export: `c3` is command 3, `j0` the first join; `page.html#c3` opens with command 3 selected.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hipgraph_cb.export.describe import all_nodes, describe
from hipgraph_cb.export.edges import command_of, drawn_hazards, edge_kind
from hipgraph_cb.export.layout import NODE_HEIGHT, NODE_WIDTH, place_nodes
from hipgraph_cb.export.timetable import microseconds
from hipgraph_cb.recording.dependencies import JoinNode, JoinPolicy, levels
from hipgraph_cb.recording.formats import TextFormat
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from hipgraph_cb.recording.profile import Profile
    from hipgraph_cb.recording.recording import Recording


def to_html(recording: Recording, *, join: JoinPolicy = JoinPolicy.AUTO, profile: Profile | None = None) -> str:
    """The graph as a page: commands, the joins and edges that the join policy makes, debug groups, hazards, times."""
    picture = as_object(recording, join=join, profile=profile)
    # `<` would end the element that holds the data; JSON has another way to write it.
    data = json.dumps(picture, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "title": html.escape(picture["title"]),
        "style": _part("viewer.css"),
        "script": _part("viewer.js"),
        "data": data,
    }
    # In one pass: what goes in may look like a place itself.
    return re.sub(r"{{(\w+)}}", lambda place: parts[place[1]], _part("page.html"))


def as_object(
    recording: Recording, *, join: JoinPolicy = JoinPolicy.AUTO, profile: Profile | None = None
) -> dict[str, Any]:
    """What the page draws, as plain values. Positions are pixels at scale 1."""
    nodes, waits = _nodes(recording, join)
    if profile is not None:
        _add_times(nodes, profile)
    layout = place_nodes(levels(tuple(waits)), waits)
    for node, (x, y) in zip(nodes, layout.places, strict=True):
        node["x"], node["y"] = x, y
    return {
        "title": visible("recording" if recording.label is None else recording.label),
        "summary": f"{len(recording)} commands, {len(recording.layers)} layers",
        "width": layout.width,
        "height": layout.height,
        "node": {"width": NODE_WIDTH, "height": NODE_HEIGHT},
        "nodes": nodes,
        "edges": _edges(recording, nodes, waits),
        "groups": _groups(recording, nodes),
        "hazards": _hazards(recording),
    }


def _nodes(recording: Recording, join: JoinPolicy) -> tuple[list[dict[str, Any]], list[tuple[int, ...]]]:
    """The nodes in the order of the plan, and for each those it waits for."""
    layers = LayerNumbers()
    nodes: list[dict[str, Any]] = []
    waits: list[tuple[int, ...]] = []
    numbers: dict[str, int] = {}
    for name, node, dependencies in all_nodes(recording, join):
        numbers[name] = len(nodes)
        waits.append(tuple(numbers[dependency] for dependency in dependencies))
        owner, index = command_of(recording, name)
        if index is not None:
            nodes.append(_command(owner, name, index, layers.of(owner, index)))
            continue
        head = f"join ({node.kind.value})" if isinstance(node, JoinNode) else "end of a nested recording"
        before = max((nodes[wait]["layer"] for wait in waits[-1]), default=0)
        lines = [head, f"of {len(waits[-1])}"]
        nodes.append({"id": name, "kind": "join", "lines": lines, "layer": before, "groups": []})
    return nodes, waits


class LayerNumbers:
    """Which layer of its recording a command is in."""

    def __init__(self) -> None:
        self._numbers: dict[int, dict[int, int]] = {}

    def of(self, recording: Recording, index: int) -> int:
        known = self._numbers.get(id(recording))
        if known is None:
            known = {command: number for number, layer in enumerate(recording.layers) for command in layer}
            self._numbers[id(recording)] = known
        return known[index]


def _command(recording: Recording, name: str, index: int, layer: int) -> dict[str, Any]:
    return {
        "id": name,
        "kind": type(recording[index]).__name__.lower().removesuffix("indirect"),
        "lines": [visible(line) for line in describe(recording, index)],
        "layer": layer,
        "groups": [visible(label) for label in recording.group_paths[index]] if recording.groups else [],
    }


def _edges(
    recording: Recording, nodes: Sequence[dict[str, Any]], waits: Sequence[Sequence[int]]
) -> list[tuple[int, int, str]]:
    return [
        (source, target, edge_kind(recording, nodes[source]["id"], nodes[target]["id"]).value)
        for target, sources in enumerate(waits)
        for source in sources
    ]


def _add_times(nodes: Sequence[dict[str, Any]], profile: Profile) -> None:
    """The time of each command as its last line, and as microseconds."""
    spans = {f"c{index}": span for index, span in enumerate(profile.commands)}
    for node in nodes:
        span = spans.get(node["id"])
        if span is not None:
            node["microseconds"] = microseconds(span)
            node["lines"].append(f"took {node['microseconds']:g} us")


def _groups(recording: Recording, nodes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The box round the commands of each debug group that has any."""
    places = {node["id"]: node for node in nodes}
    boxes = []
    for group in recording.groups:
        inside = [places[f"c{index}"] for index in range(group.start, group.stop)]
        if inside:
            boxes.append(
                {
                    "label": visible(group.label),
                    "depth": group.depth,
                    "color": group.color,
                    "location": visible(group.location or ""),
                    "left": min(node["x"] for node in inside),
                    "top": min(node["y"] for node in inside),
                    "right": max(node["x"] for node in inside) + NODE_WIDTH,
                    "bottom": max(node["y"] for node in inside) + NODE_HEIGHT,
                }
            )
    return boxes


def _hazards(recording: Recording) -> list[dict[str, Any]]:
    return [
        {"nodes": [hazard.first, hazard.second], "text": visible(hazard.text)} for hazard in drawn_hazards(recording)
    ]


def _part(name: str) -> str:
    return (files("hipgraph_cb.export") / "viewer" / name).read_text(encoding="utf-8")


FORMAT = TextFormat("html", "one self-contained page for a browser", to_html, options=("join", "profile"))
