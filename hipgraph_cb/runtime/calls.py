"""Calls in progress: what a call uses stays until the call is over, also if another thread closes it meanwhile.

A call enters what it uses, then checks whether that is closed. A close marks it closed first, then checks for calls
inside. So one of the two always sees the other, and what is in use is released later: by the last call that leaves it.
"""

from __future__ import annotations

import time
from threading import get_ident

PAUSE = 1e-4


class Calls(list[int]):
    """The calls that use one thing, each as the number of its thread.

    A call enters with `append(get_ident())` and leaves with `remove(get_ident())`. Each is one step and takes no
    lock: a finalizer may run at any moment.
    """

    __slots__ = ()

    def wait_for_others(self, deadline: float | None) -> None:
        """Wait until no other thread is inside, up to a moment of `time.monotonic`.

        A call of this thread goes on only after this one, which a finalizer made in the middle of it.
        """
        own = get_ident()
        while any(thread != own for thread in tuple(self)):
            if deadline is not None and time.monotonic() >= deadline:
                return
            time.sleep(PAUSE)
