"""What the client programs print: one line for each result, right or how far it is off."""

from __future__ import annotations

import numpy as np


def check(name: str, found: object, expected: object, tolerance: float = 0.0) -> None:
    """Compare with what numpy computed; the difference is relative to the largest expected value."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        print(f"{name}: shape {found.shape}, expected {expected.shape}", flush=True)
        return
    difference = float(np.abs(found.astype("f8") - expected.astype("f8")).max() / max(np.abs(expected).max(), 1e-30))
    print(f"{name}: {'right' if difference <= tolerance else f'off by {difference:.3g}'}", flush=True)
