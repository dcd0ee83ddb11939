"""How everything here is timed, and how a figure is printed."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

RUNS = 9


class Figure(NamedTuple):
    """One printed line.

    Attributes:
        seconds: median of the runs, of one item.
        ratio: the figure in units of something measured in the same run, and of what.
        hold: what the figure is to stay below, as text.
    """

    name: str
    seconds: float
    ratio: float | None = None
    unit: str = ""
    hold: str = ""

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:#9.3g} x {self.unit}"
        return f"{self.name:<58}{readable(self.seconds):>12}{ratio:<28}{self.hold and f'  hold: {self.hold}'}".rstrip()


def median_seconds(
    action: Callable[[], object], items: int = 1, runs: int = RUNS, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The median of `runs` runs of `action`, divided by the items that one run does. The first run is not counted."""
    action()
    samples = []
    for _ in range(runs):
        started = clock()
        result = action()
        samples.append(clock() - started)
        del result  # taking things apart is not what is measured
    return statistics.median(samples) / items


def interleaved_medians(
    actions: dict[str, Callable[[], object]],
    items: int = 1,
    runs: int = RUNS,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Medians of several actions that take turns, so that a slow moment of the machine meets all of them.

    Args:
        clock: `time.process_time` for what the host alone does, whatever else the machine is busy with.
    """
    samples: dict[str, list[float]] = {name: [] for name in actions}
    for run in range(runs + 1):
        for name, action in actions.items():
            gc.collect()
            started = clock()
            result = action()
            elapsed = clock() - started
            del result
            if run:
                samples[name].append(elapsed)
    return {name: statistics.median(values) / items for name, values in samples.items()}


def readable(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
