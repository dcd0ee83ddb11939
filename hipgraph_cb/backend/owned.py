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
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from hipgraph_cb.backend.device import BackendDevice
    from hipgraph_cb.code_object.code_object import CodeObject
    from hipgraph_cb.runtime.stream import Stream


CONSTANT_ALIGNMENT = 64
"""Bytes; more than any type wants."""


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

    def part(self, offset: int, size: int, label: str | None) -> OwnedBuffer:
        """Some of its memory as a buffer, which keeps it alive."""
        return type(self)(self._device, size, self._address + offset, self.held("program"), label)

    def _write(self, offset: int, host: NDArray[np.uint8]) -> None:
        handle = self.held("write")
        self._settle()
        self._copy(self._address + offset, host, handle, to_host=False)

    def _read(self, offset: int, host: NDArray[np.uint8], stream: Stream | None = None) -> None:
        handle = self.held("to_host")
        self._settle(stream)
        self._copy(self._address + offset, host, handle, to_host=True)

    def _write_now(self, data: bytes) -> None:
        """Write all of it, while nothing that runs can use it yet."""
        from hipgraph_cb.runtime.buffer import host_bytes

        self._copy(self._address, host_bytes(data, "write"), self.held("write"), to_host=False)

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

    def _load_modules(self) -> None:
        """Load every module, and give its variables the constants; where something fails, nothing stays loaded."""
        handles: list[Handle] = []
        memory, addresses = self._placed_constants()
        try:
            for module in self.verified.modules:
                handles.append(self._load_module(module, memory, addresses))
            self.handles = tuple(handles)
            for name, value in self.verified.constants.items():
                if name in self.verified.globals:
                    self._global(name)._write_now(value)
        except BaseException:
            self.handles = None
            for handle in (*reversed(handles), *(() if memory is None else (memory,))):
                handle.release()
            raise

    def _placed_constants(self) -> tuple[Handle | None, dict[str, int]]:
        """Memory with the values of the symbols that are undefined, and their addresses in it."""
        addresses: dict[str, int] = {}
        image = bytearray()
        for name in self.verified.undefined:
            addresses[name] = len(image)
            value = self.verified.constants[name]
            image += value.ljust(-(-len(value) // CONSTANT_ALIGNMENT) * CONSTANT_ALIGNMENT, b"\0")
        if not image:
            return None, addresses
        buffer = self._new_buffer(len(image), f"constants of {self.describe()}")
        try:
            buffer._write_now(bytes(image))
        except BaseException:
            buffer.close()
            raise
        return buffer.handle, {name: buffer.bound_address + offset for name, offset in addresses.items()}

    @abstractmethod
    def _load_module(self, module: CodeObject, keep: Handle | None, addresses: Mapping[str, int]) -> Handle:
        """Load one module, whose undefined symbols have these addresses in memory that its handle keeps."""

    @abstractmethod
    def _new_buffer(self, size: int, label: str) -> OwnedBuffer: ...

    @abstractmethod
    def _global(self, name: str) -> OwnedBuffer: ...

    def held(self, action: str = "executable") -> tuple[Handle, ...]:
        """The handles, for as long as the code is used. Raises FailedPreconditionError where it is closed."""
        handles = self.handles
        if self._closed or handles is None:
            raise self._closed_error(action)
        return handles

    def _release(self) -> None:
        self.handles = None
