"""Code that clang's HIP mode compiled into a library of this process: what it registers, and launches by host pointer.

A registered fat binary is loaded for a device when something of it is first used there.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import MemoryType
from hipgraph_cb.abi.hip.structures import Dim3, FunctionAttributes
from hipgraph_cb.code_object.fat_binary import registered_address
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.copies import copy_async, copy_now
from hipgraph_cb.virtual.hip.api.kernel_functions import attribute_of_function
from hipgraph_cb.virtual.hip.api.modules import Module, function_handle, load_module
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import load_text, require, store_pointer
from hipgraph_cb.virtual.hip.objects.kernels import Function, make_launch
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import wait_for_workers
from hipgraph_cb.virtual.hip.objects.submit import submit
from hipgraph_cb.virtual.mapped_code import read_code, read_mapped

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu

_WRAPPER_SIZE = 24


@dataclass
class FatBinary:
    """One registered fat binary: where its bundle is, and its modules by device ordinal."""

    address: int
    modules: dict[int, Module] = field(default_factory=dict)
    symbols: list[int] = field(default_factory=list)

    def on(self, runtime: HipRuntime, gpu: Gpu) -> Module:
        if gpu.ordinal not in self.modules:
            self.modules[gpu.ordinal] = load_module(runtime, gpu, lambda: read_code(self.address))
        return self.modules[gpu.ordinal]


@api("__hipRegisterFatBinary", POINTER, result=POINTER, on_error=0, remembers=False, fallback=0)
def register_fat_binary(runtime: HipRuntime, wrapper: int) -> int:
    return runtime.fat_binaries.add(FatBinary(registered_address(read_mapped(wrapper, _WRAPPER_SIZE))))


@api(
    "__hipRegisterFunction",
    *(HANDLE, POINTER, POINTER, POINTER, UINT, POINTER, POINTER, POINTER, POINTER, POINTER),
    result=None,
    on_error=0,
    remembers=False,
)
def register_function(
    runtime: HipRuntime, handle: int, host_function: int, host_name: int, device_name: int, *unused: int
) -> None:
    binary = runtime.fat_binaries[handle]
    binary.symbols.append(host_function)
    runtime.host_functions[host_function] = binary, load_text(device_name)


@api(
    "__hipRegisterVar",
    *(HANDLE, POINTER, POINTER, POINTER, INT, SIZE, INT, INT),
    result=None,
    on_error=0,
    remembers=False,
)
def register_variable(
    runtime: HipRuntime, handle: int, host_variable: int, host_name: int, device_name: int, *unused: int
) -> None:
    binary = runtime.fat_binaries[handle]
    binary.symbols.append(host_variable)
    runtime.host_variables[host_variable] = binary, load_text(device_name)


@api(
    "__hipRegisterManagedVar",
    *(HANDLE, POINTER, POINTER, POINTER, SIZE, UINT),
    result=None,
    on_error=0,
    remembers=False,
)
def register_managed_variable(
    runtime: HipRuntime, handle: int, pointer_out: int, initial: int, name: int, size: int, alignment: int
) -> None:
    """Managed variables live in managed memory from the start; the host reaches them through a pointer."""
    address = runtime.allocations.allocate(size, MemoryType.MANAGED, runtime.gpu.ordinal)
    ctypes.memmove(address, initial, size)
    store_pointer(pointer_out, address)


@api("__hipUnregisterFatBinary", HANDLE, result=None, on_error=0, releases=True)
def unregister_fat_binary(runtime: HipRuntime, handle: int) -> None:
    binary = runtime.fat_binaries.pop(handle)
    for symbol in binary.symbols:
        runtime.host_functions.pop(symbol, None)
        runtime.host_variables.pop(symbol, None)
    for module in binary.modules.values():
        wait_for_workers(runtime.gate, [module.gpu.worker])
        module.release(runtime)


# -- by host pointer ---------------------------------------------------------------------------------------------------


def handle_of_symbol(runtime: HipRuntime, host_function: int) -> int:
    """The hipFunction_t, on the current device, of a kernel's host function."""
    if host_function not in runtime.host_functions:
        raise CallError(Code.INVALID_DEVICE_FUNCTION, f"no kernel is registered for {host_function:#x}")
    binary, name = runtime.host_functions[host_function]
    return function_handle(runtime, binary.on(runtime, runtime.gpu), name)


def _function(runtime: HipRuntime, host_function: int) -> Function:
    return runtime.functions[handle_of_symbol(runtime, host_function)]


@api("hipGetFuncBySymbol", POINTER, POINTER)
def get_function_by_symbol(runtime: HipRuntime, out: int, host_function: int) -> None:
    require(out and host_function)
    store_pointer(out, handle_of_symbol(runtime, host_function))


@api("hipFuncGetAttributes", POINTER, POINTER)
def function_get_attributes(runtime: HipRuntime, out: int, host_function: int) -> None:
    require(out)
    require(host_function, Code.INVALID_DEVICE_FUNCTION)
    require(host_function not in runtime.functions, Code.INVALID_SYMBOL)
    function = _function(runtime, host_function)
    target = FunctionAttributes.from_address(out)
    names = (
        "maxThreadsPerBlock sharedSizeBytes constSizeBytes localSizeBytes numRegs ptxVersion binaryVersion cacheModeCA "
        "maxDynamicSharedSizeBytes preferredShmemCarveout"
    )
    for attribute, name in enumerate(names.split()):
        setattr(target, name, attribute_of_function(function, attribute))


@api("hipLaunchKernel", POINTER, Dim3, Dim3, POINTER, SIZE, HANDLE)
@api("hipLaunchKernel_spt", POINTER, Dim3, Dim3, POINTER, SIZE, HANDLE)
def launch_kernel(
    runtime: HipRuntime, host_function: int, grid: Dim3, block: Dim3, arguments: int, dynamic_lds: int, stream: int
) -> None:
    require(host_function, Code.INVALID_DEVICE_FUNCTION)
    target = runtime.stream(stream)
    handle = handle_of_symbol(runtime, host_function)
    submit(runtime, target, make_launch(runtime, handle, grid.values, block.values, dynamic_lds, arguments, 0))


@api("__hipPushCallConfiguration", Dim3, Dim3, SIZE, HANDLE)
def push_call_configuration(runtime: HipRuntime, grid: Dim3, block: Dim3, dynamic_lds: int, stream: int) -> None:
    runtime.thread.call_configurations.append((grid.values, block.values, dynamic_lds, stream))


@api("__hipPopCallConfiguration", POINTER, POINTER, POINTER, POINTER)
def pop_call_configuration(
    runtime: HipRuntime, grid_out: int, block_out: int, dynamic_lds_out: int, stream_out: int
) -> None:
    require(runtime.thread.call_configurations, Code.MISSING_CONFIGURATION)
    grid, block, dynamic_lds, stream = runtime.thread.call_configurations.pop()
    for out, shape in ((grid_out, grid), (block_out, block)):
        target = Dim3.from_address(out)
        target.x, target.y, target.z = shape
    store_pointer(dynamic_lds_out, dynamic_lds)
    store_pointer(stream_out, stream)


# -- variables ---------------------------------------------------------------------------------------------------------


def _variable(runtime: HipRuntime, host_variable: int) -> tuple[int, int]:
    """Address and size of a variable on the current device."""
    if host_variable not in runtime.host_variables:
        raise CallError(Code.INVALID_SYMBOL)
    binary, name = runtime.host_variables[host_variable]
    found = binary.on(runtime, runtime.gpu).loaded.globals.get(name)
    if found is None:
        raise CallError(Code.INVALID_SYMBOL, f"the code object has no variable {name}")
    return found


def place_of_symbol(runtime: HipRuntime, host_variable: int, size: int, offset: int) -> int:
    """The address of `size` bytes of a device variable."""
    address, room = _variable(runtime, host_variable)
    require(offset + size <= room)
    return address + offset


@api("hipGetSymbolAddress", POINTER, POINTER)
def get_symbol_address(runtime: HipRuntime, out: int, host_variable: int) -> None:
    require(out)
    store_pointer(out, _variable(runtime, host_variable)[0])


@api("hipGetSymbolSize", POINTER, POINTER)
def get_symbol_size(runtime: HipRuntime, out: int, host_variable: int) -> None:
    require(out)
    store_pointer(out, _variable(runtime, host_variable)[1])


@api("hipMemcpyToSymbol", POINTER, POINTER, SIZE, SIZE, INT)
def memcpy_to_symbol(
    runtime: HipRuntime, host_variable: int, source: int, size: int, offset: int, direction: int
) -> None:
    target = place_of_symbol(runtime, host_variable, size, offset)
    copy_now(runtime, runtime.gpu.null_stream, target, source, size, direction)


@api("hipMemcpyFromSymbol", POINTER, POINTER, SIZE, SIZE, INT)
def memcpy_from_symbol(
    runtime: HipRuntime, target: int, host_variable: int, size: int, offset: int, direction: int
) -> None:
    source = place_of_symbol(runtime, host_variable, size, offset)
    copy_now(runtime, runtime.gpu.null_stream, target, source, size, direction)


@api("hipMemcpyToSymbol_spt", POINTER, POINTER, SIZE, SIZE, INT)
def memcpy_to_symbol_per_thread(
    runtime: HipRuntime, host_variable: int, source: int, size: int, offset: int, direction: int
) -> None:
    target = place_of_symbol(runtime, host_variable, size, offset)
    copy_now(runtime, runtime.stream(2), target, source, size, direction)


@api("hipMemcpyFromSymbol_spt", POINTER, POINTER, SIZE, SIZE, INT)
def memcpy_from_symbol_per_thread(
    runtime: HipRuntime, target: int, host_variable: int, size: int, offset: int, direction: int
) -> None:
    source = place_of_symbol(runtime, host_variable, size, offset)
    copy_now(runtime, runtime.stream(2), target, source, size, direction)


@api("hipMemcpyToSymbolAsync_spt", POINTER, POINTER, SIZE, SIZE, INT, HANDLE)
@api("hipMemcpyToSymbolAsync", POINTER, POINTER, SIZE, SIZE, INT, HANDLE)
def memcpy_to_symbol_async(
    runtime: HipRuntime, host_variable: int, source: int, size: int, offset: int, direction: int, stream: int
) -> None:
    target = place_of_symbol(runtime, host_variable, size, offset)
    copy_async(runtime, runtime.stream(stream), target, source, size, direction)


@api("hipMemcpyFromSymbolAsync_spt", POINTER, POINTER, SIZE, SIZE, INT, HANDLE)
@api("hipMemcpyFromSymbolAsync", POINTER, POINTER, SIZE, SIZE, INT, HANDLE)
def memcpy_from_symbol_async(
    runtime: HipRuntime, target: int, host_variable: int, size: int, offset: int, direction: int, stream: int
) -> None:
    source = place_of_symbol(runtime, host_variable, size, offset)
    copy_async(runtime, runtime.stream(stream), target, source, size, direction)
