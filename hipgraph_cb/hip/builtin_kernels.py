"""Kernels of our own in a process of HIP."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from hipgraph_cb.backend.lifetime import Handle

if TYPE_CHECKING:
    from hipgraph_cb.code_object.verify import VerifiedExecutable, VerifiedExport
    from hipgraph_cb.hip.api import HipApi


class BuiltinKernel:
    """A kernel shipped with this package, on one device, loaded when it is needed first.

    Args:
        name: the kernel's.
        verified: gives its code object; asked when it is loaded.

    Attributes:
        handle: keeps the module alive once it is loaded; programs that use it hold it too.
        function, export: the kernel, once it is loaded.
    """

    def __init__(self, api: HipApi, name: str, verified: Callable[[], VerifiedExecutable]) -> None:
        self._api = api
        self._name = name
        self._verified = verified
        self.handle: Handle | None = None
        self._loading = threading.RLock()
        self.function = 0
        self.export: VerifiedExport

    def load(self) -> Handle:
        """Load it, unless it is there.

        Raises:
            UnavailableError: there is none for this target.
            HipError: HIP refused it.
        """
        with self._loading:
            if self.handle is None:
                self.handle = self._load()
            return self.handle

    def _load(self) -> Handle:
        verified, where = self._verified(), f"the {self._name} kernel"
        native = self._api.call("hipModuleLoadData", verified.data, where=where)
        handle = Handle(self._api, native, "hipModuleUnload", keep=verified.data)
        try:
            self.function = int(self._api.call("hipModuleGetFunction", native, self._name.encode(), where=where))
        except BaseException:
            handle.release()
            raise
        self.export = verified.exports[self._name]
        return handle

    def release(self) -> None:
        """Give the module back, once no program holds it."""
        self.handle = None
