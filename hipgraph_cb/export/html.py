"""A recording as one HTML file that needs nothing else: no network, no other file.

The layout is computed here; the page draws it on a canvas, so that thousands of nodes pan and zoom smoothly. Node names
are those of the Graphviz export: `c3` is command 3, `j0` the first join; `page.html#c3` opens with command 3 selected.
"""

from __future__ import annotations

import html
import json
from collections import defaultdict
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hipgraph_cb.export.describe import describe, named_nodes
from hipgraph_cb.export.layout import NODE_HEIGHT, NODE_WIDTH, place_nodes
from hipgraph_cb.export.visible import visible
from hipgraph_cb.recording.dependencies import CommandNode, JoinPolicy
from hipgraph_cb.recording.hazards import MissingBarrier

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


def to_html(recording: Recording, *, join: JoinPolicy = JoinPolicy.AUTO) -> str:
    """The graph as a page: commands, the joins and edges that the join policy makes, debug groups, and findings."""
    picture = as_object(recording, join=join)
    # `<` would end the element that holds the data; JSON has another way to write it.
    data = json.dumps(picture, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"title": html.escape(picture["title"]), "style": _part("viewer.css"), "script": _part("viewer.js")}
    page = _part("page.html")
    for name, text in parts.items():
        page = page.replace("{{" + name + "}}", text)
    before, after = page.split("{{data}}")
    return before + data + after


def as_object(recording: Recording, *, join: JoinPolicy = JoinPolicy.AUTO) -> dict[str, Any]:
    """What the page draws, as plain values. Positions are pixels at scale 1."""
    nodes, waits = _nodes(recording, join)
    layout = place_nodes(_layers(nodes), waits)
    for node, (x, y) in zip(nodes, layout.places, strict=True):
        node["x"], node["y"] = x, y
    kind = "barrier" if recording.dependencies is None else "inferred"
    return {
        "title": visible("recording" if recording.label is None else recording.label),
        "summary": f"{len(recording)} commands, {len(recording.layers)} layers",
        "width": layout.width,
        "height": layout.height,
        "node": {"width": NODE_WIDTH, "height": NODE_HEIGHT},
        "nodes": nodes,
        "edges": [[source, target, kind] for target, sources in enumerate(waits) for source in sources],
        "groups": _groups(recording, nodes),
        "hazards": _hazards(recording),
    }


def _nodes(recording: Recording, join: JoinPolicy) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """The nodes in the order of the plan, and for each those it waits for."""
    layer_of = {index: number for number, layer in enumerate(recording.layers) for index in layer}
    nodes: list[dict[str, Any]] = []
    waits: list[list[int]] = []
    numbers: dict[str, int] = {}
    for name, node, dependencies in named_nodes(recording, join):
        numbers[name] = len(nodes)
        waits.append([numbers[dependency] for dependency in dependencies])
        if isinstance(node, CommandNode):
            nodes.append(_command(recording, name, node.command, layer_of[node.command]))
        else:
            layer = max(nodes[wait]["layer"] for wait in waits[-1])
            lines = [f"join ({node.kind.value})", f"of {len(waits[-1])}"]
            nodes.append({"id": name, "kind": "join", "lines": lines, "layer": layer, "groups": []})
    return nodes, waits


def _command(recording: Recording, name: str, index: int, layer: int) -> dict[str, Any]:
    return {
        "id": name,
        "kind": type(recording[index]).__name__.lower(),
        "lines": [visible(line) for line in describe(recording, index)],
        "layer": layer,
        "groups": [visible(label) for label in recording.group_paths[index]] if recording.groups else [],
    }


def _layers(nodes: Sequence[dict[str, Any]]) -> list[list[int]]:
    """The nodes of each layer, and behind it the join that waits for it, which stands alone."""
    rows: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for number, node in enumerate(nodes):
        rows[node["layer"], node["kind"] == "join"].append(number)
    return [rows[key] for key in sorted(rows)]


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
                    "left": min(node["x"] for node in inside),
                    "top": min(node["y"] for node in inside),
                    "right": max(node["x"] for node in inside) + NODE_WIDTH,
                    "bottom": max(node["y"] for node in inside) + NODE_HEIGHT,
                }
            )
    return boxes


def _hazards(recording: Recording) -> list[dict[str, Any]]:
    """Missing barriers join two nodes; an idle barrier is told at the first command behind it."""
    rows = []
    for finding in recording.hazards():
        if isinstance(finding, MissingBarrier):
            nodes, certain = [f"c{finding.first}", f"c{finding.second}"], finding.certain
        else:
            nodes, certain = [f"c{finding.before}"], False
        rows.append({"nodes": nodes, "certain": certain, "text": visible(finding.text)})
    return rows


def _part(name: str) -> str:
    return (files("hipgraph_cb.export") / "viewer" / name).read_text(encoding="utf-8")
