"""Device memory of the HIP backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.backend.host_buffer import LockedBuffer, host_buffer_to_be
from hipgraph_cb.backend.imported import ForeignBuffer, check_extent
from hipgraph_cb.backend.lifetime import Borrowed, Handle
from hipgraph_cb.backend.owned import OwnedBuffer, buffer_to_be
from hipgraph_cb.errors import HipError, InvalidArgumentError
from hipgraph_cb.hip.api import bindings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hipgraph_cb.foreign.memory import ForeignMemory
    from hipgraph_cb.hip.device import HipDevice


UNKNOWN_MEMORY = (Code.INVALID_VALUE, Code.INVALID_DEVICE_POINTER, Code.NOT_FOUND)
"""There is no such memory."""


class HipBuffer(OwnedBuffer):
    """Memory on a HIP device."""

    _device: HipDevice

    def _copy(self, address: int, host: NDArray[np.uint8], keep: Handle, to_host: bool) -> None:
        kinds = bindings().hipMemcpyKind
        if to_host:
            arguments = (host.ctypes.data, address, host.nbytes, kinds.hipMemcpyDeviceToHost)
        else:
            arguments = (address, host.ctypes.data, host.nbytes, kinds.hipMemcpyHostToDevice)
        self._device.api.call("hipMemcpy", *arguments, where=self.describe())


class HipHostBuffer(LockedBuffer, HipBuffer):
    """Memory of hipHostMalloc."""


class ImportedBuffer(ForeignBuffer, HipBuffer):
    """Looked for again, since AMD's runtime ends the process when a node is given memory that was freed."""

    @classmethod
    def of(cls, device: HipDevice, memory: ForeignMemory, label: str | None) -> ImportedBuffer:
        """
        Raises:
            InvalidArgumentError: the runtime does not know the memory, or it belongs to another device.
            OutOfRangeError: it reaches past the end of its allocation.
        """
        device.api.make_current()
        _check_device(device, memory)
        check_extent(memory, _end_of_memory(device, memory.address, memory.address + memory.size))
        return cls(device, memory.size, memory.address, Borrowed(memory.owner), label)

    def check_there(self) -> None:
        try:
            _allocation(self._device, self._address)
        except HipError as error:
            if error.code not in UNKNOWN_MEMORY:
                raise
            raise self._gone(str(error)) from error


def _check_device(device: HipDevice, memory: ForeignMemory) -> None:
    try:
        attributes = device.api.call("hipPointerGetAttributes", memory.address)
    except HipError as error:
        if error.code not in UNKNOWN_MEMORY:
            raise
        raise InvalidArgumentError(
            "import_buffer: HIP knows of no memory there", where=memory.name, found=f"address {memory.address:#x}"
        ) from error
    kinds = bindings().hipMemoryType
    if attributes.type == kinds.hipMemoryTypeUnregistered:
        raise InvalidArgumentError(
            "import_buffer: HIP knows of no memory there", where=memory.name, found=f"address {memory.address:#x}"
        )
    if attributes.type not in (kinds.hipMemoryTypeDevice, kinds.hipMemoryTypeManaged):
        raise InvalidArgumentError(
            "import_buffer: this is not device memory",
            where=memory.name,
            found=kinds(attributes.type).name,
            allowed="hipMemoryTypeDevice",
            next_step="device.from_host(...) makes a buffer with a copy of host memory",
        )
    if attributes.device != device.ordinal:
        raise InvalidArgumentError(
            "import_buffer: the memory belongs to another device",
            where=memory.name,
            found=f"device {attributes.device}",
            allowed=f"device {device.ordinal}",
        )


def _allocation(device: HipDevice, address: int) -> tuple[int, int]:
    """Where the allocation begins that holds an address, and its bytes. Raises HipError when there is none."""
    start, size = device.api.call("hipMemGetAddressRange", address)
    return int(start), int(size)


def _end_of_memory(device: HipDevice, address: int, wanted: int) -> int:
    """Where the allocation ends that holds an address. Mappings without a gap are one, so far as `wanted`."""
    start, size = _allocation(device, address)
    end = start + size
    while end < wanted and _is_mapped(device, start):
        try:
            start, size = _allocation(device, end)
        except HipError as error:
            if error.code not in UNKNOWN_MEMORY:
                raise
            return end
        if start != end:
            return end
        end += size
    return end


def _is_mapped(device: HipDevice, address: int) -> bool:
    """The memory was mapped by hipMemMap: only such memory has permissions."""
    hip = bindings()
    location = hip.hipMemLocation(type=hip.hipMemLocationType.hipMemLocationTypeDevice, id=device.ordinal)
    try:
        device.api.call("hipMemGetAccess", location, address)
    except HipError as error:
        if error.code != Code.INVALID_VALUE:
            raise
        return False
    return True


def new_buffer(device: HipDevice, size: int, label: str | None) -> HipBuffer:
    """Uninitialised memory."""
    device.backlog.sweep()
    device.api.make_current()
    native = int(device.api.call("hipMalloc", size, where=buffer_to_be(size, label)))
    return HipBuffer(device, size, native, Handle(device.api, native, "hipFree"), label)


def new_host_buffer(device: HipDevice, size: int, label: str | None) -> HipHostBuffer:
    """Uninitialised page-locked memory."""
    device.backlog.sweep()
    device.api.make_current()
    native = int(device.api.call("hipHostMalloc", size, 0, where=host_buffer_to_be(size, label)))
    return HipHostBuffer(device, size, native, Handle(device.api, native, "hipHostFree"), label)
