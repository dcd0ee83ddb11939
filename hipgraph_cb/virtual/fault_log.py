"""What the virtual device reports about the last failure, beyond the code that a C function can return."""

from __future__ import annotations

import threading

_MOST_ENTRIES = 20


class FaultLog:
    """Texts about the last failing call or faulting kernel.

    A failure that explains itself adds a text. A later failure without one of its own clears the log, so that what
    `report` returns always belongs to the last failure; successful calls do not change it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a finalizer in the middle of a failure may fail too
        self._entries: list[str] = []
        self._unread: list[str] = []
        self._is_fresh = False

    def add(self, text: str) -> None:
        """Add a text about the failure that is about to be returned."""
        with self._lock:
            if not self._is_fresh:
                self._entries.clear()
            self._is_fresh = True
            if text not in self._entries and len(self._entries) < _MOST_ENTRIES:
                self._entries.append(text)

    def keep(self, text: str) -> None:
        """Keep a text about work that has failed, which nobody may ever wait for."""
        with self._lock:
            if len(self._unread) < _MOST_ENTRIES:
                self._unread.append(text)

    def unread(self) -> list[str]:
        """What was kept and was in no report; returned once."""
        with self._lock:
            found, self._unread = self._unread, []
            return found

    def replace(self, text: str) -> None:
        """Replace all texts by this one."""
        with self._lock:
            self._entries[:] = [text]

    def failed(self) -> None:
        """A call has failed: what was added since the failure before it belongs to it."""
        with self._lock:
            if not self._is_fresh:
                self._entries.clear()
            self._is_fresh = False

    def report(self) -> str | None:
        """All texts about the last failure, or None."""
        with self._lock:
            self._unread = [text for text in self._unread if text not in self._entries]
            return "\n".join(self._entries) or None

    def reset_lock(self) -> None:
        """After a fork: the thread that held the lock may be gone."""
        self._lock = threading.RLock()
