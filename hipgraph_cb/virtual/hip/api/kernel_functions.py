"""Launching kernels by function handle, host functions, and what a function says about itself."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import FunctionAttribute, NodeKind
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import require, store_int
from hipgraph_cb.virtual.hip.objects.kernels import Function, make_launch
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.submit import forbid_in_capture, submit
from hipgraph_cb.virtual.hip.objects.work import HostCall

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu
    from hipgraph_cb.virtual.worker import Operation


@api("hipModuleLaunchKernel", HANDLE, *[UINT] * 7, HANDLE, POINTER, POINTER)
def module_launch_kernel(
    runtime: HipRuntime,
    function: int,
    grid_x: int,
    grid_y: int,
    grid_z: int,
    block_x: int,
    block_y: int,
    block_z: int,
    dynamic_lds: int,
    stream: int,
    parameters: int,
    extra: int,
) -> None:
    require(function, Code.INVALID_HANDLE)
    target = runtime.stream(stream)
    grid, block = (grid_x, grid_y, grid_z), (block_x, block_y, block_z)
    submit(runtime, target, make_launch(runtime, function, grid, block, dynamic_lds, parameters, extra))


@api("hipLaunchHostFunc", HANDLE, POINTER, POINTER)
@api("hipLaunchHostFunc_spt", HANDLE, POINTER, POINTER)
def launch_host_function(runtime: HipRuntime, stream: int, function: int, argument: int) -> None:
    require(function)
    submit(runtime, runtime.stream(stream), HostCall(function, argument))


_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_int, ctypes.c_size_t)


@dataclass(frozen=True)
class StreamCallback:
    """A function of the host program that gets the stream and a status besides its pointer."""

    stream: int
    function: int
    argument: int
    kind: ClassVar[NodeKind] = NodeKind.HOST
    label: ClassVar[str] = "stream callback"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        _CALLBACK(self.function)(self.stream, Code.SUCCESS, self.argument)


@api("hipStreamAddCallback", HANDLE, POINTER, POINTER, UINT)
@api("hipStreamAddCallback_spt", HANDLE, POINTER, POINTER, UINT)
def stream_add_callback(runtime: HipRuntime, handle: int, function: int, argument: int, flags: int) -> None:
    """It runs when the stream gets there; what comes behind it on the stream waits for it."""
    require(function and flags == 0)
    stream = runtime.stream(handle)
    if not runtime.profile.capture_takes_callbacks:
        forbid_in_capture(stream)
    submit(runtime, stream, StreamCallback(handle, function, argument))


def attribute_of_function(function: Function, attribute: int) -> int | None:
    """The value of a hipFunction_attribute; None for an unknown one."""
    export = function.export
    version = function.gpu.model.major * 10 + function.gpu.model.minor
    values: dict[int, int] = {
        FunctionAttribute.MAX_THREADS_PER_BLOCK: export.max_flat_workgroup_size,
        FunctionAttribute.SHARED_SIZE_BYTES: export.group_segment_size,
        FunctionAttribute.CONST_SIZE_BYTES: -1,
        FunctionAttribute.LOCAL_SIZE_BYTES: export.private_segment_size,
        FunctionAttribute.NUM_REGS: export.metadata.registers.vgprs or 0,
        FunctionAttribute.PTX_VERSION: version,
        FunctionAttribute.BINARY_VERSION: version,
        FunctionAttribute.CACHE_MODE_CA: 0,
        FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES: _dynamic_lds(function),
        FunctionAttribute.PREFERRED_SHARED_MEMORY_CARVEOUT: 0,
    }
    return values.get(attribute)


def _dynamic_lds(function: Function) -> int:
    if function.max_dynamic_lds is not None:
        return function.max_dynamic_lds
    return function.gpu.model.lds - function.export.group_segment_size


@api("hipFuncGetAttribute", POINTER, INT, HANDLE)
def function_get_attribute(runtime: HipRuntime, out: int, attribute: int, handle: int) -> None:
    require(out)
    require(handle, Code.INVALID_DEVICE_FUNCTION)
    value = attribute_of_function(runtime.functions[handle], attribute)
    if value is None:
        raise CallError(Code.INVALID_VALUE)
    store_int(out, value)


@api("hipFuncSetAttribute", POINTER, INT, INT)
def function_set_attribute(runtime: HipRuntime, handle: int, attribute: int, value: int) -> None:
    function = runtime.functions.get(handle)
    if function is None:
        raise CallError(Code.INVALID_DEVICE_FUNCTION)
    require(attribute in (FunctionAttribute.MAX_THREADS_PER_BLOCK, FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES))
    if attribute == FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES:
        require(0 <= value <= function.gpu.model.lds - function.export.group_segment_size)
        function.max_dynamic_lds = value


@api("hipFuncSetCacheConfig", POINTER, INT)
@api("hipFuncSetSharedMemConfig", POINTER, INT)
def function_set_hint(runtime: HipRuntime, handle: int, value: int) -> None:
    # A hint for hardware that this device does not have.
    require(value in range(4))
