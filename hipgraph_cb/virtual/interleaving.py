"""Runs the chunks of a dispatch in a random order, some of them side by side.

Few are in flight at a time. When they take many turns and none ends, they may be waiting for a workgroup that has not
started, so one more is started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import TYPE_CHECKING

from hipgraph_cb.virtual.isa.execution.scheduler import Outcome

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.execution.scheduler import Chunk

IN_FLIGHT = 4
PATIENCE = 4
"""Turns of every chunk in flight after which one more is started."""


def run_interleaved(
    waiting: Iterator[int],
    start: Callable[[int, int], Chunk],
    fitting: int,
    interrupted: Callable[[], bool],
    chance: Random,
) -> None:
    """Run all chunks to their end.

    Args:
        waiting: the first workgroup of each chunk.
        start: makes the chunk of a first workgroup, beside so many others.
        fitting: how many chunks may be in flight at once.

    Raises:
        DeviceFault: the kernel faulted or was stopped.
    """
    in_flight: list[Chunk] = []
    wanted, turns = min(IN_FLIGHT, fitting), 0
    first = next(waiting, None)
    while first is not None or in_flight:
        while first is not None and len(in_flight) < wanted:
            in_flight.append(start(first, len(in_flight)))
            first = next(waiting, None)
        chunk = chance.choice(in_flight)
        turns += 1
        if chunk.run(interrupted) is Outcome.FINISHED:
            in_flight.remove(chunk)
            wanted, turns = max(min(IN_FLIGHT, fitting), wanted - 1), 0
        elif turns > PATIENCE * len(in_flight):
            wanted, turns = min(wanted + 1, fitting), 0
