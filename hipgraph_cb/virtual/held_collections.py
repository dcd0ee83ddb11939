"""Garbage collection, held off while C code of others may be in the middle of a call.

AMD's HIP runtime calls the virtual HSA library with its own locks held. A collection that starts there would run
finalizers, which call AMD's runtime again and wait for what the same thread holds. Collections that the program asks
for by name are made as ever.
"""

from __future__ import annotations

import gc


class HeldCollections:
    """How many hold collection off; the last to stop lets it go on. Every method needs the lock of the calls."""

    def __init__(self) -> None:
        self._holders = 0
        self._was_enabled = False

    def hold(self) -> None:
        """Let no collection start by itself, in any thread."""
        if self._holders == 0:
            self._was_enabled = gc.isenabled()
            gc.disable()
        self._holders += 1

    def release(self) -> None:
        """End one `hold`."""
        self._holders -= 1
        if self._holders == 0 and self._was_enabled:
            gc.enable()
