"""Memory for ranks. Every device reaches all of it, so nothing is gained by registering any."""

from __future__ import annotations

from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.memory import free, malloc
from hipgraph_cb.virtual.hip.native import store_pointer
from hipgraph_cb.virtual.rccl.function_table import HANDLE, INT, POINTER, SIZE, api
from hipgraph_cb.virtual.rccl.objects.runtime import RcclRuntime


@api("ncclMemAlloc", POINTER, SIZE)
def memory_allocate(runtime: RcclRuntime, out: int, size: int) -> None:
    malloc(runtime.hip, out, size)


@api("ncclMemFree", POINTER, releases=True)
def memory_free(runtime: RcclRuntime, address: int) -> None:
    free(runtime.hip, address)


@api("ncclCommRegister", HANDLE, POINTER, SIZE, POINTER)
def register(runtime: RcclRuntime, handle: int, address: int, size: int, out: int) -> None:
    _no_registration(runtime, handle, out)


@api("ncclCommWindowRegister", HANDLE, POINTER, SIZE, POINTER, INT)
def register_window(runtime: RcclRuntime, handle: int, address: int, size: int, out: int, flags: int) -> None:
    _no_registration(runtime, handle, out)


@api("ncclCommDeregister", HANDLE, POINTER, releases=True)
@api("ncclCommWindowDeregister", HANDLE, POINTER, releases=True)
def deregister(runtime: RcclRuntime, handle: int, registration: int) -> None:
    """There is nothing to give back."""


def _no_registration(runtime: RcclRuntime, handle: int, out: int) -> None:
    runtime.usable(handle)
    if not out:
        raise CallError(Result.INVALID_ARGUMENT, "no place for the registration")
    store_pointer(out, 0)
