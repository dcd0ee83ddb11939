"""Faults of kernels: to whom they are reported, and what goes on afterwards."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from pathlib import Path

import numpy as np
from support.hsa_client import ErrorCallback, barrier, dispatch, out

from hipgraph_cb.virtual.memory import OutOfMemory

ENDLESS = Path(__file__).resolve().parents[2] / "fixtures" / "virtual" / "endless.gfx942.hsaco"
GRID, WORKGROUP = (1024, 1, 1), (256, 1, 1)
COUNT = 1000
MEMORY_FAULT = 43
EventHandler = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64)
HANDLERS = []
"""Handlers of system events: registered as long as anybody in the process has the library open, so never freed."""


def saxpy(client, module, y, x, **fields):
    kernarg = module.kernargs("saxpy", GRID, WORKGROUP, "QQfI", y, x, 2.0, COUNT)
    return dispatch(kernarg, GRID, WORKGROUP, **module.kernel("saxpy"), **fields)


def test_an_access_outside_memory_is_reported_and_the_device_goes_on(client, module, queue, library):
    y = client.upload(np.ones(COUNT - 1, np.float32))
    done = client.signal()
    queue.submit(saxpy(client, module, y, y, completion=done))
    assert queue.wait_for_error() == (MEMORY_FAULT, queue.address, 77)
    assert client.value(done) == 1
    report = library.fault_report()
    assert "memory access fault" in report
    assert "kernel: saxpy" in report
    assert f"address: {y + 4 * (COUNT - 1):#x}" in report
    other, again = client.queue(), client.upload(np.ones(COUNT, np.float32))
    other.submit(saxpy(client, module, again, again, completion=done))
    assert client.wait(done) == 0
    assert set(client.read(again, COUNT, np.float32)) == {3.0}


def test_the_handler_of_system_events_gets_the_address(client, module, queue):
    events = []

    def note(event, data):
        kind, agent, address, reasons = ctypes.c_uint32.from_address(event).value, *_fields(event)
        events.append((kind, agent, address, reasons, data))
        return 0

    handler = EventHandler(note)
    HANDLERS.append(handler)
    assert client.hsa.hsa_amd_register_system_event_handler(handler, 5) == 0
    y = client.upload(np.ones(COUNT - 1, np.float32))
    queue.submit(saxpy(client, module, y, y))
    queue.wait_for_error()
    assert events == [(0, client.gpu, y + 4 * (COUNT - 1), 1, 5)]


def _fields(event):
    words = (ctypes.c_uint64 * 3).from_address(event + 8)
    return words[0], words[1], words[2] & 0xFFFFFFFF


def test_arguments_that_are_nowhere_are_a_memory_fault(client, module, queue):
    queue.submit(dispatch(0, GRID, WORKGROUP, **module.kernel("saxpy")))
    assert queue.wait_for_error()[0] == MEMORY_FAULT


def test_memory_that_was_freed_is_a_memory_fault(client, module, queue, library):
    y = client.upload(np.ones(COUNT, np.float32))
    packet = saxpy(client, module, y, y)
    client._made.remove(("hsa_amd_memory_pool_free", y))
    assert client.hsa.hsa_amd_memory_pool_free(y) == 0
    queue.submit(packet)
    assert queue.wait_for_error()[0] == MEMORY_FAULT
    assert "which was freed" in library.fault_report()


def until_running(library):
    """Wait until the worker is inside a kernel."""
    while library.machine.gpus[0].worker.running is None:
        time.sleep(0)


def test_destroying_a_queue_stops_its_kernel(client, library):
    module, queue = client.load(ENDLESS.read_bytes()), client.queue()
    flag = client.upload(np.zeros(1, np.int32))
    kernarg = module.kernargs("endless", (64, 1, 1), (64, 1, 1), "Q", flag)
    queue.submit(dispatch(kernarg, (64, 1, 1), (64, 1, 1), **module.kernel("endless")))
    until_running(library)
    queue.destroy()  # it would never return if it waited for the kernel
    assert "stopped because its queue was destroyed" in library.fault_report()


def test_a_kernel_of_a_destroyed_executable_is_invalid(client, queue):
    module = client.load("clang/k_cl.gfx942.hsaco")
    fields = module.kernel("saxpy")
    client._made.remove(("hsa_executable_destroy", module.executable))
    assert client.hsa.hsa_executable_destroy(module.executable) == 0
    queue.submit(dispatch(0, GRID, WORKGROUP, **fields))
    assert queue.wait_for_error()[0] == 0x1010


def test_times_of_a_dispatch_are_reported_where_the_queue_is_profiled(client, module, queue):
    hsa = client.hsa
    y, done, other = client.upload(np.ones(COUNT, np.float32)), client.signal(), client.signal()
    times = (ctypes.c_uint64 * 2)()
    queue.submit(saxpy(client, module, y, y, completion=other))
    client.wait(other)
    assert hsa.hsa_amd_profiling_get_dispatch_time(client.gpu, other, times) == 0x1000
    assert hsa.hsa_amd_profiling_set_profiler_enabled(queue.address, 1) == 0
    before, after = ctypes.c_uint64(), ctypes.c_uint64()
    hsa.hsa_system_get_info(2, ctypes.byref(before))
    queue.submit(saxpy(client, module, y, y, completion=done))
    client.wait(done)
    hsa.hsa_system_get_info(2, ctypes.byref(after))
    assert hsa.hsa_amd_profiling_get_dispatch_time(client.gpu, done, times) == 0
    assert before.value <= times[0] < times[1] <= after.value
    tick = ctypes.c_uint64()
    assert hsa.hsa_amd_profiling_convert_tick_to_system_domain(client.gpu, times[0], ctypes.byref(tick)) == 0
    assert tick.value == times[0]


def test_a_destroyed_queue_gets_no_more_callbacks(client, queue):
    """The error is reported on a thread that is busy until the queue is gone."""
    busy, leave = threading.Event(), threading.Event()

    def hold(_):
        busy.set()
        leave.wait(300)

    function = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(hold)
    assert client.hsa.hsa_amd_async_function(function, 0) == 0
    assert busy.wait(300)
    queue.submit(bytes((99,)) + bytes(63))
    client.let_work_pass()
    queue.destroy()
    leave.set()
    after = threading.Event()
    then = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(lambda _: after.set())
    assert client.hsa.hsa_amd_async_function(then, 0) == 0
    assert after.wait(300)
    assert queue.errors == []


def test_destroying_a_queue_waits_for_its_callback(client, library):
    entered, returned, finished = threading.Event(), threading.Event(), []

    def slow(*_):
        entered.set()
        while not (library.machine.calls.sleepers or returned.is_set()):
            time.sleep(0)
        finished.append(True)

    callback = ErrorCallback(slow)
    address = out(client.hsa.hsa_queue_create, client.gpu, 64, 0, callback, 0, 0, 0)
    base, doorbell = (ctypes.c_uint64 * 2).from_address(address + 8)
    client.hsa.hsa_queue_add_write_index_relaxed(address, 1)
    ctypes.c_uint16.from_address(base).value = 99
    client.hsa.hsa_signal_store_relaxed(doorbell, 0)
    assert entered.wait(300)
    assert client.hsa.hsa_queue_destroy(address) == 0
    finished_before = list(finished)
    returned.set()
    assert finished_before == [True]


def test_a_bell_that_is_rung_while_a_kernel_runs_is_not_lost_to_one_behind_it(client, library, queue):
    module = client.load(ENDLESS.read_bytes())
    flag, done = client.upload(np.zeros(1, np.int32)), client.signal()
    kernarg = module.kernargs("endless", (64, 1, 1), (64, 1, 1), "Q", flag)
    queue.submit(dispatch(kernarg, (64, 1, 1), (64, 1, 1), **module.kernel("endless")))
    until_running(library)
    queue.write(barrier(bit=True), barrier(completion=done, bit=True))
    queue.ring(2)
    queue.ring(1)
    one = np.ones(1, np.int32)
    assert client.hsa.hsa_memory_copy(flag, one.ctypes.data, 4) == 0
    assert client.wait(done) == 0


def test_a_device_without_memory_left_makes_no_queues_and_signals(client, library, monkeypatch):
    def full(*_, **__):
        raise OutOfMemory("full")

    monkeypatch.setattr(library.machine.memory, "allocate", full)
    handle = ctypes.c_uint64()
    assert client.hsa.hsa_queue_create(client.gpu, 64, 0, None, None, 0, 0, ctypes.byref(handle)) == 0x1008
    # As many as there is room for in what signals have already.
    created = iter(lambda: client.hsa.hsa_signal_create(1, 0, None, ctypes.byref(handle)), 0x1008)
    assert {*itertools.islice(created, 1 << 16)} <= {0}
    assert client.hsa.hsa_signal_create(1, 0, None, ctypes.byref(handle)) == 0x1008


def test_a_queue_that_is_destroyed_before_its_fault_is_reported_reports_nothing(client, module, queue):
    """A memory fault that no queue answers for would be held against the work of all."""
    events, busy, leave = [], threading.Event(), threading.Event()

    def note(event, data):
        events.append(_fields(event))
        return 0

    def hold(_):
        busy.set()
        leave.wait(300)

    handler, holding = EventHandler(note), ctypes.CFUNCTYPE(None, ctypes.c_uint64)(hold)
    HANDLERS.append(handler)
    assert client.hsa.hsa_amd_register_system_event_handler(handler, 0) == 0
    assert client.hsa.hsa_amd_async_function(holding, 0) == 0
    assert busy.wait(300)
    y = client.upload(np.ones(COUNT - 1, np.float32))
    queue.submit(saxpy(client, module, y, y))
    client.let_work_pass()
    queue.destroy()
    other = client.queue()
    other.submit(saxpy(client, module, y, y))
    client.let_work_pass()
    leave.set()
    assert other.wait_for_error()[1] == other.address
    assert len(events) == 1
    assert queue.errors == []


def test_a_queue_that_the_handler_of_system_events_destroys_gets_no_callback(client, module):
    queue, destroyed = client.queue(), []

    def destroy(event, data):
        if not destroyed:
            destroyed.append(queue.destroy())
        return 0

    handler = EventHandler(destroy)
    HANDLERS.append(handler)
    assert client.hsa.hsa_amd_register_system_event_handler(handler, 0) == 0
    y = client.upload(np.ones(COUNT - 1, np.float32))
    queue.submit(saxpy(client, module, y, y))
    other = client.queue()
    other.submit(bytes((99,)) + bytes(63))
    other.wait_for_error()
    while not destroyed:
        time.sleep(0)
    client.let_work_pass()
    assert queue.errors == []
