"""Copies and fills of rows by kernels of our own.

On AMD's runtime a memset node of several rows writes past them, and a copy node of several rows ends the process
where its direction is wrong.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hipgraph_cb.backend.blits import code_object_for, most_lanes
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.backend.row_blits import ROW_KERNELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hipgraph_cb.code_object.kernel_args import KernargLayout
    from hipgraph_cb.code_object.target_id import TargetId
    from hipgraph_cb.hip.api import HipApi


class RowKernels:
    """The kernels on one device, loaded when they are needed first.

    Args:
        compute_units: of the device.

    Attributes:
        most_lanes: work-items that one launch may have.
        handle: keeps the module alive once it is loaded; programs that use it hold it too.
        functions, layouts: of the kernels by name, once they are loaded.
    """

    def __init__(self, api: HipApi, target: TargetId, compute_units: int) -> None:
        self._api = api
        self._target = target
        self.most_lanes = most_lanes(compute_units)
        self.handle: Handle | None = None
        self._loading = threading.RLock()
        self.functions: Mapping[str, int] = {}
        self.layouts: Mapping[str, KernargLayout] = {}

    def load(self) -> Handle:
        """Load them, unless they are there.

        Raises:
            UnavailableError: there are none for this target.
            HipError: HIP refused them.
        """
        with self._loading:
            if self.handle is None:
                self.handle = self._load()
            return self.handle

    def _load(self) -> Handle:
        missing = "program: there are no kernels for copies and fills of rows for this target"
        verified = code_object_for(self._target, missing, "record a copy or a fill for each row")
        where = "the kernels for rows"
        native = self._api.call("hipModuleLoadData", verified.data, where=where)
        handle = Handle(self._api, native, "hipModuleUnload", keep=verified.data)
        try:
            self.functions = {
                name: int(self._api.call("hipModuleGetFunction", native, name.encode(), where=where))
                for name in ROW_KERNELS
            }
        except BaseException:
            handle.release()
            raise
        self.layouts = {name: verified.exports[name].layout for name in ROW_KERNELS}
        return handle

    def release(self) -> None:
        """Give the module back, once no program holds it."""
        self.handle = None
