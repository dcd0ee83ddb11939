"""From layers to edges: what a barrier becomes.

A layer is the commands between two barriers. Every command of a layer waits for all commands of the layer before it;
a longer memory is not needed, for waiting is transitive. A single command since the last barrier *is* the barrier.
Where several meet several, the join policy decides between direct edges and one node in between (R3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple, overload


class JoinPolicy(Enum):
    """What stands between two layers when the first has several commands."""

    EDGES = "edges"
    EMPTY = "empty"
    KERNEL = "kernel"
    AUTO = "auto"


class AutoJoin(NamedTuple):
    """What `AUTO` means for one runtime.

    Attributes:
        edge_limit: direct edges are drawn while fan-in x fan-out is no more than this.
        wide: what stands between wider layers: EMPTY or KERNEL.
    """

    edge_limit: int
    wide: JoinPolicy


AUTO_ON_AMD = AutoJoin(4 * 4, JoinPolicy.EMPTY)
"""On AMD's runtime an empty node has no packet of its own, while edges to several predecessors become barrier packets.

Counted on its versions 6.4.3 and 7.2.4 (same answer), packets for barriers in 8 layers: 8 wide, 37 with empty nodes
and 62 with edges; 32 wide, 37 and 233; 4 wide, as many with either.
"""

AUTO_ELSEWHERE = AutoJoin(8 * 8, JoinPolicy.KERNEL)
"""On a runtime that is not AMD's the driver runs empty nodes on the host. Replays through CUDA graphs on an H200:
32 layers of 32 took 1583 us with empty nodes, 483 with edges and 302 with kernels; 250 layers of 4 took 1452, 480, 613.
"""


class CommandNode(NamedTuple):
    """A command to add, after the nodes `dependencies` (positions in the plan).

    All commands of a layer share one and the same tuple, so a backend may convert it once.
    """

    command: int
    dependencies: tuple[int, ...]


class JoinNode(NamedTuple):
    """A node that does nothing: `kind` is EMPTY or KERNEL."""

    dependencies: tuple[int, ...]
    kind: JoinPolicy = JoinPolicy.EMPTY


PlannedNode = CommandNode | JoinNode

Dependencies = tuple[tuple[int, ...], ...]
"""For each command the commands it waits for."""


def plan(
    layers: Sequence[Sequence[int]], policy: JoinPolicy = JoinPolicy.AUTO, *, auto: AutoJoin = AUTO_ON_AMD
) -> Iterator[PlannedNode]:
    """The nodes to add, in order; a node's id is its position.

    Args:
        layers: command indices between barriers, no layer empty.
        policy: what joins two layers.
        auto: what `AUTO` means.
    """
    position = 0
    previous: tuple[int, ...] = ()
    for layer in layers:
        join = join_kind(len(previous), len(layer), policy, auto)
        if join is not None:
            yield JoinNode(previous, join)
            previous = (position,)
            position += 1
        for command in layer:
            yield CommandNode(command, previous)
        previous = tuple(range(position, position + len(layer)))
        position += len(layer)


def join_kind(fan_in: int, fan_out: int, policy: JoinPolicy, auto: AutoJoin = AUTO_ON_AMD) -> JoinPolicy | None:
    """The kind of node between two layers of so many commands, or None for direct edges. Arguments as for `plan`."""
    if fan_in <= 1 or policy is JoinPolicy.EDGES:
        return None
    if policy is JoinPolicy.AUTO:
        return None if fan_in * fan_out <= auto.edge_limit else auto.wide
    return policy


def plan_dependencies(
    dependencies: Dependencies,
    policy: JoinPolicy = JoinPolicy.AUTO,
    *,
    auto: AutoJoin = AUTO_ON_AMD,
    first: int = 0,
) -> Iterator[PlannedNode]:
    """As `plan`, for commands with dependencies of their own.

    Commands that share one tuple of dependencies, as those behind a barrier do, wait like a layer, so the policy
    decides for them together.

    Args:
        first: the index of the first command; `dependencies` count from there.
    """
    fan_outs = Counter(map(id, dependencies))
    places: dict[int, tuple[int, ...]] = {}
    positions: list[int] = []
    position = 0
    for command, waits in enumerate(dependencies):
        key = id(waits)
        fan_out = fan_outs[key]
        place = places.get(key) if fan_out > 1 else None
        if place is None:
            # before the first join, commands stand at their own positions
            place = waits if position == command else tuple([positions[wait] for wait in waits])
            if fan_out > 1:
                join = join_kind(len(waits), fan_out, policy, auto)
                if join is not None:
                    yield JoinNode(place, join)
                    place = (position,)
                    position += 1
                places[key] = place
        yield CommandNode(first + command, place)
        positions.append(position)
        position += 1


def levels(dependencies: Dependencies) -> tuple[tuple[int, ...], ...]:
    """The commands by the length of the longest way to them: each level waits for nothing but earlier levels."""
    depths: list[int] = []
    result: list[list[int]] = []
    for command, waits in enumerate(dependencies):
        depth = max((depths[wait] + 1 for wait in waits), default=0)
        depths.append(depth)
        if depth == len(result):
            result.append([])
        result[depth].append(command)
    return tuple(tuple(level) for level in result)


class LayerEdges(Sequence[tuple[int, int]]):
    """The command-to-command dependencies of a recording under the `edges` policy, as (from, to).

    It is a view of the layers: two layers of a thousand commands have a million edges, which are counted without
    being made.
    """

    __slots__ = ("_layers",)

    def __init__(self, layers: Sequence[Sequence[int]]) -> None:
        self._layers = layers

    def __len__(self) -> int:
        return sum(len(first) * len(second) for first, second in self._pairs())

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((source, target) for first, second in self._pairs() for target in second for source in first)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[tuple[int, int], ...]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, int] | tuple[tuple[int, int], ...]:
        if isinstance(index, slice):
            return tuple(self[position] for position in range(*index.indices(len(self))))
        rest = index + len(self) if index < 0 else index
        if rest >= 0:
            for first, second in self._pairs():
                if rest < len(first) * len(second):
                    return first[rest % len(first)], second[rest // len(first)]
                rest -= len(first) * len(second)
        raise IndexError(f"edge {index} of {len(self)}")

    def __repr__(self) -> str:
        return f"<{len(self)} edges between {len(self._layers)} layers>"

    def _pairs(self) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        return pairwise(self._layers)
