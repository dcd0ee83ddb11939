"""What programs ask: the version, of a communicator its rank and device, what an error means."""

from __future__ import annotations

import ctypes

from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.native import static_text
from hipgraph_cb.virtual.rccl.function_table import HANDLE, INT, POINTER, api
from hipgraph_cb.virtual.rccl.objects.runtime import RcclRuntime

_UNKNOWN = static_text("unknown result code")
_TEXTS: dict[int, str] = {result: result.text for result in Result}
_NO_TEXT = static_text("")
_last_error = ctypes.create_string_buffer(4096)


def _store(out: int, value: int) -> None:
    if not out:
        raise CallError(Result.INVALID_ARGUMENT, "no place for the answer")
    ctypes.c_int.from_address(out).value = value


@api("ncclGetVersion", POINTER)
def get_version(runtime: RcclRuntime, out: int) -> None:
    _store(out, runtime.version)


@api("ncclGetErrorString", INT, result=POINTER, on_error=_UNKNOWN, remembers=False, fallback="unhandled system error")
def get_error_string(runtime: RcclRuntime, result: int) -> int:
    text = _TEXTS.get(result)
    return _UNKNOWN if text is None else static_text(text)


@api("ncclGetLastError", HANDLE, result=POINTER, on_error=_NO_TEXT, remembers=False, fallback="")
def get_last_error(runtime: RcclRuntime, handle: int) -> int:
    """What is known about the last failure; it is there until the next call of this function."""
    text = (runtime.gate.faults.report() or "").encode()[: len(_last_error) - 1]
    _last_error.value = text
    return ctypes.addressof(_last_error)


@api("ncclCommGetAsyncError", HANDLE, POINTER)
def get_async_error(runtime: RcclRuntime, handle: int, out: int) -> None:
    communicator = runtime.communicator(handle)
    _store(out, communicator.result if communicator.is_ready else Result.IN_PROGRESS)


@api("ncclCommCount", HANDLE, POINTER)
def count(runtime: RcclRuntime, handle: int, out: int) -> None:
    _store(out, runtime.communicator(handle).ranks)


@api("ncclCommCuDevice", HANDLE, POINTER)
def device(runtime: RcclRuntime, handle: int, out: int) -> None:
    _store(out, runtime.communicator(handle).gpu.ordinal)


@api("ncclCommUserRank", HANDLE, POINTER)
def user_rank(runtime: RcclRuntime, handle: int, out: int) -> None:
    _store(out, runtime.communicator(handle).rank)
