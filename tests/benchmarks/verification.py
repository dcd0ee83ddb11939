"""Verifying a code object of 6 KB, warm."""

from __future__ import annotations

from pathlib import Path

from hipgraph_cb.executable.verify import verify
from tests.benchmarks.timing import Figure, median_seconds

CODE_OBJECT = Path(__file__).parent.parent / "fixtures" / "corpus" / "clang" / "h_hip.gfx942.hsaco"
REPEATS = 20


def figures() -> list[Figure]:
    data = CODE_OBJECT.read_bytes()
    seconds = median_seconds(lambda: [verify(data) for _ in range(REPEATS)], REPEATS)
    return [Figure(f"verify a code object of {len(data)} bytes, warm", seconds, hold="300 us")]
