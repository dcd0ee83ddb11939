"""`import hipgraph_cb` in a process of its own."""

from __future__ import annotations

import statistics
import subprocess
import sys

from tests.benchmarks.timing import RUNS, Figure

SCRIPT = "import time; t = time.perf_counter(); import hipgraph_cb; print(time.perf_counter() - t)"


def figures() -> list[Figure]:
    command = [sys.executable, "-c", SCRIPT]
    samples = [float(subprocess.run(command, capture_output=True, check=True, text=True).stdout) for _ in range(RUNS)]
    return [Figure("import hipgraph_cb", statistics.median(samples), hold="40 ms")]
