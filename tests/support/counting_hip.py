"""HIP functions that do nothing but hand out handles, count which of them live, and fail where they are asked to."""

from __future__ import annotations

import ctypes
from collections import Counter
from types import SimpleNamespace

from hip import hip

SUCCESS = hip.hipError_t.hipSuccess
UNKNOWN = hip.hipError_t.hipErrorUnknown
GARBAGE = 0xBADBADBADBAD

MAKES = {
    "hipMalloc": "allocation",
    "hipHostMalloc": "host memory",
    "hipStreamCreateWithFlags": "stream",
    "hipModuleLoadData": "module",
    "hipGraphCreate": "graph",
    "hipGraphInstantiate": "executable graph",
    "hipGraphInstantiateWithFlags": "executable graph",
    "hipEventCreate": "event",
    "hipEventCreateWithFlags": "event",
}
GIVES_BACK = {
    "hipFree": "allocation",
    "hipHostFree": "host memory",
    "hipStreamDestroy": "stream",
    "hipModuleUnload": "module",
    "hipGraphDestroy": "graph",
    "hipGraphExecDestroy": "executable graph",
    "hipEventDestroy": "event",
}


def out_values(name):
    """How many values hip-python returns beside the code."""
    if name in ("hipGraphInstantiate", "hipMemGetAddressRange", "hipModuleGetGlobal"):
        return 3 if name == "hipGraphInstantiate" else 2
    single = {*MAKES, "hipEventElapsedTime", "hipModuleGetFunction"}
    single.add("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor")
    return int(name in single or name.startswith(("hipGraphAdd", "hipGet")))


class CountingHip(dict):
    """In place of the functions of hip-python.

    Attributes:
        live: the handles that were handed out and not released, with what they are.
        calls: the names of all calls, in order.
        failing: the number of the call that fails, or None. A call that fails does nothing and returns garbage.
        busy: whether streams answer that they are not ready.
        device: the ordinal of the device that all memory is on.
    """

    def __init__(self):
        super().__init__()
        self.live = {}
        self.calls = []
        self.failing = None
        self.busy = False
        self.device = 0
        self._memory = {}
        self._variable = (ctypes.c_ubyte * 64)()
        self._next = 0x1000

    def __missing__(self, name):
        function = self[name] = self._counted(name)
        return function

    @property
    def kinds(self):
        return Counter(self.live.values())

    def _counted(self, name):
        def function(*arguments):
            self.calls.append(name)
            if self.failing == len(self.calls) - 1:
                return (UNKNOWN, *[GARBAGE] * out_values(name))
            return getattr(self, name, self._node_or_nothing(name))(*arguments)

        return function

    def _node_or_nothing(self, name):
        if name in MAKES:
            return lambda *_arguments: self._hand_out(MAKES[name])
        if name in GIVES_BACK:
            return lambda handle: self._take_back(GIVES_BACK[name], handle)
        if name.startswith("hipGraphAdd") or name == "hipModuleGetFunction":
            return lambda *_arguments: (SUCCESS, self._handle())
        return lambda *_arguments: (SUCCESS,)

    def _handle(self):
        self._next += 16
        return self._next

    def _hand_out(self, kind):
        handle = self._handle()
        self.live[handle] = kind
        return SUCCESS, handle

    def _take_back(self, kind, handle):
        if self.live.get(handle) != kind:
            raise RuntimeError(f"{kind} {handle:#x} was released and does not live")
        del self.live[handle]
        self._memory.pop(handle, None)
        return (SUCCESS,)

    def hipModuleGetGlobal(self, _module, _name):  # noqa: N802
        return SUCCESS, ctypes.addressof(self._variable), len(self._variable)

    def hipGetDeviceCount(self):  # noqa: N802
        return SUCCESS, 1

    def hipGetDeviceProperties(self, _ordinal):  # noqa: N802
        return SUCCESS, SimpleNamespace(
            name="counting",
            gcnArchName="gfx942:sramecc+:xnack-",
            maxThreadsDim=[1024, 1024, 1024],
            maxThreadsPerBlock=1024,
            sharedMemPerBlock=65536,
            warpSize=64,
            multiProcessorCount=4,
        )

    def hipEventElapsedTime(self, _start, _stop):  # noqa: N802
        return SUCCESS, 0.001

    def hipMalloc(self, size):  # noqa: N802
        return SUCCESS, self._allocate(size, "allocation")

    def hipHostMalloc(self, size, _flags):  # noqa: N802
        return SUCCESS, self._allocate(size, "host memory")

    def _allocate(self, size, kind):
        memory = (ctypes.c_ubyte * size)()
        address = ctypes.addressof(memory)
        self._memory[address] = memory
        self.live[address] = kind
        return address

    def hipMemcpy(self, target, source, count, _kind):  # noqa: N802
        ctypes.memmove(target, source, count)
        return (SUCCESS,)

    def hipPointerGetAttributes(self, _address):  # noqa: N802
        return SUCCESS, SimpleNamespace(type=hip.hipMemoryType.hipMemoryTypeDevice, device=self.device)

    def hipMemGetAddressRange(self, address):  # noqa: N802
        for start, memory in self._memory.items():
            if start <= address < start + len(memory):
                return SUCCESS, start, len(memory)
        return hip.hipError_t.hipErrorInvalidValue, GARBAGE, GARBAGE

    def hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(self, *_):  # noqa: N802
        return SUCCESS, 8

    def hipStreamQuery(self, _stream):  # noqa: N802
        return (hip.hipError_t.hipErrorNotReady if self.busy else SUCCESS,)

    def hipGraphInstantiate(self, _graph, _size):  # noqa: N802
        return (*self._hand_out("executable graph"), None, None)
