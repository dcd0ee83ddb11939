"""Registering memory of the host program, so that kernels can reach it."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import MemoryType
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.allocations import RegisteredMemory
from hipgraph_cb.virtual.hip.objects.capture import forbid_unsafe_call
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import wait_for_workers
from hipgraph_cb.virtual.memory import OutOfMemory

# Default, portable, mapped, I/O memory, read only; and coarse grained, AMD's own.
_FLAGS = 0x1 | 0x2 | 0x4 | 0x8 | 0x80000000


@api("hipHostRegister", POINTER, SIZE, UINT)
def host_register(runtime: HipRuntime, address: int, size: int, flags: int) -> None:
    require(address and size and not flags & ~_FLAGS)
    forbid_unsafe_call(runtime)
    allocations = runtime.allocations
    if address in allocations.registered:
        return
    require(not allocations.memory.is_inside(address), note="memory that HIP made cannot be registered")
    for known in allocations.registered.values():
        if address < known.host + known.size and known.host < address + size:
            raise CallError(Code.HOST_MEMORY_ALREADY_REGISTERED, f"{known.size} bytes at {known.host:#x} are known")
    try:
        device = runtime.memory.allocate(size, label=f"registered host memory at {address:#x}")
    except OutOfMemory as error:
        raise CallError(Code.OUT_OF_MEMORY, str(error)) from error
    allocations.registered[address] = RegisteredMemory(address, size, flags, device)


@api("hipHostUnregister", POINTER, releases=True)
def host_unregister(runtime: HipRuntime, address: int) -> None:
    require(address)
    forbid_unsafe_call(runtime)
    known = runtime.allocations.registered.get(address)
    if known is None:
        raise CallError(Code.HOST_MEMORY_NOT_REGISTERED)
    wait_for_workers(runtime.gate, [gpu.worker for gpu in runtime.gpus])
    del runtime.allocations.registered[address]
    runtime.memory.free(known.device)


@api("hipHostGetDevicePointer", POINTER, POINTER, UINT)
def host_get_device_pointer(runtime: HipRuntime, out: int, address: int, flags: int) -> None:
    """For registered memory not the same address: kernels work on a copy there."""
    require(out and address and flags == 0)
    store_pointer(out, device_pointer(runtime, address))


def device_pointer(runtime: HipRuntime, address: int) -> int:
    """The address by which kernels reach host memory that HIP knows."""
    for known in runtime.allocations.registered.values():
        if known.host <= address < known.host + known.size:
            return known.device + address - known.host
    allocation = runtime.allocations.find(address)
    require(allocation is not None and allocation.kind is not MemoryType.DEVICE)
    return address


@api("hipHostGetFlags", POINTER, POINTER)
def host_get_flags(runtime: HipRuntime, out: int, address: int) -> None:
    """Not of registered memory, as by AMD's runtime."""
    allocations = runtime.allocations
    allocation = allocations.find(address)
    if allocation is None or not allocations.is_registered(allocation) or allocation.kind is not MemoryType.HOST:
        raise CallError(Code.INVALID_VALUE)
    store_int(out, allocation.flags)
