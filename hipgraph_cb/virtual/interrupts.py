"""Ctrl-C while C code calls into Python.

`ctypes` prints and swallows an exception that leaves a callback, and the C caller then gets a garbage result. So a
KeyboardInterrupt may not be raised between the first and the last bytecode of a callback. The SIGINT handler
installed here looks at the frames it interrupts: inside a callback it only notes the signal, which blocking calls
see and return for; a helper thread repeats the signal until it meets the main thread outside, where it is raised.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from types import CodeType, FrameType

_REPEAT_SECONDS = 0.002


class Interrupts:
    """Delivers SIGINT to the main thread, but never inside a callback.

    Attributes:
        pending: a SIGINT was seen inside a callback and has not been raised yet.
    """

    def __init__(self) -> None:
        self.pending = False
        self._codes: set[CodeType] = set()
        self._lock = threading.Lock()
        self._repeating = False
        self._repeated = False
        self._handles_signal = False

    def shield(self, code: CodeType) -> None:
        """Declare functions with this code to be callbacks."""
        self._codes.add(code)

    def install(self) -> None:
        """Take over SIGINT where Python's own handler is in force; another handler is left alone."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)
            self._handles_signal = True

    def defer(self) -> None:
        """Have KeyboardInterrupt raised in the main thread as soon as it is outside every callback."""
        with self._lock:
            self.pending = True
            if self._repeating:
                return
            self._repeating = True
        threading.Thread(target=self._repeat, name="hipgraph_cb-interrupt", daemon=True).start()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._in_callback(frame):
            self.defer()
            return
        is_late_repetition, self._repeated = self._repeated and not self.pending, False
        if is_late_repetition:
            return
        self.pending = False
        signal.default_int_handler(number, frame)

    def _in_callback(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code in self._codes:
                return True
            frame = frame.f_back
        return False

    def _repeat(self) -> None:
        main = threading.main_thread().ident
        while self.pending:
            time.sleep(_REPEAT_SECONDS)
            frame = sys._current_frames().get(main) if main is not None else None
            if not self.pending or self._in_callback(frame):
                continue
            del frame
            # With a foreign handler nobody tells that the exception was raised: one delivery has to do.
            self.pending = self._handles_signal and self.pending
            self._repeated = self._handles_signal
            _thread.interrupt_main()
        with self._lock:
            self._repeating = False
