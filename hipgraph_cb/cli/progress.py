"""A line with the progress of long work, where standard error is a terminal."""

from __future__ import annotations

import sys
import time

INTERVAL = 0.2
"""Seconds between two changes of the line; work that takes less shows nothing."""


class Progress:
    """`progress(done, total)` rewrites a line on stderr if that is a terminal; a context manager that removes it."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shows = sys.stderr is not None and sys.stderr.isatty()
        self._last = time.monotonic()
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._shows or now - self._last < INTERVAL:
            return
        self._last = now
        line = f"{self._what}: {done} of {total}"
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = max(self._width, len(line))
