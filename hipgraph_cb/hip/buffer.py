"""Device memory of the HIP backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.backend.handle import Handle
from hipgraph_cb.backend.owned import OwnedBuffer
from hipgraph_cb.hip.api import bindings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hipgraph_cb.hip.device import HipDevice


class HipBuffer(OwnedBuffer):
    """Memory on a HIP device."""

    _device: HipDevice

    @classmethod
    def allocate(cls, device: HipDevice, size: int, label: str | None) -> HipBuffer:
        device.backlog.sweep()
        device.api.make_current()
        where = f"a buffer of {size} bytes" if label is None else f"buffer `{label}` of {size} bytes"
        native = device.api.call("hipMalloc", size, where=where)
        return cls(device, size, int(native), Handle(device.api, int(native), "hipFree"), label)

    def _write(self, offset: int, host: NDArray[np.uint8]) -> None:
        self._device.wait_for_queues()
        kind = bindings().hipMemcpyKind.hipMemcpyHostToDevice
        destination = self._address + offset
        self._device.api.call("hipMemcpy", destination, host.ctypes.data, host.nbytes, kind, where=self.describe())

    def _read(self, offset: int, host: NDArray[np.uint8]) -> None:
        self._device.wait_for_queues()
        kind = bindings().hipMemcpyKind.hipMemcpyDeviceToHost
        source = self._address + offset
        self._device.api.call("hipMemcpy", host.ctypes.data, source, host.nbytes, kind, where=self.describe())
