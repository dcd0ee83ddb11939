"""The unit of the virtual GPU's figures: what numpy needs for one gather, multiply-add and scatter of 2^20 lanes."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.timing import median_seconds

LANES = 1 << 20
CHUNK = 32 * 1024


def calibrate() -> float:
    """Seconds of the fixed piece of numpy work, in chunks of 32 k lanes."""
    generator = np.random.default_rng(0)
    indices = generator.permutation(LANES)
    x, y = (generator.standard_normal(LANES).astype(np.float32) for _ in range(2))

    def work() -> None:
        for start in range(0, LANES, CHUNK):
            lanes = indices[start : start + CHUNK]
            y[lanes] = np.float32(0.5) * x[lanes] + y[lanes]

    return median_seconds(work)
