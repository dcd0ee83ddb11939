"""What waits for signals without a waiting call: handlers, and copies with dependencies."""

from __future__ import annotations

import ctypes
import threading

import pytest
from support.hsa_client import out

from hipgraph_cb.virtual.hsa.objects.signals import Pending, PendingWork, Signals

LT = 2
Handler = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_int64, ctypes.c_uint64)
NEVER = Handler(lambda value, argument: False)


@pytest.mark.parametrize("handlers", [10, 10_000])
def test_a_store_asks_for_what_waits_for_its_signal_only(client, monkeypatch, handlers):
    """Reads of the worker, which looks for stores of kernels, are not those of the store."""
    readers, load = [], Signals.load
    for _ in range(handlers):
        assert client.hsa.hsa_amd_signal_async_handler(client.signal(1), LT, 1, NEVER, 0) == 0
    signal = client.signal(1)
    assert client.hsa.hsa_amd_signal_async_handler(signal, LT, 0, NEVER, 0) == 0
    monkeypatch.setattr(
        Signals, "load", lambda self, handle: (readers.append(threading.get_ident()), load(self, handle))[1]
    )
    for value in range(20):
        client.hsa.hsa_signal_store_relaxed(signal, value)
    assert readers.count(threading.get_ident()) == 20


def test_work_waits_for_one_signal_at_a_time():
    values, asked, started = {1: 5, 2: 5, 3: 5}, [], []

    def awaited():
        asked.append(0)
        return next((signal for signal, value in values.items() if value), None)

    pending = PendingWork()
    pending.add(Pending(awaited, lambda: started.append(len(asked))))
    for changed in (3, 2, 1, 2, 3):
        values[changed] = 0
        pending.look_at(changed)
    assert started == [2], "nothing is asked before the first signal changes, and everything is met then"
    assert not pending


def test_looks_at_some_signals_reach_all_in_turn():
    met, started = set(), []
    pending = PendingWork()
    for signal in range(10):
        pending.add(Pending(lambda signal=signal: None if signal in met else signal, lambda: started.append(0)))
    met.update(range(10))
    for count in (4, 8, 10):
        pending.look_at_some(4)
        assert len(started) == count


def test_a_handler_hears_of_a_store_that_no_function_made(client):
    signal, called = client.signal(1), threading.Event()
    handler = Handler(lambda value, argument: called.set())
    assert client.hsa.hsa_amd_signal_async_handler(signal, LT, 1, handler, 0) == 0
    address = out(client.hsa.hsa_amd_signal_value_pointer, signal)
    ctypes.c_int64.from_address(address).value = 0
    assert called.wait(10)


def test_a_copy_goes_on_when_the_signal_that_it_waits_for_is_destroyed(client):
    first, other, done = out(client.hsa.hsa_signal_create, 1, 0, None), client.signal(0), client.signal(1)
    x, y = client.allocate(16), client.allocate(16)
    ctypes.memmove(x, bytes(range(16)), 16)
    dependencies = (ctypes.c_uint64 * 2)(other, first)
    arguments = y, client.gpu, x, client.gpu, 16, 2, dependencies, done
    assert client.hsa.hsa_amd_memory_async_copy(*arguments) == 0
    assert client.value(done) == 1
    assert client.hsa.hsa_signal_destroy(first) == 0
    assert client.wait(done) == 0
    assert ctypes.string_at(y, 16) == bytes(range(16))
