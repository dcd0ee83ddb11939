"""Device memory that somebody else owns, such as HIP in the same process, which allocates through HSA too."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from hipgraph_cb.abi.hsa.attributes import PointerType
from hipgraph_cb.abi.hsa.structures import PointerInfo
from hipgraph_cb.backend.imported import ForeignBuffer, check_extent
from hipgraph_cb.backend.lifetime import Borrowed
from hipgraph_cb.errors import InvalidArgumentError, UnimplementedError
from hipgraph_cb.hsa.memory import HsaBuffer

if TYPE_CHECKING:
    from hipgraph_cb.foreign.memory import ForeignMemory
    from hipgraph_cb.hsa.device import HsaDevice


_DEVICE_MEMORY = (PointerType.HSA, PointerType.HSA_VMEM)


class ImportedHsaBuffer(ForeignBuffer, HsaBuffer):
    """Memory that the HSA runtime knows, of this agent."""

    @classmethod
    def of(cls, device: HsaDevice, memory: ForeignMemory, label: str | None) -> ImportedHsaBuffer:
        """
        Raises:
            InvalidArgumentError: the runtime does not know the memory, or it belongs to another agent.
            OutOfRangeError: it reaches past the end of its allocation.
            UnimplementedError: the producer names a stream, which is HIP's.
        """
        if memory.stream is not None:
            raise UnimplementedError(
                "import_buffer: this backend cannot wait for a stream of HIP",
                where=memory.name,
                found=f"stream {memory.stream:#x} in the __cuda_array_interface__",
                next_step="synchronize the producer, then import the address with size=",
            )
        info = _pointer_info(device, memory.address)
        if info.type not in _DEVICE_MEMORY:
            raise InvalidArgumentError(
                "import_buffer: the HSA runtime knows of no memory there",
                where=memory.name,
                found=f"address {memory.address:#x}",
            )
        if info.agentOwner != device.agent.handle:
            raise InvalidArgumentError(
                "import_buffer: the memory belongs to another device",
                where=memory.name,
                found=f"agent {info.agentOwner:#x}",
                allowed=f"agent {device.agent.handle:#x}",
            )
        check_extent(memory, _end_of_memory(device, info, memory.address + memory.size))
        return cls(device, memory.size, memory.address, Borrowed(memory.owner), label)

    def check_there(self) -> None:
        if _pointer_info(self._device, self._address).type not in _DEVICE_MEMORY:
            raise self._gone()


def _pointer_info(device: HsaDevice, address: int) -> PointerInfo:
    info = PointerInfo(size=ctypes.sizeof(PointerInfo))
    device.api.call("hsa_amd_pointer_info", address, ctypes.byref(info), None, None, None)
    return info


def _end_of_memory(device: HsaDevice, info: PointerInfo, wanted: int) -> int:
    """Where memory ends. Mappings without a gap are one, so far as `wanted`."""
    end = int(info.agentBaseAddress + info.sizeInBytes)
    while end < wanted and info.type == PointerType.HSA_VMEM:
        info = _pointer_info(device, end)
        if info.agentBaseAddress != end:
            break
        end += info.sizeInBytes
    return end
