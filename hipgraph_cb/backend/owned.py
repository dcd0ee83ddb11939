"""Buffers and executables whose memory belongs to a handle, which programs that need it hold too."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from hipgraph_cb.backend.host_calls import refuse_in_host_call
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.code_object.verify import VerifiedExecutable
from hipgraph_cb.runtime.buffer import Buffer
from hipgraph_cb.runtime.device import Device
from hipgraph_cb.runtime.executable import Executable

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from hipgraph_cb.backend.device import BackendDevice
    from hipgraph_cb.code_object.code_object import CodeObject
    from hipgraph_cb.runtime.stream import Stream


def buffer_to_be(size: int, label: str | None) -> str:
    """How messages call a buffer that is being allocated."""
    return f"a buffer of {size} bytes" if label is None else f"buffer `{label}` of {size} bytes"


class OwnedBuffer(Buffer):
    """Released when it is closed (or collected) and no program holds its handle.

    Attributes:
        handle: what keeps the memory alive: an allocation, or the loaded code for a global variable.
    """

    _device: BackendDevice

    def __init__(self, device: BackendDevice, size: int, address: int, handle: Handle, label: str | None) -> None:
        super().__init__(device, size, address, label)
        self.handle: Handle | None = handle

    @property
    def bound_address(self) -> int:
        """The device address, for a program that holds the handle: closing the buffer changes nothing for it (R5)."""
        return self._address

    def _check_open(self, action: str) -> None:
        """As the base says. A `__del__` may run after the collector has released the memory."""
        refuse_in_host_call(action)
        self.held(action)

    def held(self, action: str) -> Handle:
        """The handle, for as long as the memory is used: another thread may close the buffer meanwhile.

        Raises:
            FailedPreconditionError: it is closed.
        """
        if self._device.absence is not None:
            self._device.absence.refuse(action)
        handle = self.handle
        if self._closed or handle is None or not handle.is_alive:
            raise self._closed_error(action)
        return handle

    def _write(self, offset: int, host: NDArray[np.uint8]) -> None:
        handle = self.held("write")
        self._settle()
        self._copy(self._address + offset, host, handle, to_host=False)

    def _read(self, offset: int, host: NDArray[np.uint8], stream: Stream | None = None) -> None:
        handle = self.held("to_host")
        self._settle(stream)
        self._copy(self._address + offset, host, handle, to_host=True)

    @abstractmethod
    def _copy(self, address: int, host: NDArray[np.uint8], keep: Handle, to_host: bool) -> None:
        """Copy between host memory and the device address; `keep` keeps it alive until this returns."""

    def _keep(self, action: str) -> object:
        return self.held(action)

    def _settle(self, stream: Stream | None = None) -> None:
        if stream is None:
            self._device.wait_for_queues()
        else:
            self._device.wait_for_stream(stream)

    def _release(self) -> None:
        self.handle = None


class OwnedExecutable(Executable):
    """Each module is released when this is closed (or collected) and neither a program nor a global variable holds it.

    Attributes:
        handles: of the modules, by number; None when it is closed.
    """

    handles: tuple[Handle, ...] | None

    def __init__(self, device: Device, verified: VerifiedExecutable, label: str | None) -> None:
        super().__init__(device, verified, label)
        self.handles = None

    def _load_modules(self, load: Callable[[CodeObject], Handle]) -> None:
        """Load every module; where one cannot be, none is."""
        handles: list[Handle] = []
        try:
            for module in self.verified.modules:
                handles.append(load(module))
        except BaseException:
            for handle in reversed(handles):
                handle.release()
            raise
        self.handles = tuple(handles)

    def held(self, action: str = "executable") -> tuple[Handle, ...]:
        """The handles, for as long as the code is used. Raises FailedPreconditionError where it is closed."""
        handles = self.handles
        if self._closed or handles is None:
            raise self._closed_error(action)
        return handles

    def _release(self) -> None:
        self.handles = None
