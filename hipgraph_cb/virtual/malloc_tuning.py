"""Keeps the pages of freed arrays in the process, so that the next array of the size reuses them.

Each instruction makes arrays of some hundred kilobytes and frees those it replaces. glibc maps blocks from 128 KB on
again and unmaps them when they are freed, and the kernel then clears every page again at its first touch, which takes
longer than the arithmetic. But a mapped block that is freed raises glibc's threshold to its size, up to
32 MB, and blocks below it come from the heap from then on. One block is enough, and its pages are never touched.
"""

from __future__ import annotations

import numpy as np

LARGEST_LEARNT = 32 << 20  # DEFAULT_MMAP_THRESHOLD_MAX of a 64-bit glibc
_HEADER = 8192  # the header that malloc adds, rounded up to pages


def raise_the_mapping_threshold() -> None:
    """Allocate and free the largest block that raises glibc's threshold."""
    np.empty(LARGEST_LEARNT - _HEADER, np.uint8)
