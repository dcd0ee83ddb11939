"""A hip-python program that knows nothing of this package, in a process that runs on the virtual GPU."""

from __future__ import annotations

from support.child import result_of, run
from support.hip_program import KERNELS

PROGRAM = f"""
from hipgraph_cb.virtual.install import install
install(["gfx942"])

import ctypes
import numpy as np
from hip import hip

def check(result):
    assert result[0] == hip.hipError_t.hipSuccess, result
    return result[1] if len(result) == 2 else result[1:]

n = 1003
x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
device_x, device_y = check(hip.hipMalloc(x.nbytes)), check(hip.hipMalloc(y.nbytes))
check(hip.hipMemcpy(device_x, x, x.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
check(hip.hipMemcpy(device_y, y, y.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
module = check(hip.hipModuleLoadData(open({str(KERNELS)!r}, "rb").read()))
saxpy = check(hip.hipModuleGetFunction(module, b"saxpy"))
values = [ctypes.c_void_p(int(device_y)), ctypes.c_void_p(int(device_x)), ctypes.c_float(2), ctypes.c_uint(n)]
table = (ctypes.c_void_p * 4)(*map(ctypes.addressof, values))
check(hip.hipModuleLaunchKernel(saxpy, 4, 1, 1, 256, 1, 1, 0, None, table, None))
check(hip.hipDeviceSynchronize())

graph = check(hip.hipGraphCreate(0))
params = hip.hipKernelNodeParams()
params.func, params.kernelParams = saxpy, ctypes.addressof(table)
params.gridDim.x, params.gridDim.y, params.gridDim.z = 4, 1, 1
params.blockDim.x, params.blockDim.y, params.blockDim.z = 256, 1, 1
first = check(hip.hipGraphAddKernelNode(graph, None, 0, params))
check(hip.hipGraphAddKernelNode(graph, (ctypes.c_void_p * 1)(int(first)), 1, params))
executable = check(hip.hipGraphInstantiate(graph, 0))[0]
stream = check(hip.hipStreamCreate())
check(hip.hipGraphLaunch(executable, stream))
check(hip.hipStreamSynchronize(stream))
result = np.empty_like(y)
check(hip.hipMemcpy(result, device_y, y.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
print(np.array_equal(result, 6 * x + 1))
"""


def test_an_ordinary_program_runs_right():
    assert result_of(run(PROGRAM)) == (0, "True", "")
