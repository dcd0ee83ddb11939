"""Signals while C code calls into Python.

`ctypes` prints and swallows an exception that leaves a callback, and the C caller then gets a garbage result. So a
KeyboardInterrupt may not be raised between the first and the last bytecode of a callback. The SIGINT handler
installed here looks at the frames it interrupts: inside a callback it only notes the signal, which blocking calls
see and return for. The last thing the callback does is to have the signal repeated, so that it is handled where the
call into C returns to Python.

Handlers of the program may raise too, or call this library. They are held off in the same way, also those that the
program sets later: `signal.signal` is wrapped for that, and `signal.getsignal` still returns what the program set. A
blocking call lets them run while it waits; what one raises ends the wait, and is raised again behind the call.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections import deque
from collections.abc import Callable
from itertools import repeat
from types import CodeType, FrameType
from typing import Any

# PyErr_SetInterruptEx takes a signal number and returns 0: by chance the signature of a pending call.
_add_pending_call = ctypes.pythonapi.Py_AddPendingCall
_add_pending_call.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
_simulate_signal = ctypes.cast(ctypes.pythonapi.PyErr_SetInterruptEx, ctypes.c_void_p)

Handler = Callable[[int, "FrameType | None"], Any]


class HeldOff:
    """A handler of the program that does not run inside a callback."""

    def __init__(self, interrupts: Interrupts, handler: Handler) -> None:
        self._interrupts = interrupts
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._interrupts.in_callback(frame):
            self._interrupts.note(number, self.handler, frame)
            return
        error = self._interrupts.take(number)
        if error is not None:
            raise error
        self.handler(number, frame)


class Interrupts:
    """Delivers signals to the main thread, but never inside a callback.

    Attributes:
        pending: a signal was seen inside a callback that has not returned yet. Every callback has to end with
            `if interrupts.pending: interrupts.repeat()` and a plain return.
        interrupted: that signal was Ctrl-C.
    """

    def __init__(self) -> None:
        self.pending = False
        self._codes: set[CodeType] = set()
        self.interrupted = False
        self._noted: dict[int, tuple[Handler, FrameType | None]] = {}
        self._raised: dict[int, BaseException] = {}

    def shield(self, code: CodeType) -> None:
        """Declare functions with this code to be callbacks."""
        self._codes.add(code)

    def install(self) -> None:
        """Take over SIGINT where Python's own handler is in force, and hold the program's handlers off."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)
        set_handler, get_handler = signal.signal, signal.getsignal

        def set_held_off(signalnum: int, handler: Any) -> Any:
            is_ours = not callable(handler) or handler in (self._handle, signal.default_int_handler)
            return _of_the_program(set_handler(signalnum, handler if is_ours else HeldOff(self, handler)))

        signal.signal = set_held_off
        signal.getsignal = lambda signalnum: _of_the_program(get_handler(signalnum))
        for number in signal.valid_signals():
            handler = get_handler(number)
            if callable(handler):
                signal.signal(number, handler)

    def note(self, number: int, handler: Handler, frame: FrameType | None) -> None:
        """A signal came inside a callback: its handler runs in the next wait, or behind the call."""
        self._noted[number] = handler, frame
        self.pending = True

    def interrupt(self) -> None:
        """Ctrl-C came inside a callback."""
        self.interrupted = self.pending = True

    def run_noted(self) -> BaseException | None:
        """Run the handlers that were held off, within a wait. Returns what one raises: it is raised behind the call."""
        while self._noted:
            number, (handler, frame) = self._noted.popitem()
            try:
                handler(number, frame)
            except BaseException as error:  # noqa: BLE001 - any error belongs behind the call
                self._raised[number] = error
                break
        self.pending = bool(self._noted or self._raised or self.interrupted)
        return next(iter(tuple(self._raised.values())), None)

    def take(self, number: int) -> BaseException | None:
        """What the handler of a signal has raised within a wait."""
        return self._raised.pop(number, None)

    def repeat(self) -> None:
        """Have the signal handled again when the callback that ends now has returned.

        The interpreter handles signals after a call of a C function, also after one made in here: raising the signal
        now would be too early. A pending call runs at that moment instead, and raises the signal for the next one,
        which is the end of the call that led from Python into C.
        """
        if threading.current_thread() is threading.main_thread():
            self.pending = False
            numbers = [*self._noted, *self._raised]
            if self.interrupted or not numbers:
                self.interrupted = False
                numbers.append(signal.SIGINT)
            for number in numbers:
                self._noted.pop(number, None)
            # in one step: after each bytecode that jumps back the interpreter would look for signals
            deque(map(_add_pending_call, repeat(_simulate_signal), map(int, numbers)), maxlen=0)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.in_callback(frame):
            self.interrupt()
        else:
            signal.default_int_handler(number, frame)

    def in_callback(self, frame: FrameType | None) -> bool:
        """Whether the frame, or one that it was called by, is that of a callback."""
        while frame is not None:
            if frame.f_code in self._codes:
                return True
            frame = frame.f_back
        return False


def _of_the_program(handler: Any) -> Any:
    return handler.handler if isinstance(handler, HeldOff) else handler
