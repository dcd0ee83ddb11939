"""One HIP object and the call that gives it back."""

from __future__ import annotations

import weakref
from typing import Any

from hipgraph_cb.hip.api import HipApi


class Handle:
    """Owns one HIP object. It is given back once: by `release()`, or when the last owner lets go of the handle.

    At interpreter exit nothing is given back: the process takes everything with it, and the library may be gone.

    Args:
        native: the object or address, as hip-python takes it.
        release_function: the HIP function that gives it back.
        keep: something in host memory that HIP may read while the object lives.
    """

    __slots__ = ("__weakref__", "_finalizer", "_keep", "native")

    def __init__(self, api: HipApi, native: Any, release_function: str, keep: object = None) -> None:
        self.native = native
        self._keep = keep
        self._finalizer = weakref.finalize(self, api.release, release_function, native)
        self._finalizer.atexit = False

    def release(self) -> None:
        self._finalizer()
