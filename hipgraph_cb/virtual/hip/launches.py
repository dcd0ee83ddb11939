"""Launching kernels by function handle, host functions, and what a function says about itself."""

from __future__ import annotations

from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.codes import Code
from hipgraph_cb.virtual.hip.kernels import Function, make_launch
from hipgraph_cb.virtual.hip.native import require, store_int
from hipgraph_cb.virtual.hip.runtime import HipRuntime
from hipgraph_cb.virtual.hip.submit import submit
from hipgraph_cb.virtual.hip.work import HostCall


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
    require(function, Code.INVALID_IMAGE)
    target = runtime.stream(stream)
    grid, block = (grid_x, grid_y, grid_z), (block_x, block_y, block_z)
    submit(runtime, target, make_launch(runtime, function, grid, block, dynamic_lds, parameters, extra))


@api("hipModuleLaunchCooperativeKernel", HANDLE, *[UINT] * 7, HANDLE, POINTER)
def module_launch_cooperative_kernel(
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
) -> None:
    raise CallError(Code.NOT_SUPPORTED, "the virtual GPU has no cooperative launches")


@api("hipLaunchHostFunc", HANDLE, POINTER, POINTER)
@api("hipLaunchHostFunc_spt", HANDLE, POINTER, POINTER)
def launch_host_function(runtime: HipRuntime, stream: int, function: int, argument: int) -> None:
    require(function)
    submit(runtime, runtime.stream(stream), HostCall(function, argument))


_MAX_THREADS, _SHARED_SIZE, _CONST_SIZE, _LOCAL_SIZE, _REGISTERS, _PTX, _BINARY, _CACHE, _MAX_DYNAMIC, _CARVEOUT = (
    range(10)
)


def attribute_of_function(function: Function, attribute: int) -> int | None:
    """The value of a hipFunction_attribute; None for an unknown one."""
    export = function.export
    version = function.gpu.model.major * 10 + function.gpu.model.minor
    values = {
        _MAX_THREADS: export.max_flat_workgroup_size,
        _SHARED_SIZE: export.group_segment_size,
        _CONST_SIZE: 0,
        _LOCAL_SIZE: export.private_segment_size,
        _REGISTERS: ((export.descriptor.compute_pgm_rsrc1 & 63) + 1) * 8,
        _PTX: version,
        _BINARY: version,
        _CACHE: 0,
        _MAX_DYNAMIC: _dynamic_lds(function),
        _CARVEOUT: 0,
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
    require(attribute in (_MAX_DYNAMIC, _CARVEOUT))
    if attribute == _MAX_DYNAMIC:
        require(0 <= value <= function.gpu.model.lds - function.export.group_segment_size)
        function.max_dynamic_lds = value


@api("hipFuncSetCacheConfig", POINTER, INT)
@api("hipFuncSetSharedMemConfig", POINTER, INT)
def function_set_hint(runtime: HipRuntime, handle: int, value: int) -> None:
    # A hint for hardware that this device does not have.
    require(value in range(4))


@api("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", POINTER, HANDLE, INT, SIZE)
def occupancy(runtime: HipRuntime, out: int, handle: int, block: int, dynamic_lds: int) -> None:
    function = runtime.functions[handle]
    require(out and block > 0)
    lds = max(1, function.export.group_segment_size + dynamic_lds)
    blocks = min(function.gpu.model.threads_per_compute_unit // block, function.gpu.model.lds // lds)
    store_int(out, blocks if block <= function.export.max_flat_workgroup_size else 0)
