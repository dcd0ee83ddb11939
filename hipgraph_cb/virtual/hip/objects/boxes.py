"""One side of a box of bytes: rows of rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Side:
    """Where a box begins, and how far its rows and slices are apart."""

    address: int
    pitch: int
    slice: int
