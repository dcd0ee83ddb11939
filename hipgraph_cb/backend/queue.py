"""A queue of launches with their count, and bounded waits on it.

Every launch gets a ticket: its number on the queue. What a launch needs may be released when the ticket is done.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from numbers import Real

from hipgraph_cb.backend.host_calls import is_in_host_call, refuse_in_host_call
from hipgraph_cb.errors import DeadlineExceededError, HipGraphError, HostCallError, InvalidArgumentError
from hipgraph_cb.runtime.calls import Calls

FIRST_PAUSE = 50e-6
LONGEST_PAUSE = 1e-3
EAGER_QUERIES = 50
"""Queries without a pause at the start of a wait: most waits are shorter than one sleep."""


class LaunchQueue(ABC):
    """Work in order, on a stream or queue of the runtime.

    Attributes:
        name: as messages call it.
        calls: those that enqueue, or are about to.
        lock: held while something is enqueued and its ticket is taken.
        enqueued: the ticket of the last thing enqueued.
        last_work: what that was, for messages.
        is_abandoned: whether its stream is closed; it goes when it is idle.
        is_released: whether the runtime's object is being released, or was.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = Calls()
        self.lock = threading.Lock()
        self.enqueued = 0
        self.last_work = "nothing"
        self._done = 0
        self._failure: HipGraphError | None = None
        self._host_failures: list[deque[HostCallError]] = []
        self._polling = threading.Lock()
        self.is_abandoned = False
        self.is_released = False

    @property
    def busy(self) -> bool:
        """Whether something is enqueued that is not known to be done, without a call of the runtime."""
        return self._done < self.enqueued

    @property
    def failed(self) -> bool:
        """Whether a failure was noticed that no wait has raised yet."""
        return self._failure is not None or any(self._host_failures)

    def watch(self, failures: deque[HostCallError]) -> None:
        """Let waits report what host calls of a launch put there. The caller holds the lock, and launches next."""
        if not any(failures is each for each in self._host_failures):
            self._host_failures.append(failures)

    def is_done(self, ticket: int) -> bool:
        """Whether the work with this ticket is known to be done, without a call of the runtime."""
        return self._done >= ticket

    def refresh(self) -> None:
        """Query once what is done. Failed work is done; the failure is kept for the next wait."""
        if self.busy:
            try:
                self.poll()
            except HipGraphError as error:
                self._failure = error

    def poll(self) -> bool:
        """Query the runtime for what is done, and return whether all is.

        It blocks on nothing, since a finalizer may call it in the middle of a launch or of a poll.

        Raises:
            HipError, HsaError: work on the queue failed. It is done then, and the error is raised once.
        """
        polling = self._polling
        if is_in_host_call() or not polling.acquire(blocking=False):
            return not self.busy
        try:
            if self.is_released:
                self._done = self.enqueued
                return True
            return self._poll()
        finally:
            polling.release()
            if self.is_released:
                self.release_if_unused()

    def release(self) -> None:
        """Release the runtime's object if it is ours: now, or when the last call or poll in progress ends."""
        self.is_released = True
        self.release_if_unused()

    def forsake(self) -> None:
        """The runtime is gone: all enqueued work is over, and no lock is taken, since its holder may be gone too."""
        self.is_released = True
        self.lock, self._polling = threading.Lock(), threading.Lock()
        self._failure, self._done = None, self.enqueued

    def release_if_unused(self) -> None:
        """A call that has left a queue which `is_released` calls this."""
        polling = self._polling
        if not self.calls and polling.acquire(blocking=False):
            polling.release()
            self._release()

    @abstractmethod
    def _poll(self) -> bool:
        """As `poll`, for one thread at a time, and not after the runtime's object was released."""

    @abstractmethod
    def _release(self) -> None:
        """Release the runtime's object; calling it again does nothing."""

    def wait(self, timeout: float | None, given: float | None = None) -> None:
        """Wait until all work is done, for `timeout` seconds at most (None: without an end).

        It polls, so that Ctrl-C works and the wait is bounded (P4).

        Args:
            given: the seconds that the caller named, where this wait has only what is left of them.

        Raises:
            DeadlineExceededError: not done in time.
            HipError, HsaError: the work failed.
        """
        refuse_in_host_call("synchronize")
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._wait_until(self.poll, timeout, given)
        if self._host_failures:
            self._report_host_calls()

    def _report_host_calls(self) -> None:
        failure = self.take_failure()
        if self.lock.acquire(blocking=False):  # whoever has it launches, or waits in the middle of a launch
            try:
                if not self.busy:
                    self._host_failures.clear()
            finally:
                self.lock.release()
        if failure is not None:
            raise failure

    def wait_for(self, ticket: int, timeout: float | None) -> None:
        """Wait until the work with this ticket is done; a failure is kept for the next wait.

        Raises:
            DeadlineExceededError: not done in time.
        """

        def is_done() -> bool:
            self.refresh()
            return self.is_done(ticket)

        self._wait_until(is_done, timeout)

    def _wait_until(self, is_done: Callable[[], bool], timeout: float | None, given: float | None = None) -> None:
        started = time.monotonic()
        queries, pause = 0, FIRST_PAUSE
        while not is_done():
            elapsed = time.monotonic() - started
            if timeout is not None and elapsed >= timeout:
                raise self._timeout(timeout if given is None else given)
            queries += 1
            if queries < EAGER_QUERIES:
                time.sleep(0)
                continue
            time.sleep(pause if timeout is None else min(pause, timeout - elapsed))
            pause = min(2 * pause, LONGEST_PAUSE)

    def take_failure(self) -> HipGraphError | None:
        """The failure that was noticed outside of a wait, if there is one; the caller reports it."""
        failure, self._failure = self._failure, None
        of_host_calls = [each.popleft() for each in self._host_failures for _ in range(len(each))]
        first: HipGraphError | None = failure or next(iter(of_host_calls), None)
        others = [str(each) for each in of_host_calls if each is not first]
        if first is not None and others:
            first.detail = "\n".join([*([] if first.detail is None else [first.detail]), *others])
        return first

    def _standing(self) -> str:
        """What a timeout says about the runtime's queue beyond the count of launches."""
        return ""

    def _timeout(self, timeout: float) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"synchronize: the work was not done after {timeout:g} s",
            where=self.name,
            found=f"{self.enqueued - self._done} of {self.enqueued} launches not known to be done; "
            f"the last one is {self.last_work}{self._standing()}",
            next_step="give a longer timeout=, set device.timeout, or look for a kernel that does not end",
        )


def seconds(value: object, action: str) -> float:
    """`value` as a time to wait. Raises InvalidArgumentError where it is none."""
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:  # NaN compares false
        raise InvalidArgumentError(f"{action}: bad timeout", found=repr(value), allowed="seconds, 0 or more")
    return float(value)
