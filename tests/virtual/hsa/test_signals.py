"""Signals: their operations in every memory order, waiting, groups, handlers."""

from __future__ import annotations

import ctypes
import threading
import time

import pytest
from support.hsa_client import FOREVER, out

LOADS = ("relaxed", "scacquire", "acquire")
STORES = ("relaxed", "screlease", "release")
UPDATES = ("relaxed", "scacq_screl", "acq_rel", "scacquire", "acquire", "screlease", "release")
EQ, NE, LT, GTE = range(4)


@pytest.mark.parametrize("order", LOADS)
def test_a_signal_starts_with_its_value(client, order):
    assert getattr(client.hsa, f"hsa_signal_load_{order}")(client.signal(-7)) == -7


@pytest.mark.parametrize("name", [f"store_{order}" for order in STORES] + ["silent_store_relaxed"])
def test_a_store_sets_the_value(client, name):
    signal = client.signal()
    getattr(client.hsa, f"hsa_signal_{name}")(signal, -(1 << 40))
    assert client.value(signal) == -(1 << 40)


@pytest.mark.parametrize("order", UPDATES)
@pytest.mark.parametrize(
    ("name", "operand", "expected"),
    [("add", -3, 9), ("subtract", 5, 7), ("and", 0b0110, 4), ("or", 0b0011, 15), ("xor", 0b0101, 9)],
)
def test_an_update_changes_the_value(client, name, operand, expected, order):
    signal = client.signal(12)
    getattr(client.hsa, f"hsa_signal_{name}_{order}")(signal, operand)
    assert client.value(signal) == expected


@pytest.mark.parametrize("order", UPDATES)
def test_exchange_and_cas_return_the_value_before(client, order):
    signal = client.signal(12)
    assert getattr(client.hsa, f"hsa_signal_exchange_{order}")(signal, -1) == 12
    cas = getattr(client.hsa, f"hsa_signal_cas_{order}")
    assert (cas(signal, 5, 6), client.value(signal)) == (-1, -1)
    assert (cas(signal, -1, 6), client.value(signal)) == (-1, 6)


def test_updates_of_many_threads_are_all_counted(client):
    signal = client.signal(0)

    def work():
        for _ in range(500):
            client.hsa.hsa_signal_add_relaxed(signal, 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.value(signal) == 2000


@pytest.mark.parametrize("order", LOADS)
@pytest.mark.parametrize(("condition", "compare"), [(EQ, 3), (NE, 4), (LT, 4), (GTE, 3)])
def test_a_wait_for_what_is_so_returns_at_once(client, condition, compare, order):
    wait = getattr(client.hsa, f"hsa_signal_wait_{order}")
    assert wait(client.signal(3), condition, compare, FOREVER, 0) == 3


@pytest.mark.parametrize(("condition", "compare"), [(EQ, 4), (NE, 3), (LT, 3), (GTE, 4)])
def test_a_wait_for_what_is_not_so_ends_with_its_time(client, condition, compare):
    signal, started = client.signal(3), time.monotonic()
    assert client.hsa.hsa_signal_wait_scacquire(signal, condition, compare, 5_000_000, 0) == 3  # 50 ms
    assert time.monotonic() - started > 0.04


@pytest.mark.parametrize("how", ["by a call", "in memory"])
def test_a_store_ends_a_wait(client, library, how):
    signal = client.signal(1)

    def store():
        while not library.machine.calls.sleepers:
            time.sleep(0)
        if how == "by a call":
            client.hsa.hsa_signal_store_screlease(signal, 0)
        else:
            pointer = out(client.hsa.hsa_amd_signal_value_pointer, signal)
            ctypes.c_int64.from_address(pointer).value = 0

    thread = threading.Thread(target=store)
    thread.start()
    assert client.wait(signal) == 0
    thread.join()


def test_waiting_for_any_returns_which_and_its_value(client):
    signals = [client.signal(1), client.signal(-9), client.signal(1)]
    value = ctypes.c_int64()
    arrays = (ctypes.c_uint64 * 3)(*signals), (ctypes.c_uint32 * 3)(LT, LT, LT), (ctypes.c_int64 * 3)(1, 1, 1)
    assert client.hsa.hsa_amd_signal_wait_any(3, *arrays, FOREVER, 0, ctypes.byref(value)) == 1
    assert value.value == -9
    client.hsa.hsa_signal_store_relaxed(signals[1], 1)
    assert client.hsa.hsa_amd_signal_wait_any(3, *arrays, 1_000_000, 0, None) == 0xFFFFFFFF


def test_a_group_is_waited_for(client):
    signals = (ctypes.c_uint64 * 2)(client.signal(1), client.signal(0))
    group = out(client.hsa.hsa_signal_group_create, 2, signals, 0, None)
    signal, value = ctypes.c_uint64(), ctypes.c_int64(5)
    conditions, compare = (ctypes.c_uint32 * 2)(EQ, EQ), (ctypes.c_int64 * 2)(0, 0)
    wait = client.hsa.hsa_signal_group_wait_any_relaxed
    assert wait(group, conditions, compare, 0, ctypes.byref(signal), ctypes.byref(value)) == 0
    assert (signal.value, value.value) == (signals[1], 0)
    assert client.hsa.hsa_signal_group_destroy(group) == 0
    assert client.hsa.hsa_signal_group_destroy(group) == 0x1024


Handler = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_int64, ctypes.c_uint64)


def test_a_handler_is_called_until_it_has_enough(client):
    signal, called, seen = client.signal(1), threading.Event(), []

    def note(value, argument):
        seen.append((value, argument, threading.current_thread().name))
        client.hsa.hsa_signal_store_relaxed(signal, 1)  # while the condition holds, it is called again
        called.set()
        return len(seen) < 2

    handler = Handler(note)
    assert client.hsa.hsa_amd_signal_async_handler(signal, LT, 1, handler, 42) == 0
    for value in (0, -1, -2):
        called.clear()
        client.hsa.hsa_signal_store_relaxed(signal, value)
        called.wait(0.3)
    assert [entry[:2] for entry in seen] == [(0, 42), (-1, 42)]
    assert {entry[2] for entry in seen} == {"hipgraph_cb-hsa-events"}


def test_an_asynchronous_function_is_called(client):
    done = threading.Event()
    function = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(lambda argument: done.set() if argument == 8 else None)
    assert client.hsa.hsa_amd_async_function(function, 8) == 0
    assert done.wait(10)


def test_a_destroyed_signal_is_invalid_and_reads_like_freed_memory(client):
    signal = out(client.hsa.hsa_signal_create, 1, 0, None)
    assert client.hsa.hsa_signal_destroy(signal) == 0
    assert client.hsa.hsa_signal_destroy(signal) == 0x1006
    assert client.value(signal) == -0x2222222222222223  # 0xDD bytes


def test_a_doorbell_is_not_destroyed_by_itself(client, queue):
    assert client.hsa.hsa_signal_destroy(queue.doorbell) == 0x1001


def test_using_a_dead_signal_is_explained(client, library):
    signal = out(client.hsa.hsa_signal_create, 1, 0, None)
    client.hsa.hsa_signal_destroy(signal)
    client.hsa.hsa_signal_store_relaxed(signal, 0)
    assert library.fault_report() == f"hsa_signal_store_relaxed: {signal:#x} is not a live signal"


def test_the_place_of_a_destroyed_signal_is_reused_late(client):
    gone = out(client.hsa.hsa_signal_create, 1, 0, None)
    client.hsa.hsa_signal_destroy(gone)
    assert gone not in [client.signal() for _ in range(16)]
