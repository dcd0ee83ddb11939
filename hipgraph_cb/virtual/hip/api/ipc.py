"""Handles of memory and events for other processes: given out, and opened nowhere, since a process has its own GPU."""

from __future__ import annotations

import ctypes
import os
import struct

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import EventFlag
from hipgraph_cb.abi.hip.structures import IpcHandle
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import require
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_HANDLE = struct.Struct("<4sIQ48x")  # what is ours, the process, the address or handle there
_MEMORY, _EVENT = b"hgcm", b"hgce"
_LAZY_PEER_ACCESS = 1
_BETWEEN_PROCESSES = EventFlag.INTERPROCESS | EventFlag.DISABLE_TIMING


@api("hipIpcGetMemHandle", POINTER, POINTER)
def ipc_get_memory_handle(runtime: HipRuntime, out: int, address: int) -> None:
    require(out and address)
    require(runtime.allocations.find(address) is not None, note=f"{address:#x} is not memory that HIP knows")
    ctypes.memmove(out, _HANDLE.pack(_MEMORY, os.getpid(), address), _HANDLE.size)


@api("hipIpcOpenMemHandle", POINTER, IpcHandle, UINT)
def ipc_open_memory_handle(runtime: HipRuntime, out: int, handle: IpcHandle, flags: int) -> None:
    require(out and flags == _LAZY_PEER_ACCESS)
    _refuse(handle, _MEMORY, "memory", "; hipMemExportToShareableHandle shares memory between processes")


@api("hipIpcCloseMemHandle", POINTER, releases=True)
def ipc_close_memory_handle(runtime: HipRuntime, address: int) -> None:
    raise CallError(Code.INVALID_VALUE, f"no memory of another process was opened at {address:#x}")


@api("hipIpcGetEventHandle", POINTER, HANDLE)
def ipc_get_event_handle(runtime: HipRuntime, out: int, event: int) -> None:
    require(out and event)
    is_shared = runtime.events[event].flags & _BETWEEN_PROCESSES == _BETWEEN_PROCESSES
    require(is_shared, Code.INVALID_CONFIGURATION, "the event was not made for several processes")
    ctypes.memmove(out, _HANDLE.pack(_EVENT, os.getpid(), event), _HANDLE.size)


@api("hipIpcOpenEventHandle", POINTER, IpcHandle)
def ipc_open_event_handle(runtime: HipRuntime, out: int, handle: IpcHandle) -> None:
    require(out)
    _refuse(handle, _EVENT, "event", "")


def _refuse(handle: IpcHandle, expected: bytes, what: str, instead: str) -> None:
    """AMD's runtimes open no handle in the process that it comes from."""
    mark, process, _ = _HANDLE.unpack(bytes(handle))
    require(mark == expected, note=f"this is no handle of {what}")
    require(process != os.getpid(), Code.INVALID_CONTEXT, f"the {what} belongs to this process")
    raise CallError(
        Code.NOT_SUPPORTED, f"the {what} belongs to process {process}, whose virtual GPU is another one{instead}"
    )
