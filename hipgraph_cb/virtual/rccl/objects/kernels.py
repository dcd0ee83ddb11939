"""The kernels of the library on each device that has a rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.collectives.launches import code_object_for
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.objects.kernels import Function
from hipgraph_cb.virtual.loader import LoadedModule, load
from hipgraph_cb.virtual.memory import Memory

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu


class CollectiveKernels:
    """Loaded as long as a device has communicators."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._modules: dict[int, LoadedModule] = {}
        self._users: dict[int, int] = {}

    def acquire(self, gpu: Gpu) -> None:
        """One communicator more on this device.

        Raises:
            CallError: there are no kernels for it, or no memory.
        """
        if gpu.ordinal not in self._modules:
            try:
                module = load(self._memory, code_object_for(gpu.target), label="kernels of collectives")
            except HipGraphError as error:
                raise CallError(Result.SYSTEM_ERROR, str(error)) from error
            self._modules[gpu.ordinal] = module
        self._users[gpu.ordinal] = self._users.get(gpu.ordinal, 0) + 1

    def release(self, gpu: Gpu) -> None:
        """One communicator less."""
        self._users[gpu.ordinal] -= 1
        if not self._users[gpu.ordinal]:
            self._modules.pop(gpu.ordinal).unload()

    def function(self, gpu: Gpu, name: str) -> Function:
        return Function(gpu, self._modules[gpu.ordinal].kernels[name])
