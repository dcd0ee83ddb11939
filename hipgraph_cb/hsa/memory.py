"""Memory of the HSA backend: buffers on the device, and host memory that the device sees."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.backend.host_buffer import LockedBuffer, host_buffer_to_be
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.backend.owned import OwnedBuffer, buffer_to_be
from hipgraph_cb.hsa.functions import U64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.hsa.agents import Agent
    from hipgraph_cb.hsa.api import HsaApi
    from hipgraph_cb.hsa.device import HsaDevice


class HsaBuffer(OwnedBuffer):
    """Memory of the GPU."""

    _device: HsaDevice

    def _copy(self, address: int, host: NDArray[np.uint8], keep: Handle, to_host: bool) -> None:
        target, source = (host.ctypes.data, address) if to_host else (address, host.ctypes.data)
        self._device.api.call("hsa_memory_copy", target, source, host.nbytes, where=self.describe())


def new_buffer(device: HsaDevice, size: int, label: str | None) -> HsaBuffer:
    """Uninitialised memory."""
    device.backlog.sweep()
    where = buffer_to_be(size, label)
    handle = _allocate(device.api, device.agent.device_pool, size, where)
    if device.sharers:
        _share(device.api, [device.agent.handle, *device.sharers], handle, where)
    return HsaBuffer(device, size, handle.native, handle, label)


class HsaHostBuffer(LockedBuffer, HsaBuffer):
    """Memory of the host that the GPU may access, fine-grained."""


def new_host_buffer(device: HsaDevice, size: int, label: str | None) -> HsaHostBuffer:
    """Uninitialised page-locked memory."""
    device.backlog.sweep()
    agents = [device.agent.handle, *device.neighbour_agents]
    handle = _allocate_shared(device.api, device.agent, agents, size, host_buffer_to_be(size, label))
    return HsaHostBuffer(device, size, handle.native, handle, label)


class HostMemory:
    """Host memory that kernels read at its host address: kernel arguments, and bytes on their way to the device.

    Args:
        agents: the GPUs that may access it; `agent` alone where none are given.

    Attributes:
        handle: keeps it.
        address: of the first byte; a multiple of 64 at least.
        bytes: all of it.
    """

    def __init__(self, api: HsaApi, agent: Agent, where: str, size: int, agents: Sequence[int] = ()) -> None:
        self.handle = _allocate_shared(api, agent, list(agents) or [agent.handle], size, where)
        self.address: int = self.handle.native
        self.bytes: NDArray[np.uint8] = memory_at(self.address, size)

    def release(self) -> None:
        self.handle.release()


def memory_at(address: int, size: int) -> NDArray[np.uint8]:
    """The `size` bytes at an address, which must stay mapped for as long as the array is used."""
    return np.frombuffer(memoryview((ctypes.c_ubyte * size).from_address(address)), np.uint8)


def _allocate_shared(api: HsaApi, agent: Agent, agents: list[int], size: int, where: str) -> Handle:
    """Host memory that some GPUs may access."""
    handle = _allocate(api, agent.host_pool, size, where)
    _share(api, agents, handle, where)
    return handle


def _share(api: HsaApi, agents: list[int], handle: Handle, where: str) -> None:
    """Let these agents and no others access an allocation, which is released where they cannot."""
    count = len(agents)
    try:
        api.call("hsa_amd_agents_allow_access", count, (U64 * count)(*agents), None, handle.native, where=where)
    except BaseException:
        handle.release()
        raise


def _allocate(api: HsaApi, pool: int, size: int, where: str) -> Handle:
    address = api.read("hsa_amd_memory_pool_allocate", pool, size, 0, kind=ctypes.c_void_p, where=where)
    return Handle(api, address, "hsa_amd_memory_pool_free")
