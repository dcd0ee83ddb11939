"""Sharing memory of pools by handles. Device memory is private to its process, so only that process may attach it."""

from __future__ import annotations

import ctypes
import os
import struct

from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.function_table import POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hsa.native import load_u64s, require, store_bytes, store_u64
from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime

_HANDLE = struct.Struct("<4sIQQ8x")  # what is ours, the process, address, size
_MARK = b"hgcb"


@api("hsa_amd_ipc_memory_create", POINTER, SIZE, POINTER)
def ipc_memory_create(runtime: HsaRuntime, address: int, size: int, out: int) -> None:
    """The handle of a whole allocation."""
    require(address and size and out)
    allocation = runtime.pool_memory.allocations.get(address)
    is_whole = allocation is not None and size == allocation.size
    require(is_whole, note=f"{size} bytes at {address:#x} are not a whole allocation")
    store_bytes(out, _HANDLE.pack(_MARK, os.getpid(), address, size))


@api("hsa_amd_ipc_memory_attach", POINTER, SIZE, UINT, POINTER, POINTER)
def ipc_memory_attach(runtime: HsaRuntime, handle: int, size: int, count: int, agents: int, out: int) -> None:
    require(handle and size and out)
    mark, process, address, whole = _HANDLE.unpack(ctypes.string_at(handle, _HANDLE.size))
    require(mark == _MARK, note="this is no handle of memory")
    if process != os.getpid():
        raise CallError(
            Status.NOT_SUPPORTED,
            f"the memory belongs to process {process}: memory of a virtual GPU is attached in its own process only; "
            "hsa_amd_vmem_export_shareable_handle shares memory between processes",
        )
    is_there = address in runtime.pool_memory.allocations and size == whole
    require(is_there, note="the memory was freed, or has another size")
    for agent in load_u64s(agents, count):
        runtime.agent(agent)
    runtime.pool_memory.attached.append(address)
    store_u64(out, address)


@api("hsa_amd_ipc_memory_detach", POINTER, releases=True)
def ipc_memory_detach(runtime: HsaRuntime, address: int) -> None:
    require(address in runtime.pool_memory.attached, note=f"nothing is attached at {address:#x}")
    runtime.pool_memory.attached.remove(address)
