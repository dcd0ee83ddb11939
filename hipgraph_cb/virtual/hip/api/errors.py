"""Error names, texts and the last error of a thread."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import NAMES, TEXTS
from hipgraph_cb.virtual.hip.function_table import INT, POINTER, api
from hipgraph_cb.virtual.hip.native import require, static_text, store_pointer
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_UNKNOWN = static_text("hipErrorUnknown")


def _known(runtime: HipRuntime, texts: dict[int, str]) -> dict[int, str]:
    """The texts of the codes that the version has."""
    return {code: text for code, text in texts.items() if code not in runtime.profile.later_codes}


@api("hipGetErrorName", INT, result=POINTER, on_error=_UNKNOWN, remembers=False, fallback="hipErrorDeinitialized")
def get_error_name(runtime: HipRuntime, code: int) -> int:
    return static_text(_known(runtime, NAMES).get(code, "hipErrorUnknown"))


@api("hipGetErrorString", INT, result=POINTER, on_error=_UNKNOWN, remembers=False, fallback="driver shutting down")
def get_error_string(runtime: HipRuntime, code: int) -> int:
    return static_text(_known(runtime, TEXTS).get(code, "unknown error"))


@api("hipDrvGetErrorName", INT, POINTER)
def driver_get_error_name(runtime: HipRuntime, code: int, out: int) -> None:
    require(code in _known(runtime, NAMES) and out)
    store_pointer(out, static_text(NAMES[code]))


@api("hipDrvGetErrorString", INT, POINTER)
def driver_get_error_string(runtime: HipRuntime, code: int, out: int) -> None:
    require(code in _known(runtime, TEXTS) and out)
    store_pointer(out, static_text(TEXTS[code]))


@api("hipGetLastError", remembers=False)
@api("hipExtGetLastError", remembers=False)
def get_last_error(runtime: HipRuntime) -> int:
    return runtime.take_last_error()


@api("hipPeekAtLastError", remembers=False)
def peek_at_last_error(runtime: HipRuntime) -> int:
    return runtime.thread.last_error
