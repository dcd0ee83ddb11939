"""A HIP stream with its count of launches, and bounded waits on it.

Every launch gets a ticket: its number on the queue. What a launch needs may go when the ticket is done. Done is known
from hipStreamQuery alone: the queue is idle, so everything that had been enqueued before the query is done.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from hipgraph_cb.errors import DeadlineExceededError, HipGraphError
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.handle import Handle

FIRST_PAUSE = 50e-6
LONGEST_PAUSE = 1e-3
EAGER_QUERIES = 50
"""Queries without a pause at the start of a wait: most waits are shorter than one sleep."""


class Queue:
    """One HIP stream: ours (with a handle that owns it) or somebody else's.

    Attributes:
        native: what hip-python takes as a stream.
        lock: held while something is enqueued and its ticket is taken.
        enqueued: the ticket of the last thing enqueued.
        last_work: what that was, for messages.
    """

    def __init__(self, api: HipApi, native: Any, name: str, handle: Handle | None = None) -> None:
        self.api = api
        self.native = native
        self.name = name
        self.handle = handle
        self.lock = threading.Lock()
        self.enqueued = 0
        self.last_work = "nothing"
        self._done = 0
        self._failure: HipGraphError | None = None

    @property
    def busy(self) -> bool:
        """Whether something is enqueued that is not known to be done. Asks nobody."""
        return self._done < self.enqueued

    @property
    def failed(self) -> bool:
        """Whether a failure was noticed that no wait has raised yet."""
        return self._failure is not None

    def is_done(self, ticket: int) -> bool:
        """Whether the work with this ticket is known to be done. Asks nobody."""
        return self._done >= ticket

    def refresh(self) -> None:
        """Ask once what is done. Failed work is done; the failure is kept for the next wait."""
        if self.busy:
            try:
                self.poll()
            except HipGraphError as error:
                self._failure = error

    def poll(self) -> bool:
        """Whether the queue is idle.

        Raises:
            HipError: work on it failed. It is done then, and the error is raised once.
        """
        enqueued = self.enqueued
        where = f"waiting for {self.name}, last enqueued: {self.last_work}"
        try:
            idle = self.api.query("hipStreamQuery", self.native, where=where)
        except HipGraphError:
            self._done = enqueued
            raise
        if idle:
            self._done = enqueued
        return idle

    def wait(self, timeout: float | None) -> None:
        """Wait until all work is done, for `timeout` seconds at most (None: without an end).

        It polls, so that Ctrl-C works and the wait is bounded (P4).

        Raises:
            DeadlineExceededError: not done in time.
            HipError: the work failed.
        """
        failure = self.take_failure()
        if failure is not None:
            raise failure
        started = time.monotonic()
        queries, pause = 0, FIRST_PAUSE
        while not self.poll():
            elapsed = time.monotonic() - started
            if timeout is not None and elapsed >= timeout:
                raise self._timeout(timeout)
            queries += 1
            if queries < EAGER_QUERIES:
                time.sleep(0)
                continue
            time.sleep(pause if timeout is None else min(pause, timeout - elapsed))
            pause = min(2 * pause, LONGEST_PAUSE)

    def take_failure(self) -> HipGraphError | None:
        """The failure that was noticed outside of a wait, if there is one; whoever takes it reports it."""
        failure, self._failure = self._failure, None
        return failure

    def release(self) -> None:
        """Give the HIP stream back if it is ours."""
        if self.handle is not None:
            self.handle.release()

    def _timeout(self, timeout: float) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"synchronize: the work was not done after {timeout:g} s",
            where=self.name,
            found=f"{self.enqueued - self._done} of {self.enqueued} launches not known to be done; "
            f"the last one is {self.last_work}",
            next_step="give a longer timeout=, set device.timeout, or look for a kernel that does not end",
        )
