"""State for each thread of the process, those among them that C code made.

ctypes gives a callback in a thread that Python did not make a new Python thread state each time, so what
`threading.local` keeps is lost there from call to call; and the number of a thread that is gone is given to another
one. Therefore such a thread is recognised by a thread-specific value of C, which begins as NULL in each thread.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

State = TypeVar("State")
_TASKS = Path("/proc/self/task")
_LOOK_EVERY = 64


class ThreadStates(Generic[State]):
    """`current()` is the calling thread's own state, made by `make` at its first call."""

    def __init__(self, make: Callable[[], State]) -> None:
        self._make = make
        self._local = threading.local()
        self._kept: dict[int, tuple[int, State]] = {}
        self._numbers = itertools.count(1)
        self._libc = ctypes.PyDLL(None)
        self._libc.pthread_getspecific.restype = ctypes.c_size_t
        key = ctypes.c_uint()
        if self._libc.pthread_key_create(ctypes.byref(key), None):
            raise OSError("there is no room for another thread-specific value (pthread_key_create)")
        self._key = key

    def current(self) -> State:
        try:
            state: State = self._local.state
        except AttributeError:
            state = self._local.state = self._find()
        return state

    def _find(self) -> State:
        number = self._libc.pthread_getspecific(self._key)
        if not number:
            number = next(self._numbers)
            self._libc.pthread_setspecific(self._key, ctypes.c_size_t(number))
            if number % _LOOK_EVERY == 0:
                self._forget_the_dead()
            self._kept[number] = threading.get_native_id(), self._make()
        return self._kept[number][1]

    def _forget_the_dead(self) -> None:
        living = {int(task.name) for task in _TASKS.iterdir()}
        self._kept = {number: kept for number, kept in self._kept.items() if kept[0] in living}
