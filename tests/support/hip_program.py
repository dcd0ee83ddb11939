"""Small helpers for programs that call HIP through hip-python."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

CORPUS = Path(__file__).resolve().parents[1] / "fixtures" / "corpus"
KERNELS = CORPUS / "clang" / "k_cl.gfx942.hsaco"
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3


def code_of(result) -> int:
    """The hipError_t of a call."""
    return int(result[0])


def done(result):
    """The out values of a call that must have succeeded."""
    assert code_of(result) == 0, result[0].name
    return result[1] if len(result) == 2 else result[1:]


def handles(*nodes):
    """An array of handles as hip-python wants it."""
    return (ctypes.c_void_p * len(nodes))(*[int(node) for node in nodes])


class Arguments:
    """Kernel arguments as the kernelParams table wants them; keeps the values alive."""

    def __init__(self, *values):
        self.values = values
        self.table = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])

    @property
    def address(self) -> int:
        return ctypes.addressof(self.table)


class Program:
    """Device arrays, a module and launches, checked at every step."""

    def __init__(self, hip):
        self.hip = hip
        self.direction = hip.hipMemcpyKind
        self.kept = []

    def upload(self, array):
        address = int(done(self.hip.hipMalloc(array.nbytes)))
        done(self.hip.hipMemcpy(address, array, array.nbytes, self.direction.hipMemcpyHostToDevice))
        return address

    def download(self, address, count, dtype=np.float32):
        array = np.empty(count, dtype)
        done(self.hip.hipMemcpy(array, address, array.nbytes, self.direction.hipMemcpyDeviceToHost))
        return array

    def function(self, name="saxpy", path=KERNELS):
        self.module = done(self.hip.hipModuleLoadData(path.read_bytes()))
        return done(self.hip.hipModuleGetFunction(self.module, name.encode()))

    def saxpy(self, y, x, a, n):
        """The arguments of `y = a * x + y`."""
        return Arguments(ctypes.c_void_p(y), ctypes.c_void_p(x), ctypes.c_float(a), ctypes.c_uint(n))

    def kernel_params(self, function, arguments, grid=(1, 1, 1), block=(64, 1, 1), dynamic_lds=0):
        params = self.hip.hipKernelNodeParams()
        params.func = function
        for field, values in ((params.gridDim, grid), (params.blockDim, block)):
            field.x, field.y, field.z = values
        params.sharedMemBytes = dynamic_lds
        if arguments is not None:
            self.kept.append(arguments)
            params.kernelParams = arguments.address
        return params

    def memset_params(self, address, value=0, element_size=1, width=1, height=1, pitch=0):
        params = self.hip.hipMemsetParams()
        params.dst, params.value, params.elementSize = address, value, element_size
        params.width, params.height, params.pitch = width, height, pitch
        return params

    def launch(self, function, arguments, grid=1, block=64, stream=None, dynamic_lds=0):
        return self.hip.hipModuleLaunchKernel(
            function, grid, 1, 1, block, 1, 1, dynamic_lds, stream, arguments.table, None
        )

    def instantiate(self, graph):
        return done(self.hip.hipGraphInstantiate(graph, 0))[0]
