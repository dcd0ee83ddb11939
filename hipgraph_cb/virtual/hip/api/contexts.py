"""Contexts: a thin layer over devices, as HIP has it. A context is a device that is current for a thread."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import Limit, PeerAttribute
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.memory import device_disable_peer_access, device_enable_peer_access
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.runtime import Context, HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import wait_for_workers
from hipgraph_cb.virtual.settings import PEER_ACCESS_NONE

_API_VERSION = 4
_LIMITS: dict[int, int] = {Limit.STACK_SIZE: 1024, Limit.MALLOC_HEAP_SIZE: 8 << 20}


def _current(runtime: HipRuntime) -> Context:
    stack = runtime.thread.contexts
    return stack[-1] if stack else runtime.primary_contexts[runtime.thread.device]


def _push(runtime: HipRuntime, context: Context) -> None:
    thread = runtime.thread
    if not thread.contexts:
        thread.device_without_contexts = thread.device
    thread.contexts.append(context)
    thread.device = context.ordinal


def _pop(runtime: HipRuntime) -> Context:
    """Leave the context on top; without another the device is the one from before all contexts."""
    thread = runtime.thread
    context = thread.contexts.pop()
    thread.device = thread.contexts[-1].ordinal if thread.contexts else thread.device_without_contexts
    return context


@api("hipCtxCreate", POINTER, UINT, INT)
def context_create(runtime: HipRuntime, out: int, flags: int, ordinal: int) -> None:
    require(out)
    context = Context(runtime.gpu_at(ordinal).ordinal, flags)
    context.handle = runtime.contexts.add(context)
    _push(runtime, context)
    store_pointer(out, context.handle)


@api("hipCtxDestroy", HANDLE)
def context_destroy(runtime: HipRuntime, handle: int) -> None:
    require(handle)
    context = runtime.contexts.pop(handle)
    stack = runtime.thread.contexts
    if stack and stack[-1] is context:
        _pop(runtime)


@api("hipCtxPushCurrent", HANDLE)
def context_push_current(runtime: HipRuntime, handle: int) -> None:
    require(handle, Code.INVALID_CONTEXT)
    _push(runtime, runtime.contexts[handle])


@api("hipCtxPopCurrent", POINTER)
def context_pop_current(runtime: HipRuntime, out: int) -> None:
    require(runtime.thread.contexts, Code.INVALID_CONTEXT)
    context = _pop(runtime)
    if out:
        store_pointer(out, context.handle)


@api("hipCtxSetCurrent", HANDLE)
def context_set_current(runtime: HipRuntime, handle: int) -> None:
    context = runtime.contexts[handle] if handle else None
    if runtime.thread.contexts:
        _pop(runtime)
    if context is not None:
        _push(runtime, context)


@api("hipCtxGetCurrent", POINTER)
def context_get_current(runtime: HipRuntime, out: int) -> None:
    store_pointer(out, _current(runtime).handle)


@api("hipCtxGetDevice", POINTER)
def context_get_device(runtime: HipRuntime, out: int) -> None:
    store_int(out, _current(runtime).ordinal)


@api("hipCtxGetApiVersion", HANDLE, POINTER)
def context_get_api_version(runtime: HipRuntime, handle: int, out: int) -> None:
    store_int(out, _API_VERSION)


@api("hipCtxGetFlags", POINTER)
def context_get_flags(runtime: HipRuntime, out: int) -> None:
    store_int(out, _current(runtime).flags)


@api("hipDevicePrimaryCtxRetain", POINTER, INT)
def primary_context_retain(runtime: HipRuntime, out: int, ordinal: int) -> None:
    require(out)
    context = runtime.primary_contexts[runtime.gpu_at(ordinal).ordinal]
    context.references += 1
    store_pointer(out, context.handle)


@api("hipDevicePrimaryCtxRelease", INT)
@api("hipDevicePrimaryCtxReset", INT)
def primary_context_release(runtime: HipRuntime, ordinal: int) -> None:
    context = runtime.primary_contexts[runtime.gpu_at(ordinal).ordinal]
    context.references = max(0, context.references - 1)


@api("hipDevicePrimaryCtxGetState", INT, POINTER, POINTER)
def primary_context_get_state(runtime: HipRuntime, ordinal: int, flags_out: int, active_out: int) -> None:
    context = runtime.primary_contexts[runtime.gpu_at(ordinal).ordinal]
    if flags_out:
        store_int(flags_out, context.flags)
    if active_out:
        store_int(active_out, int(context.references > 0 or runtime.thread.device == ordinal))


@api("hipDevicePrimaryCtxSetFlags", INT, UINT)
def primary_context_set_flags(runtime: HipRuntime, ordinal: int, flags: int) -> None:
    raise CallError(Code.CONTEXT_ALREADY_IN_USE if runtime.gpu_at(ordinal) else Code.INVALID_DEVICE)


@api("hipDeviceReset")
def device_reset(runtime: HipRuntime) -> None:
    """Waits for the device; memory stays, as on AMD's runtime with a context in use."""
    wait_for_workers(runtime.gate, [runtime.gpu.worker])


def _check_limit(runtime: HipRuntime, limit: int) -> None:
    is_fifo = limit == Limit.PRINTF_FIFO_SIZE
    require(limit in _LIMITS, Code.UNSUPPORTED_LIMIT if is_fifo else runtime.profile.other_limits)


@api("hipDeviceGetLimit", POINTER, INT)
def device_get_limit(runtime: HipRuntime, out: int, limit: int) -> None:
    require(out)
    _check_limit(runtime, limit)
    store_pointer(out, runtime.limits.get((runtime.thread.device, limit), _LIMITS[limit]))


@api("hipDeviceSetLimit", INT, SIZE)
def device_set_limit(runtime: HipRuntime, limit: int, value: int) -> None:
    _check_limit(runtime, limit)
    runtime.limits[runtime.thread.device, limit] = value


@api("hipDeviceGetCacheConfig", POINTER)
@api("hipCtxGetCacheConfig", POINTER)
@api("hipDeviceGetSharedMemConfig", POINTER)
@api("hipCtxGetSharedMemConfig", POINTER)
def get_hint(runtime: HipRuntime, out: int) -> None:
    """Preferences of hardware that this device does not have: always the default."""
    store_int(out, 0)


@api("hipDeviceSetCacheConfig", INT)
@api("hipCtxSetCacheConfig", INT)
@api("hipDeviceSetSharedMemConfig", INT)
@api("hipCtxSetSharedMemConfig", INT)
def set_hint(runtime: HipRuntime, value: int) -> None:
    require(value in range(4))


@api("hipCtxEnablePeerAccess", HANDLE, UINT)
def context_enable_peer_access(runtime: HipRuntime, handle: int, flags: int) -> None:
    require(handle, Code.INVALID_CONTEXT)
    device_enable_peer_access(runtime, runtime.contexts[handle].ordinal, flags)


@api("hipCtxDisablePeerAccess", HANDLE)
def context_disable_peer_access(runtime: HipRuntime, handle: int) -> None:
    require(handle, Code.INVALID_CONTEXT)
    device_disable_peer_access(runtime, runtime.contexts[handle].ordinal)


@api("hipDeviceGetP2PAttribute", POINTER, INT, INT, INT)
def device_get_p2p_attribute(runtime: HipRuntime, out: int, attribute: int, source: int, target: int) -> None:
    require(out)
    require(attribute in range(4))
    require(runtime.gpu_at(source) is not runtime.gpu_at(target), Code.INVALID_DEVICE)
    has_access = runtime.settings.peer_access != PEER_ACCESS_NONE
    with_access = (PeerAttribute.ACCESS_SUPPORTED, PeerAttribute.NATIVE_ATOMIC_SUPPORTED)
    store_int(out, has_access and attribute in with_access)


@api("hipExtGetLinkTypeAndHopCount", INT, INT, POINTER, POINTER)
def get_link_type(runtime: HipRuntime, source: int, target: int, type_out: int, hops_out: int) -> None:
    require(runtime.gpu_at(source) is not runtime.gpu_at(target), Code.INVALID_DEVICE)
    store_int(type_out, 2)  # PCI Express
    store_int(hops_out, 1)


@api("hipProfilerStart")
@api("hipProfilerStop")
def profiler(runtime: HipRuntime) -> None:
    raise CallError(Code.NOT_SUPPORTED)
