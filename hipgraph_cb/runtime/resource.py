"""What every object of a backend has in common: it is closed once, in any order, and refuses to be used afterwards."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING

from hipgraph_cb.errors import FailedPreconditionError, HipGraphError
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.getLogger("hipgraph_cb")


class Resource(ABC):
    """Something that is closed once: by `close()`, by leaving `with`, or when the last reference to it is dropped.

    Every method raises FailedPreconditionError afterwards.
    """

    kind = "resource"
    label: str | None = None
    _closed = False

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Release the resource; calling it again does nothing."""
        if self._is_first_to_close():
            self._release()

    def _is_first_to_close(self) -> bool:
        """Close for all further calls; returns whether this call, of those of all threads, has to release."""
        caller = object()
        self._closed = True
        return self.__dict__.setdefault("_closer", caller) is caller  # one step, so only one caller is the first

    def __enter__(self) -> Self:
        self._check_open("with")
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except HipGraphError as failure:  # must not hide the error that is on its way
            logger.warning("while another error was on its way: %s", failure)

    def _check_open(self, action: str) -> None:
        """Raise FailedPreconditionError, naming `action`, if this was closed."""
        if self._closed:
            raise self._closed_error(action)

    def _closed_error(self, action: str) -> FailedPreconditionError:
        """What `action` raises when this is closed."""
        return FailedPreconditionError(
            f"{action}: {self.describe()} is closed",
            next_step=f"use the {self.kind} before its close(), or make another one",
        )

    def describe(self) -> str:
        """What messages call it: its kind, and its label where it has one."""
        return self.kind if self.label is None else f"{self.kind} `{visible(self.label)}`"

    def __dir__(self) -> list[str]:
        """The public names: those that the classes of `hipgraph_cb.runtime` have, for every backend."""
        public = {
            name
            for each in type(self).__mro__
            if each.__module__.startswith("hipgraph_cb.runtime")
            for name in (*vars(each), *getattr(each, "__annotations__", ()))
        }
        return sorted(name for name in public if not name.startswith("_"))

    @abstractmethod
    def _release(self) -> None:
        """Called once."""
