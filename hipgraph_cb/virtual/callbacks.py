"""The one wrapper around every function of a virtual library that C code may call.

It answers every call with a code, after any error inside; it holds one re-entrant lock; it applies releases that
garbage collection starts in the middle of another call after that call; and it refuses all calls in a forked child.
The callbacks it makes are never freed, because C code may call them as long as the process lives.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hipgraph_cb.virtual.fault_log import FaultLog
from hipgraph_cb.virtual.held_collections import HeldCollections
from hipgraph_cb.virtual.interrupts import Interrupts

_POLL_SECONDS = 0.02

_keep_forever: list[object] = []


class CallError(Exception):
    """Raised inside a library function: the call is answered with `code`. A `note` goes into the fault report."""

    def __init__(self, code: int, note: str | None = None) -> None:
        super().__init__(code, note)
        self.code = code
        self.note = note


class Codes:
    """The result codes by which a library says what the wrapper found."""

    def __init__(self, *, unknown: int, not_initialized: int, deinitialized: int, quiet: Sequence[int] = ()) -> None:
        self.unknown = unknown
        self.not_initialized = not_initialized
        self.deinitialized = deinitialized
        self.quiet = frozenset((0, *quiet))
        """Codes that are not failures: they leave the fault report unchanged."""


class SharedCalls:
    """What the calls of all virtual libraries of a process share: they lead to the same GPUs.

    Attributes:
        lock: held while a call runs; waits give it up.
        changed: notified when something that a call may wait for has happened.
        faults: what `fault_report` returns.
        on_interrupted_wait: called with the lock when Ctrl-C ends a wait.
        closing: the process ends.
        depth: how many calls of the thread that holds the lock are inside each other.
        sleepers: how many threads wait in a call.
        deferred: releases to apply when the call that runs is over.
        refusal: why all calls are refused, or None.
        open_ranges: the ranges of ROCTX that the calling thread is in, outermost first.
        collections: what holds garbage collection off, once a library below C code of others is there; or None.
    """

    def __init__(self, interrupts: Interrupts, faults: FaultLog) -> None:
        self.interrupts = interrupts
        self.faults = faults
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.on_interrupted_wait: Callable[[], None] = lambda: None
        self.closing = False
        self.depth = 0
        self.sleepers = 0
        self.deferred: deque[Callable[[], object]] = deque()
        self.refusal: str | None = None
        self.collections: HeldCollections | None = None
        self.open_ranges: Callable[[], tuple[str, ...]] = tuple
        self._workers: set[int] = set()

    def add_worker(self) -> None:
        """Declare the calling thread to be one that runs enqueued work."""
        self._workers.add(threading.get_ident())

    def is_worker(self) -> bool:
        """The calling thread runs enqueued work."""
        return threading.get_ident() in self._workers

    @contextmanager
    def unlocked(self) -> Iterator[None]:
        """Run what a thread of our own runs: without the lock, and with collections held off."""
        if self.collections is not None:
            self.collections.hold()
        self.lock.release()
        try:
            yield
        finally:
            self.lock.acquire()
            if self.collections is not None:
                self.collections.release()

    def refuse_after_fork(self) -> None:
        """To be run in a forked child: no worker exists there, and the lock may be held by a thread that is gone."""
        self.faults.reset_lock()
        self.refusal = (
            f"process {os.getpid()} was forked from one that uses the virtual GPU, whose worker threads do not exist "
            'here; start it with multiprocessing\'s "spawn" method (or subprocess) instead of fork'
        )

    def close(self, seconds: float) -> None:
        """Make waiting calls return, and wait up to `seconds` for the calls of other threads to leave."""
        self.closing = True
        deadline = time.monotonic() + seconds
        if self.lock.acquire(timeout=seconds):
            try:
                self.changed.notify_all()
                while self.sleepers > 0 and time.monotonic() < deadline:
                    self.changed.wait(_POLL_SECONDS)
            finally:
                self.lock.release()


class CallGate:
    """What every call of one virtual library passes.

    Attributes:
        shared: what it shares with the other library; `lock`, `changed`, `faults` and `interrupts` are from there.
        remembered, remember: last-error state. `remember(code)` is called for a code other than 0, and for every code
            while `remembered` is true.
        holds_collections: no garbage collection starts inside a call; a wait is inside, too.
        broken_by: code and text of a fault that every later call repeats, except calls that release or only report.
    """

    def __init__(self, codes: Codes, shared: SharedCalls) -> None:
        self.codes = codes
        self.shared = shared
        self.lock = shared.lock
        self.changed = shared.changed
        self.faults = shared.faults
        self.interrupts = shared.interrupts
        self.remember: Callable[[int], None] = lambda code: None
        self.remembered: object = ()
        self.holds_collections = False
        self.broken_by: tuple[int, str] | None = None
        self._main = threading.main_thread().ident

    def hold_collections(self) -> None:
        """Let no garbage collection start inside a call from now on, nor where work runs. Before callbacks are made."""
        self.holds_collections = True
        self.shared.collections = self.shared.collections or HeldCollections()

    # -- making callbacks ------------------------------------------------------------------------------------------

    def callback(
        self,
        name: str,
        function: Callable[..., int | None],
        argument_types: Sequence[Any],
        *,
        result_type: Any = ctypes.c_int,
        on_error: int | None = None,
        releases: bool = False,
        remembers: bool = True,
        locks: bool = True,
    ) -> int:
        """The address of native code that calls `function(*arguments)` by the rules of this module.

        Args:
            on_error: the result in place of a code, for functions that return something else.
            releases: the function releases something, so within another call it is postponed.
            remembers: its result becomes the last error.
            locks: it runs under the lock; a function that only passes calls on needs none.
        """
        if releases:
            entry = self._releasing(name, function)
        elif locks:
            entry = self._entry(name, function, on_error, remembers, is_refused_when_broken=remembers)
        else:
            entry = self._unlocked(name, function, on_error)
        self.interrupts.shield(entry.__code__)
        native = ctypes.CFUNCTYPE(result_type, *argument_types)(entry)
        _keep_forever.append(native)
        address = ctypes.cast(native, ctypes.c_void_p).value
        return address or 0

    def _entry(
        self,
        name: str,
        function: Callable[..., int | None],
        on_error: int | None,
        remembers: bool,
        *,
        is_refused_when_broken: bool = False,
    ) -> Callable[..., int]:
        shared, lock, quiet, interrupts = self.shared, self.lock, self.codes.quiet, self.interrupts
        held = shared.collections if self.holds_collections else None

        def entry(*arguments: Any) -> int:
            try:
                if shared.refusal is not None:
                    return self._refuse(name, on_error)
                with lock:
                    shared.depth += 1
                    if held is not None:
                        held.hold()
                    try:
                        if self.broken_by is not None and is_refused_when_broken:
                            raise CallError(*self.broken_by)
                        code = function(*arguments) or 0
                    except BaseException as error:  # noqa: BLE001 - C code must get an answer after any error
                        code = self._failed(name, error, on_error)
                    finally:
                        shared.depth -= 1
                        if held is not None:
                            held.release()
                    if shared.deferred and shared.depth == 0:
                        self._apply_deferred()
                    if remembers and (code or self.remembered):
                        if code not in quiet:
                            self.faults.failed()
                        self.remember(code)
            except BaseException as error:  # noqa: BLE001 - C code must get an answer after any error
                code = self._failed(name, error, on_error)
            if interrupts.pending:
                interrupts.repeat()
            return code

        return entry

    def _releasing(self, name: str, function: Callable[..., int | None]) -> Callable[..., int]:
        run = self._entry(name, function, None, True)
        self.interrupts.shield(run.__code__)

        def release(*arguments: Any) -> int:
            # In the middle of a call of this thread, or on a worker, this is garbage collection at work: what is
            # released may be in use by that call, or by the operation that runs.
            if self.shared.refusal is None and self._is_busy_here():
                self.shared.deferred.append(lambda: run(*arguments))
                return 0
            return run(*arguments)

        return self._unlocked(name, release, None)

    def _unlocked(self, name: str, function: Callable[..., int | None], on_error: int | None) -> Callable[..., int]:
        interrupts = self.interrupts

        def unlocked_entry(*arguments: Any) -> int:
            try:
                code = function(*arguments) or 0
            except BaseException as error:  # noqa: BLE001 - C code must get an answer after any error
                code = self._failed(name, error, on_error)
            if interrupts.pending:
                interrupts.repeat()
            return code

        return unlocked_entry

    def _is_busy_here(self) -> bool:
        if self.shared.is_worker():
            return True
        if not self.lock.acquire(blocking=False):
            return False  # another thread is inside, so this one is not
        try:
            return self.shared.depth > 0
        finally:
            self.lock.release()

    def _apply_deferred(self) -> None:
        while self.shared.deferred:
            self.shared.deferred.popleft()()

    # -- failures --------------------------------------------------------------------------------------------------

    def failed(self, code: int) -> None:
        """A call returns `code` without having run: note it as its function would have."""
        with self.lock:
            if code not in self.codes.quiet:
                self.faults.failed()
            self.remember(code)

    def _failed(self, name: str, error: BaseException, on_error: int | None) -> int:
        """The code for an exception; its text is kept for the fault report."""
        if isinstance(error, CallError):
            if error.note:
                self.faults.add(f"{name}: {error.note}")
            return error.code if on_error is None else on_error
        if isinstance(error, KeyboardInterrupt):
            self.interrupts.interrupt()
            self.faults.add(f"{name}: interrupted by Ctrl-C")
        else:
            self.faults.add(f"{name}: {''.join(traceback.format_exception(error))}".rstrip())
        return self.codes.unknown if on_error is None else on_error

    def _refuse(self, name: str, on_error: int | None) -> int:
        code = self.codes.not_initialized
        self.faults.replace(f"{name}: {self.shared.refusal}")
        return code if on_error is None else on_error

    # -- waiting ---------------------------------------------------------------------------------------------------

    def wait(self, is_done: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait, without the lock, until `is_done()`; returns whether it is. Only within a call.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed and this is the main thread.
            CallError: the process ends, or this is a worker thread, which must not wait for itself.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        is_main = threading.get_ident() == self._main
        while not is_done():
            if self.shared.closing:
                raise CallError(self.codes.deinitialized)
            if self.shared.is_worker():
                raise CallError(self.codes.unknown, "a blocking call from a host function would wait for itself")
            if is_main and self.interrupts.pending:
                self._run_handlers()
            left = _POLL_SECONDS if deadline is None else min(_POLL_SECONDS, deadline - time.monotonic())
            if left <= 0:
                return False
            self._sleep(left)
        return True

    def _run_handlers(self) -> None:
        """Let the handlers of held off signals run. Raises where the wait is to end."""
        error = self.interrupts.run_noted()
        if error is not None:
            raise CallError(self.codes.unknown, f"the wait was ended by {type(error).__name__} of a signal handler")
        if self.interrupts.interrupted:
            self.shared.on_interrupted_wait()
            raise KeyboardInterrupt

    def _sleep(self, seconds: float) -> None:
        shared = self.shared
        depth, shared.depth = shared.depth, 0
        shared.sleepers += 1
        try:
            self.changed.wait(seconds)
        finally:
            shared.sleepers -= 1
            shared.depth = depth
