"""Programs of one-shot recordings: replayed once at most."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from hipgraph_cb.errors import FailedPreconditionError

STREAM = "stream"


class OneShot:
    """Whether the program of a one-shot recording has run.

    Args:
        where: the program, as messages call it.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._lock = Lock()
        self._is_used = False

    @contextmanager
    def used(self) -> Iterator[None]:
        """The one replay; one that raises does not count.

        Raises:
            FailedPreconditionError: there was one before.
        """
        with self._lock:
            if self._is_used:
                raise FailedPreconditionError(
                    "replay: the recording is one-shot, and this program has run",
                    where=self._where,
                    next_step="make another program of it with device.program(recording), or record without one_shot",
                )
            self._is_used = True
        try:
            yield
        except BaseException:
            self._is_used = False
            raise

    @contextmanager
    def watched(self, check: object) -> Iterator[None]:
        """As `used`, for a replay with a check; FailedPreconditionError for one that replays several times."""
        if check == STREAM:
            self.refuse_several("replay(check='stream')")
        with self.used():
            yield

    def refuse_several(self, action: str) -> None:
        """Refuse what replays several times; raises FailedPreconditionError."""
        raise FailedPreconditionError(
            f"{action}: it replays several times, and the recording is one-shot",
            where=self._where,
            next_step="record without one_shot",
        )
