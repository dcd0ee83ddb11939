"""What tracers and compilers of programs ask: no call has a number here, and no header is built in."""

from __future__ import annotations

from hipgraph_cb.virtual.hip.function_table import POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import static_text, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_NO_CALL, _NO_COMMAND = "unknown", "Unknown command kind"


@api("hipApiName", UINT, result=POINTER, on_error=0, remembers=False, fallback=_NO_CALL)
def api_name(runtime: HipRuntime, number: int) -> int:
    return static_text(_NO_CALL)


@api("hipGetCmdName", UINT, result=POINTER, on_error=0, remembers=False, fallback=_NO_COMMAND)
def get_command_name(runtime: HipRuntime, kind: int) -> int:
    return static_text("InternalMarker" if kind == 0 else _NO_COMMAND)


@api("hipRegisterTracerCallback", POINTER, result=None, on_error=0, remembers=False)
def register_tracer_callback(runtime: HipRuntime, function: int) -> None:
    """The tracer is never called."""


@api("__hipGetPCH", POINTER, POINTER, result=None, on_error=0, remembers=False)
def get_precompiled_header(runtime: HipRuntime, header_out: int, size_out: int) -> None:
    store_pointer(header_out, 0)
    store_int(size_out, 0)
