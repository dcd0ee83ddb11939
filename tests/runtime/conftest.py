"""The measured behaviour of AMD's runtimes as tests: each case through both callers and in both profiles."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from support.devices import VIRTUAL_GPUS
from support.hip_callers import CtypesCaller, HipPythonCaller, structure

from hipgraph_cb.abi.hip.structures import KernelNodeParams, MemsetParams
from hipgraph_cb.virtual.install import install

KERNELS = Path(__file__).resolve().parents[1] / "fixtures" / "corpus" / "clang" / "k_cl.gfx942.hsaco"


@pytest.fixture(scope="session", autouse=True)
def runtime():
    return install(VIRTUAL_GPUS)


@pytest.fixture(params=["6.4", "7.2"])
def profile(request, runtime):
    """The version whose behaviour is followed."""
    with runtime.following(request.param):
        yield request.param


@pytest.fixture(params=[CtypesCaller, HipPythonCaller], ids=lambda caller: caller.name)
def hip(request, profile):
    """The caller through which a test calls."""
    caller = request.param()
    caller.hipDeviceSynchronize()
    yield caller
    caller.hipDeviceSynchronize()
    caller.hipGetLastError()


@pytest.fixture
def graph(hip):
    handle = hip.done("hipGraphCreate", 0)
    yield handle
    hip.hipGraphDestroy(handle)


@pytest.fixture
def block(hip):
    """64 bytes of device memory, all zero."""
    address = hip.done("hipMalloc", 64)
    hip.done("hipMemset", address, 0, 64)
    yield address
    hip.hipFree(address)


@pytest.fixture
def read(hip):
    """Bytes of device memory as a list."""

    def read_bytes(address, size):
        host = np.empty(size, np.uint8)
        hip.done("hipMemcpyDtoH", host, address, size)
        return host.tolist()

    return read_bytes


@pytest.fixture
def run(hip):
    """Instantiate and launch a graph, and wait for it."""

    def run_graph(graph):
        executable = hip.done("hipGraphInstantiateWithFlags", graph, 0)
        hip.done("hipGraphLaunch", executable, 0)
        hip.done("hipDeviceSynchronize")
        return executable

    return run_graph


@pytest.fixture
def module(hip):
    handle = hip.done("hipModuleLoadData", KERNELS.read_bytes())
    yield handle
    hip.hipModuleUnload(handle)


@pytest.fixture
def saxpy(hip, module):
    """The hipFunction_t of `y = a * x + y`, compiled for at most 256 work-items a workgroup."""
    return hip.done("hipModuleGetFunction", module, b"saxpy")


class Arguments:
    """kernelParams of saxpy; keeps its values alive."""

    def __init__(self, y, x, a, n):
        self.values = ctypes.c_void_p(y), ctypes.c_void_p(x), ctypes.c_float(a), ctypes.c_uint(n)
        self.table = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in self.values])


@pytest.fixture
def arguments():
    kept = []

    def make(y=0, x=0, a=1.0, n=0):
        kept.append(Arguments(y, x, a, n))
        return kept[-1]

    return make


def memset_params(address, value=0, element_size=1, width=1, height=1, pitch=0):
    return structure(
        MemsetParams, dst=address, value=value, elementSize=element_size, width=width, height=height, pitch=pitch
    )


def kernel_params(function, arguments, grid=(1, 1, 1), block=(64, 1, 1), dynamic_lds=0, extra=0):
    table = 0 if arguments is None else ctypes.addressof(arguments.table)
    return structure(
        KernelNodeParams,
        func=function,
        gridDim=grid,
        blockDim=block,
        sharedMemBytes=dynamic_lds,
        kernelParams=table,
        extra=extra,
    )


@pytest.fixture(scope="session")
def params():
    """Makers of parameter structures."""

    class Params:
        memset = staticmethod(memset_params)
        kernel = staticmethod(kernel_params)

    return Params
