"""Ctrl-C while C code calls into Python.

`ctypes` prints and swallows an exception that leaves a callback, and the C caller then gets a garbage result. So a
KeyboardInterrupt may not be raised between the first and the last bytecode of a callback. The SIGINT handler
installed here looks at the frames it interrupts: inside a callback it only notes the signal, which blocking calls
see and return for. The last thing the callback does is to have the signal repeated, so that it is handled where the
call into C returns to Python.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from types import CodeType, FrameType

# PyErr_SetInterruptEx takes a signal number and returns 0: by chance the signature of a pending call.
_add_pending_call = ctypes.pythonapi.Py_AddPendingCall
_add_pending_call.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
_simulate_signal = ctypes.cast(ctypes.pythonapi.PyErr_SetInterruptEx, ctypes.c_void_p)
_SIGINT = ctypes.c_void_p(int(signal.SIGINT))


class Interrupts:
    """Delivers SIGINT to the main thread, but never inside a callback.

    Attributes:
        pending: a SIGINT was seen inside a callback that has not returned yet. Every callback has to end with
            `if interrupts.pending: interrupts.repeat()` and a plain return.
    """

    def __init__(self) -> None:
        self.pending = False
        self._codes: set[CodeType] = set()

    def shield(self, code: CodeType) -> None:
        """Declare functions with this code to be callbacks."""
        self._codes.add(code)

    def install(self) -> None:
        """Take over SIGINT where Python's own handler is in force; another handler is left alone."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)

    def repeat(self) -> None:
        """Have the signal handled again when the callback that ends now has returned.

        The interpreter handles signals after a call of a C function, also after one made in here: raising the signal
        now would be too early. A pending call runs at that moment instead, and raises the signal for the next one,
        which is the end of the call that led from Python into C.
        """
        if threading.current_thread() is threading.main_thread():
            self.pending = False
            _add_pending_call(_simulate_signal, _SIGINT)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._in_callback(frame):
            self.pending = True
        else:
            signal.default_int_handler(number, frame)

    def _in_callback(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code in self._codes:
                return True
            frame = frame.f_back
        return False
