"""The other ways to launch a kernel: by a structure, with events, and in the steps of the oldest interface."""

from __future__ import annotations

import ctypes

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import LaunchAttribute
from hipgraph_cb.abi.hip.structures import Dim3, DriverLaunchConfig, LaunchConfig
from hipgraph_cb.virtual.hip.api.cooperative import refuse_too_large
from hipgraph_cb.virtual.hip.api.events import event_record
from hipgraph_cb.virtual.hip.api.registration import handle_of_symbol, push_call_configuration
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import load_bytes, require
from hipgraph_cb.virtual.hip.objects.kernels import Shape, make_launch
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.submit import submit

_MOST_ARGUMENT_BYTES = 1 << 16
_ATTRIBUTE_SIZE = 72  # hipLaunchAttribute
_EXTENDED = HANDLE, *[UINT] * 6, SIZE, HANDLE, POINTER, POINTER, HANDLE, HANDLE
_OF_CPP = "_Z24{}ModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_"
"""How C++ programs name the extended launches, which an older header declared without `extern "C"`."""


def _is_cooperative(attributes: int, count: int) -> bool:
    for index in range(count if attributes else 0):
        place = attributes + index * _ATTRIBUTE_SIZE
        number, value = ctypes.c_int.from_address(place).value, ctypes.c_int.from_address(place + 8).value
        if number == LaunchAttribute.COOPERATIVE and value:
            return True
    return False


def _launch(
    runtime: HipRuntime, handle: int, grid: Shape, block: Shape, dynamic_lds: int, stream: int,
    parameters: int, extra: int = 0, *, is_cooperative: bool = False,
) -> None:  # fmt: skip
    target = runtime.stream(stream)
    launch = make_launch(runtime, handle, grid, block, dynamic_lds, parameters, extra)
    if is_cooperative:
        refuse_too_large(launch)
    submit(runtime, target, launch)


@api("hipDrvLaunchKernelEx", POINTER, HANDLE, POINTER, POINTER)
def driver_launch_kernel_ex(runtime: HipRuntime, config: int, handle: int, parameters: int, extra: int) -> None:
    require(config)
    require(handle, Code.INVALID_HANDLE)
    given = DriverLaunchConfig.from_address(config)
    together = _is_cooperative(given.attrs, given.numAttrs)
    grid, block, lds = given.gridDim.values, given.blockDim.values, given.sharedMemBytes
    _launch(runtime, handle, grid, block, lds, given.stream, parameters, extra, is_cooperative=together)


@api("hipLaunchKernelExC", POINTER, POINTER, POINTER)
def launch_kernel_ex(runtime: HipRuntime, config: int, host_function: int, parameters: int) -> None:
    require(config)
    require(host_function, Code.INVALID_DEVICE_FUNCTION)
    given = LaunchConfig.from_address(config)
    together = _is_cooperative(given.attrs, given.numAttrs)
    handle = handle_of_symbol(runtime, host_function)
    grid, block = given.gridDim.values, given.blockDim.values
    _launch(runtime, handle, grid, block, given.dynamicSmemBytes, given.stream, parameters, is_cooperative=together)


@api("hipExtLaunchKernel", POINTER, Dim3, Dim3, POINTER, SIZE, HANDLE, HANDLE, HANDLE, INT)
def ext_launch_kernel(
    runtime: HipRuntime, host_function: int, grid: Dim3, block: Dim3, parameters: int, dynamic_lds: int, stream: int,
    start_event: int, stop_event: int, flags: int,
) -> None:  # fmt: skip
    """The events are recorded before and behind the kernel."""
    require(host_function, Code.INVALID_DEVICE_FUNCTION)
    handle = handle_of_symbol(runtime, host_function)
    if start_event:
        event_record(runtime, start_event, stream)
    _launch(runtime, handle, grid.values, block.values, dynamic_lds, stream, parameters)
    if stop_event:
        event_record(runtime, stop_event, stream)


@api("hipExtModuleLaunchKernel", *_EXTENDED, UINT)
@api("hipHccModuleLaunchKernel", *_EXTENDED, UINT)
@api(_OF_CPP.format("hipExt") + "j", *_EXTENDED, UINT)
@api(_OF_CPP.format("hipHcc"), *_EXTENDED)
def ext_module_launch_kernel(
    runtime: HipRuntime, handle: int, x: int, y: int, z: int, block_x: int, block_y: int, block_z: int,
    dynamic_lds: int, stream: int, parameters: int, extra: int, start_event: int, stop_event: int, flags: int = 0,
) -> None:  # fmt: skip
    """The grid is given in work-items, whole workgroups of them here."""
    require(handle, Code.INVALID_HANDLE)
    block = block_x, block_y, block_z
    require(min(block) > 0)
    grid = -(-x // block_x), -(-y // block_y), -(-z // block_z)
    launch = make_launch(runtime, handle, grid, block, dynamic_lds, parameters, extra)
    require(
        all(items % size == 0 for items, size in zip((x, y, z), block, strict=True)),
        note="a grid that ends in the middle of a workgroup",
    )
    if start_event:
        event_record(runtime, start_event, stream)
    submit(runtime, runtime.stream(stream), launch)
    if stop_event:
        event_record(runtime, stop_event, stream)


@api("hipConfigureCall", Dim3, Dim3, SIZE, HANDLE)
def configure_call(runtime: HipRuntime, grid: Dim3, block: Dim3, dynamic_lds: int, stream: int) -> None:
    push_call_configuration(runtime, grid, block, dynamic_lds, stream)
    runtime.thread.call_arguments = bytearray()


@api("hipSetupArgument", POINTER, SIZE, SIZE)
def setup_argument(runtime: HipRuntime, argument: int, size: int, offset: int) -> None:
    require(argument and offset + size <= _MOST_ARGUMENT_BYTES)
    arguments = runtime.thread.call_arguments
    arguments.extend(bytes(max(0, offset + size - len(arguments))))
    arguments[offset : offset + size] = load_bytes(argument, size)


@api("hipLaunchByPtr", POINTER)
def launch_by_pointer(runtime: HipRuntime, host_function: int) -> None:
    require(host_function, Code.INVALID_DEVICE_FUNCTION)
    require(runtime.thread.call_configurations, Code.MISSING_CONFIGURATION)
    handle = handle_of_symbol(runtime, host_function)
    grid, block, dynamic_lds, stream = runtime.thread.call_configurations.pop()
    packed = (ctypes.c_ubyte * max(1, len(runtime.thread.call_arguments))).from_buffer_copy(
        runtime.thread.call_arguments or b"\0"
    )
    size = ctypes.c_size_t(len(runtime.thread.call_arguments))
    extra = (ctypes.c_size_t * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), 3)
    _launch(runtime, handle, grid, block, dynamic_lds, stream, 0, ctypes.addressof(extra) if size.value else 0)
