"""Device memory of the HIP backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.device import Buffer
from hipgraph_cb.hip.api import bindings
from hipgraph_cb.hip.handle import Handle

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hipgraph_cb.hip.device import HipDevice


class HipBuffer(Buffer):
    """Memory on a HIP device. It goes when it is closed (or collected) and no program holds it.

    Attributes:
        handle: what keeps the memory alive: an allocation, or the module for a global variable.
    """

    _device: HipDevice

    def __init__(self, device: HipDevice, size: int, address: int, handle: Handle, label: str | None) -> None:
        super().__init__(device, size, address, label)
        self.handle: Handle | None = handle

    @classmethod
    def allocate(cls, device: HipDevice, size: int, label: str | None) -> HipBuffer:
        device.backlog.sweep()
        device.api.make_current()
        where = f"a buffer of {size} bytes" if label is None else f"buffer `{label}` of {size} bytes"
        native = device.api.call("hipMalloc", size, where=where)
        return cls(device, size, int(native), Handle(device.api, int(native), "hipFree"), label)

    def _release(self) -> None:
        self.handle = None  # programs that need the memory hold the handle too

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
