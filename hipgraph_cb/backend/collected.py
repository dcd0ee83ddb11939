"""Finalizers, and what becomes of things that the garbage collector finds.

A collection may start at any allocation: in a thread whose lock others wait for inside the runtime, or on a thread of
the runtime itself. Nothing may be released, logged or waited for there. So a finalizer that the collector runs only
notes what is to be released, and the next call to a device releases it.
"""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

barred: set[int] = set()
"""Threads that must not use a runtime: those in which a function of the host runs that a recording calls."""
_noted: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
_of_the_parent: list[object] = []
_phases: dict[str, object] = {"start": None, "stop": None}
"""What the collector said last of each phase; the phase that it said last is the last one."""
_here = threading.local()
"""The same for the collections of this thread."""


def finalizer(owner: object, release: Callable[..., object], *arguments: Any) -> weakref.finalize[..., Any]:
    """Have `release(*arguments)` called once: when the result is called, or when the last reference to `owner` is gone.

    At interpreter exit it is not called: the end of the process releases all, and the library may be unloaded.
    """
    finalize = weakref.finalize(owner, release_when_safe, release, *arguments)
    finalize.atexit = False
    return finalize


def release_when_safe(release: Callable[..., object], *arguments: Any) -> None:
    """Call `release(*arguments)`: now, or at the next call to a device where this thread must not use a runtime."""
    if _is_unsafe():
        _noted.append((release, arguments))
    else:
        release(*arguments)


def release_collected() -> None:
    """Release what was noted, unless this thread must not use a runtime now."""
    while _noted and not _is_unsafe():
        try:
            release, arguments = _noted.popleft()
        except IndexError:  # another thread was faster
            return
        release(*arguments)


def _is_unsafe() -> bool:
    return _is_collecting_here() or threading.get_ident() in barred


def _is_collecting_here() -> bool:
    """Whether a collection runs in this thread: one began and did not end, and it is the last one that began here.

    The phases are listed by one function of C: between two, a collection of another thread may change them.
    """
    return list(_phases)[-1] == "start" and _phases["start"] is getattr(_here, "start", _phases)


def _forked() -> None:
    """What the parent's collector found is the parent's to release; dropping it here would release it too."""
    global _noted
    _of_the_parent.append(_noted)
    _noted = deque()


# Functions of C, each called with a phase and what is said of it. In one of Python a signal handler could run, such as
# that of Ctrl-C, and what it raised would be lost.
gc.callbacks += [_phases.pop, _phases.__setitem__, partial(setattr, _here)]
os.register_at_fork(after_in_child=_forked)
