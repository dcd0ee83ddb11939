"""Buffers and executables whose memory belongs to a handle, which programs that need it hold too."""

from __future__ import annotations

from hipgraph_cb.backend.handle import Handle
from hipgraph_cb.device import Buffer, Device, Executable
from hipgraph_cb.executable.verify import VerifiedExecutable


class OwnedBuffer(Buffer):
    """It goes when it is closed (or collected) and no program holds its handle.

    Attributes:
        handle: what keeps the memory alive: an allocation, or the loaded code for a global variable.
    """

    def __init__(self, device: Device, size: int, address: int, handle: Handle, label: str | None) -> None:
        super().__init__(device, size, address, label)
        self.handle: Handle | None = handle

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
