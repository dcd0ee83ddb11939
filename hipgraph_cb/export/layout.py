"""Where the nodes of a drawing are: layer under layer, all nodes of one size.

The layers are known, so no search for ranks is needed. A wide layer is broken into rows. Within a layer, commands with
dependencies of their own are near what they wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

NODE_WIDTH, NODE_HEIGHT = 200, 46
GAP, ROW_GAP, LAYER_GAP = 18, 14, 62
MOST_COLUMNS = 24
"""A layer of more nodes gets several rows: a drawing that is only wide cannot be read."""


class Layout(NamedTuple):
    """Positions in pixels at scale 1.

    Attributes:
        places: for each node the left and the upper edge.
        width, height: of the whole drawing.
    """

    places: tuple[tuple[int, int], ...]
    width: int
    height: int


def place_nodes(layers: Sequence[Sequence[int]], dependencies: Sequence[Sequence[int]]) -> Layout:
    """Lay out nodes 0 to n - 1.

    Args:
        layers: the nodes of each layer; every node is in one.
        dependencies: for each node those it waits for, all in earlier layers.
    """
    places = [(0, 0)] * len(dependencies)
    middle = _columns_width(min(max(map(len, layers), default=0), MOST_COLUMNS)) // 2
    top = 0
    for layer in layers:
        ordered = _near_their_dependencies(layer, dependencies, places)
        for start in range(0, len(ordered), MOST_COLUMNS):
            row = ordered[start : start + MOST_COLUMNS]
            left = middle - _columns_width(len(row)) // 2
            for column, node in enumerate(row):
                places[node] = (left + column * (NODE_WIDTH + GAP), top)
            top += NODE_HEIGHT + ROW_GAP
        top += LAYER_GAP - ROW_GAP
    return Layout(tuple(places), 2 * middle, max(top - LAYER_GAP, 0))


def _columns_width(count: int) -> int:
    return max(count * (NODE_WIDTH + GAP) - GAP, 0)


def _near_their_dependencies(
    layer: Sequence[int], dependencies: Sequence[Sequence[int]], places: Sequence[tuple[int, int]]
) -> list[int]:
    """By the mean position of what each waits for; nodes that wait for the same keep their order."""
    means: dict[tuple[int, ...], float] = {}
    keys = []
    for node in layer:
        waits = tuple(dependencies[node])
        if waits not in means:
            means[waits] = sum(places[wait][0] for wait in waits) / len(waits) if waits else 0.0
        keys.append(means[waits])
    return [node for _, node in sorted(zip(keys, layer, strict=True), key=lambda pair: pair[0])]
