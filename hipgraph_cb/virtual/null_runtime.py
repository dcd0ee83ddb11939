"""The null runtime: machine code in the slots that does nothing, to measure what a caller of HIP costs by itself.

A function that makes something writes a handle other than NULL through its first pointer, the others only return
hipSuccess. Queries of devices and errors are left to the virtual runtime, so a device can be opened as usual; work
that was prepared under the null runtime must not outlive it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.shared_object import ExportedFunction

_HANDLE = 0x1000
_RETURN_SUCCESS = b"\x31\xc0\xc3"  # xor %eax, %eax; ret
_STORE_HANDLE = b"\x48\xc7\x07" + struct.pack("<I", _HANDLE) + _RETURN_SUCCESS  # movq $handle, (%rdi)

_MAKES = """
hipMalloc hipMallocManaged hipHostMalloc hipHostAlloc hipMallocAsync hipExtMallocWithFlags hipStreamCreate
hipStreamCreateWithFlags hipStreamCreateWithPriority hipEventCreate hipEventCreateWithFlags hipModuleLoad
hipModuleLoadData hipModuleLoadDataEx hipModuleGetFunction hipGraphCreate hipGraphClone hipGraphInstantiate
hipGraphInstantiateWithFlags hipGraphAddEmptyNode hipGraphAddKernelNode hipGraphAddMemsetNode hipGraphAddMemcpyNode
hipGraphAddMemcpyNode1D hipGraphAddHostNode hipGraphAddChildGraphNode hipGraphAddEventRecordNode
hipGraphAddEventWaitNode
"""
_SUCCEEDS = """
hipFree hipHostFree hipFreeAsync hipMemcpy hipMemcpyAsync hipMemcpyHtoD hipMemcpyDtoH hipMemcpyDtoD
hipMemcpyHtoDAsync hipMemcpyDtoHAsync hipMemcpyDtoDAsync hipMemcpyWithStream hipMemset hipMemsetAsync hipMemsetD8
hipMemsetD16 hipMemsetD32 hipMemsetD8Async hipMemsetD16Async hipMemsetD32Async hipStreamDestroy
hipStreamSynchronize hipStreamQuery hipStreamWaitEvent hipDeviceSynchronize hipSetDevice hipEventDestroy
hipEventRecord hipEventSynchronize hipEventQuery hipModuleUnload hipModuleLaunchKernel hipGraphDestroy
hipGraphExecDestroy hipGraphLaunch hipGraphUpload hipGraphAddDependencies hipGraphExecKernelNodeSetParams
hipGraphExecMemsetNodeSetParams hipGraphExecMemcpyNodeSetParams1D
"""


@cache
def _native_functions() -> NativeLibrary:
    functions = [ExportedFunction(name, fallback=_STORE_HANDLE) for name in _MAKES.split()]
    functions += [ExportedFunction(name, fallback=_RETURN_SUCCESS) for name in _SUCCEEDS.split()]
    return NativeLibrary(["libhipgraph_cb_null.so"], functions)


@contextmanager
def null_runtime(library: NativeLibrary, addresses: Mapping[str, int]) -> Iterator[None]:
    """Put the null functions into the slots of `library` while the context is open; `addresses` go back afterwards."""
    native = _native_functions()
    names = [name for name in (_MAKES + _SUCCEEDS).split() if name in library]
    for name in names:
        library.wire(name, native.target(name))
    try:
        yield
    finally:
        for name in names:
            library.wire(name, addresses[name])
