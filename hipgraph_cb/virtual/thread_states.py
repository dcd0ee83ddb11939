"""State for each thread of the process, those among them that C code made.

ctypes gives a callback in a thread that Python did not make a new Python thread state each time, so what
`threading.local` keeps would be lost there from call to call, and each call would pay for it. Therefore such a thread
keeps its Python thread state from its first call on, and gives it back when it ends. That end is noticed as C++ notices
it for thread_local objects; it comes through a slot, since threads may end when Python is gone.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
from collections.abc import Callable
from functools import cache, partial
from types import FrameType
from typing import Generic, TypeVar

from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.shared_object import ExportedFunction

State = TypeVar("State")
_ENDED = "hipgraph_cb_thread_ended"
_LOCKED = 0  # PyGILState_LOCKED: the lock of the interpreter stays with the thread


class ThreadStates(Generic[State]):
    """`current()` is the calling thread's own state.

    Args:
        make: makes one, at the first call of a thread.
        release: called with it when the thread has ended.
        is_callback: whether a frame belongs to a function that C code calls.
    """

    def __init__(
        self, make: Callable[[], State], release: Callable[[State], None], is_callback: Callable[[FrameType], bool]
    ) -> None:
        self._make = make
        self._release = release
        self._is_callback = is_callback
        self._local = threading.local()

    def current(self) -> State:
        try:
            state: State = self._local.state
        except AttributeError:
            state = self._local.state = self._make()
            self._local.end = _End(self._release, state)
            if self._is_callback(_outermost_frame()):
                _keep_python_state()
        return state


class _End:
    """Goes with a thread's Python state, and calls a function then."""

    def __init__(self, release: Callable[[State], None], state: State) -> None:
        self._release = partial(release, state)

    def __del__(self) -> None:
        self._release()


def _outermost_frame() -> FrameType:
    """The first Python frame of this thread: that of a callback where C made the thread."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    return frame


def _keep_python_state() -> None:
    """Keep the Python state of this thread until the thread ends."""
    ended = _ends().address(_ENDED)
    if not _libc.__cxa_thread_atexit_impl(ended, None, ended):  # the last one tells whose function it is
        ctypes.pythonapi.PyGILState_Ensure()


_libc = ctypes.PyDLL(None)
_libc.__cxa_thread_atexit_impl.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def _thread_ended(_: int | None) -> None:
    ctypes.pythonapi.PyGILState_Release(_LOCKED)  # the state goes when this call has returned


_native = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_thread_ended)


@cache
def _ends() -> NativeLibrary:
    """The native function to be called at the end of a thread. It does nothing when Python is gone."""
    library = NativeLibrary(["libhipgraph_cb_threads.so"], [ExportedFunction(_ENDED)])
    library.wire(_ENDED, ctypes.cast(_native, ctypes.c_void_p).value or 0)
    atexit.register(library.restore)
    return library
