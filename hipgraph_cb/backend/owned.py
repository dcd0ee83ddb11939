"""Buffers and executables whose memory belongs to a handle, which programs that need it hold too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.code_object.verify import VerifiedExecutable
from hipgraph_cb.runtime.buffer import Buffer
from hipgraph_cb.runtime.device import Device
from hipgraph_cb.runtime.executable import Executable

if TYPE_CHECKING:
    from hipgraph_cb.backend.device import BackendDevice


class OwnedBuffer(Buffer):
    """It goes when it is closed (or collected) and no program holds its handle.

    Attributes:
        handle: what keeps the memory alive: an allocation, or the loaded code for a global variable.
    """

    _device: BackendDevice

    def __init__(self, device: BackendDevice, size: int, address: int, handle: Handle, label: str | None) -> None:
        super().__init__(device, size, address, label)
        self.handle: Handle | None = handle

    def check_open(self, action: str) -> None:
        """As the base says. A `__del__` may come when the collector has taken the memory already."""
        if self._closed or (self.handle is not None and not self.handle.is_alive):
            raise self.closed_error(action)

    def _settle(self) -> None:
        self._device.wait_for_queues()

    def _release(self) -> None:
        self.handle = None


class OwnedExecutable(Executable):
    """It goes when it is closed (or collected) and neither a program nor a global variable holds its handle."""

    handle: Handle | None

    def __init__(self, device: Device, verified: VerifiedExecutable, label: str | None) -> None:
        super().__init__(device, verified, label)
        self.handle = None

    def _loaded(self) -> Handle:
        """The handle, if it is open."""
        handle = self.handle
        if handle is None:
            raise self.closed_error("executable")
        return handle

    def _release(self) -> None:
        self.handle = None
