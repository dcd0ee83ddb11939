"""One object of a GPU runtime and the call that gives it back."""

from __future__ import annotations

import weakref
from typing import Any, Protocol


class ReleasingApi(Protocol):
    """The functions of a runtime, as far as giving back is concerned."""

    def release(self, name: str, handle: Any) -> None:
        """Call the function `name` for `handle`. It raises nothing: a failure is logged and counts as released."""


class Handle:
    """Owns one object of the runtime, and gives it back once: by `release()`, or when the last owner lets go of it.

    At interpreter exit nothing is given back: the process takes everything with it, and the library may be gone.

    Args:
        native: the object or address, as the function that gives it back takes it.
        release_function: the name of that function.
        keep: something in host memory that the runtime may read while the object lives.
    """

    __slots__ = ("__weakref__", "_finalizer", "_keep", "native")

    def __init__(self, api: ReleasingApi, native: Any, release_function: str, keep: object = None) -> None:
        self.native = native
        self._keep = keep
        self._finalizer = weakref.finalize(self, api.release, release_function, native)
        self._finalizer.atexit = False

    @property
    def is_alive(self) -> bool:
        """Whether it was not given back yet."""
        return self._finalizer.alive

    def release(self) -> None:
        self._finalizer()


class Borrowed(Handle):
    """Keeps memory alive that somebody else owns, and gives nothing back."""

    __slots__ = ()

    def __init__(self, owner: object) -> None:
        self._keep = owner

    @property
    def is_alive(self) -> bool:
        return True

    def release(self) -> None:
        self._keep = None
