"""Where the transient buffers of a recording are in the arena that a program allocates for them.

Two transient buffers share bytes only where every use of one is ordered before every use of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.recording.accesses import AccessReader
from hipgraph_cb.recording.commands.places import Range
from hipgraph_cb.recording.path_hazards import behind
from hipgraph_cb.recording.resources import TRANSIENT

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

ALIGNMENT = 256
"""Transient buffers begin at multiples of it, as buffers of their own do."""


class TransientLayout(NamedTuple):
    """Where the transient buffers of a recording are: offsets by resource id in an arena of `size` bytes."""

    offsets: Mapping[int, int]
    size: int


class _Lifetime(NamedTuple):
    """All uses are ordered behind the commands before `start`, and none is behind the command `end`."""

    start: int
    end: int
    id: int


def layout(recording: Recording) -> TransientLayout:
    """Place each transient buffer in the lowest gap that those that live at the same time leave."""
    offsets: dict[int, int] = {}
    sizes = {id: entry.size for id, entry in recording.resources.buffers.items() if entry.memory == TRANSIENT}
    if not sizes:
        return TransientLayout(offsets, 0)
    living: list[_Lifetime] = []
    top = 0
    for lifetime in sorted(_lifetimes(recording, sizes)):
        living = [other for other in living if other.end >= lifetime.start]
        taken = sorted((offsets[other.id], offsets[other.id] + sizes[other.id]) for other in living)
        offset = offsets[lifetime.id] = _lowest_gap(taken, sizes[lifetime.id])
        living.append(lifetime)
        top = max(top, offset + sizes[lifetime.id])
    return TransientLayout(offsets, top)


def _lifetimes(recording: Recording, sizes: Mapping[int, int]) -> Iterator[_Lifetime]:
    """Of all transient buffers; those that no command touches live for ever."""
    reader, starts = AccessReader(recording), behind(recording)
    found: dict[int, _Lifetime] = {}
    for index in range(len(recording)):
        for place, *_ in reader.of(index):
            if isinstance(place, Range) and place.resource in sizes:
                known = found.get(place.resource)
                start = starts[index] if known is None else min(known.start, starts[index])
                found[place.resource] = _Lifetime(start, index, place.resource)
    for id in sizes:
        yield found.get(id, _Lifetime(0, len(recording), id))


def _lowest_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    offset = 0
    for start, end in taken:
        if offset + size <= start:
            break
        offset = max(offset, -(-end // ALIGNMENT) * ALIGNMENT)
    return offset
