"""Functions of signals: create, load, store, exchange, wait, groups, handlers."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from hipgraph_cb.abi.hsa.structures import SIGNAL_USER
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.function_table import HANDLE, INT, INT64, POINTER, UINT, UINT64, api, native, value
from hipgraph_cb.virtual.hsa.native import load_i64s, load_u32s, load_u64s, require, store_u64
from hipgraph_cb.virtual.hsa.objects.atomics import SIGNAL_VALUE, atomic, load_code
from hipgraph_cb.virtual.hsa.objects.runtime import TICKS_PER_SECOND, HsaRuntime
from hipgraph_cb.virtual.hsa.objects.signals import CONDITIONS

_FOREVER = (1 << 64) - 1
LOAD_ORDERS = ("relaxed", "scacquire", "acquire")
STORE_ORDERS = ("relaxed", "screlease", "release")
UPDATE_ORDERS = ("relaxed", "scacq_screl", "acq_rel", "scacquire", "acquire", "screlease", "release")
_Handler = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_int64, ctypes.c_size_t)
_AsyncFunction = ctypes.CFUNCTYPE(None, ctypes.c_size_t)
_ALL_ONES = 0xFFFF_FFFF


@api("hsa_signal_create", INT64, UINT, POINTER, POINTER)
def signal_create(runtime: HsaRuntime, initial: int, count: int, consumers: int, out: int) -> None:
    require(out)
    agents = load_u64s(consumers, count)
    require(len(set(agents)) == len(agents), note="a consumer is named twice")
    for agent in agents:
        runtime.agent(agent)
    store_u64(out, runtime.signals.create(initial))


@api("hsa_amd_signal_create", INT64, UINT, POINTER, UINT64, POINTER)
def amd_signal_create(runtime: HsaRuntime, initial: int, count: int, consumers: int, attributes: int, out: int) -> None:
    require(attributes & ~1 == 0, note="signals between processes are not there")
    signal_create(runtime, initial, count, consumers, out)


@api("hsa_signal_destroy", HANDLE, releases=True)
def signal_destroy(runtime: HsaRuntime, handle: int) -> None:
    require(handle)
    require(handle not in runtime.doorbells, note="a doorbell is destroyed with its queue")
    runtime.signals.destroy(handle)
    runtime.signal_changed(handle)
    runtime.events.forget(handle)


@api("hsa_amd_signal_value_pointer", HANDLE, POINTER)
def signal_value_pointer(runtime: HsaRuntime, handle: int, out: int) -> None:
    require(out)
    require(runtime.signals.at(handle).kind == SIGNAL_USER, note="a doorbell has no value")
    store_u64(out, handle + SIGNAL_VALUE)


for _order in LOAD_ORDERS:
    native(f"hsa_signal_load_{_order}", HANDLE, result=INT64, code=load_code(SIGNAL_VALUE))


def signal_store(runtime: HsaRuntime, handle: int, new: int) -> None:
    """A store to a doorbell goes where the doorbell points."""
    queue = runtime.doorbells.get(handle)
    if queue is not None:
        queue.ring(new & _FOREVER)
        return
    runtime.signals.at(handle).value = new
    runtime.signal_changed(handle)


for _order in STORE_ORDERS:
    value(f"hsa_signal_store_{_order}", HANDLE, INT64, result=None)(signal_store)
for _order in ("relaxed", "screlease"):
    value(f"hsa_signal_silent_store_{_order}", HANDLE, INT64, result=None)(signal_store)


def _export_update(name: str, operation: str, operands: int, result: type | None, sign: int = 1) -> None:
    def update(runtime: HsaRuntime, handle: int, *values: int) -> int:
        if runtime.signals.at(handle).kind != SIGNAL_USER:
            raise CallError(0, "a doorbell can only be stored to")
        before = atomic(operation)(handle + SIGNAL_VALUE, *(sign * operand for operand in values))
        runtime.signal_changed(handle)
        return before if result is not None else 0

    for order in UPDATE_ORDERS:
        value(f"hsa_signal_{name}_{order}", HANDLE, *[INT64] * operands, result=result)(update)


_export_update("exchange", "exchange", 1, INT64)
_export_update("cas", "cas", 2, INT64)
for _name in ("add", "and", "or", "xor"):
    _export_update(_name, _name, 1, None)
_export_update("subtract", "add", 1, None, sign=-1)


# -- waiting -----------------------------------------------------------------------------------------------------------


def _wait(
    runtime: HsaRuntime, signals: Sequence[int], conditions: Sequence[int], values: Sequence[int], ticks: int
) -> int:
    """Wait until a signal meets its condition; returns its place, or the number of signals when time is up.

    Ctrl-C ends the wait too: an early return is allowed, and the program is interrupted where the call returns.
    """
    met = -1

    def look() -> bool:
        nonlocal met
        for place, (signal, condition, compare) in enumerate(zip(signals, conditions, values, strict=True)):
            if runtime.signals.holds(signal, condition, compare):
                met = place
                return True
        return False

    try:
        runtime.gate.wait(look, None if ticks == _FOREVER else ticks / TICKS_PER_SECOND)
    except KeyboardInterrupt:
        runtime.gate.interrupts.interrupt()
        runtime.gate.faults.add("a wait for a signal was interrupted by Ctrl-C")
        runtime.gate.faults.failed()
    return len(signals) if met < 0 else met


def signal_wait(runtime: HsaRuntime, handle: int, condition: int, compare: int, timeout: int, hint: int) -> int:
    if condition not in range(len(CONDITIONS)):
        raise CallError(0, f"{condition} is not a signal condition")
    if timeout or not runtime.signals.holds(handle, condition, compare):
        _wait(runtime, [handle], [condition], [compare], timeout)
    return runtime.signals.load(handle)


for _order in LOAD_ORDERS:
    value(f"hsa_signal_wait_{_order}", HANDLE, INT, INT64, UINT64, INT, result=INT64)(signal_wait)


@value(
    "hsa_amd_signal_wait_any", UINT, POINTER, POINTER, POINTER, UINT64, INT, POINTER, result=UINT, on_error=_ALL_ONES
)
def signal_wait_any(
    runtime: HsaRuntime, count: int, signals: int, conditions: int, values: int, timeout: int, hint: int, out: int
) -> int:
    handles = load_u64s(signals, count)
    place = _wait(runtime, handles, load_u32s(conditions, count), load_i64s(values, count), timeout)
    if place == count:
        return _ALL_ONES
    if out:
        store_u64(out, runtime.signals.load(handles[place]) & _FOREVER)
    return place


# -- groups ------------------------------------------------------------------------------------------------------------


@api("hsa_signal_group_create", UINT, POINTER, UINT, POINTER, POINTER)
def signal_group_create(
    runtime: HsaRuntime, count: int, signals: int, consumer_count: int, consumers: int, out: int
) -> None:
    require(count and out)
    handles = [runtime.signals.check(signal) for signal in load_u64s(signals, count)]
    for agent in load_u64s(consumers, consumer_count):
        runtime.agent(agent)
    store_u64(out, runtime.signal_groups.add(handles))


@api("hsa_signal_group_destroy", HANDLE, releases=True)
def signal_group_destroy(runtime: HsaRuntime, handle: int) -> None:
    runtime.signal_groups.pop(handle)


@api("hsa_signal_group_wait_any_scacquire", HANDLE, POINTER, POINTER, INT, POINTER, POINTER)
@api("hsa_signal_group_wait_any_relaxed", HANDLE, POINTER, POINTER, INT, POINTER, POINTER)
def signal_group_wait_any(
    runtime: HsaRuntime, group: int, conditions: int, values: int, hint: int, signal_out: int, value_out: int
) -> None:
    handles = runtime.signal_groups[group]
    require(conditions and values and signal_out and value_out)
    count = len(handles)
    place = _wait(runtime, handles, load_u32s(conditions, count), load_i64s(values, count), _FOREVER)
    if place < count:
        store_u64(signal_out, handles[place])
        store_u64(value_out, runtime.signals.load(handles[place]) & _FOREVER)


# -- handlers ----------------------------------------------------------------------------------------------------------


@api("hsa_amd_signal_async_handler", HANDLE, INT, INT64, POINTER, POINTER)
def signal_async_handler(
    runtime: HsaRuntime, handle: int, condition: int, compare: int, handler: int, argument: int
) -> None:
    require(handler and condition in range(len(CONDITIONS)))
    runtime.signals.check(handle)
    _add_handler(runtime, handle, condition, compare, handler, argument)


def _add_handler(runtime: HsaRuntime, handle: int, condition: int, compare: int, handler: int, argument: int) -> None:
    """Call the handler when the condition is met; while it returns true it waits for the next time."""

    def awaited() -> int | None:
        is_over = handle not in runtime.signals or runtime.signals.holds(handle, condition, compare)
        return None if is_over else handle

    def start() -> None:
        if handle in runtime.signals:
            runtime.events.post(handle, call)

    def call() -> None:
        if handle not in runtime.signals:
            return
        if _Handler(handler)(runtime.signals.load(handle), argument):
            with runtime.gate.lock:
                runtime.wait_for(awaited, start)

    runtime.wait_for(awaited, start)


@api("hsa_amd_async_function", POINTER, POINTER)
def async_function(runtime: HsaRuntime, callback: int, argument: int) -> None:
    require(callback)
    runtime.events.post(callback, lambda: _AsyncFunction(callback)(argument))
