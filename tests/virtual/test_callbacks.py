"""The wrapper around every function that C code may call."""

from __future__ import annotations

import ctypes
import gc
import threading

import pytest

from hipgraph_cb.virtual.callbacks import CallError, CallGate, Codes, SharedCalls
from hipgraph_cb.virtual.fault_log import FaultLog
from hipgraph_cb.virtual.interrupts import Interrupts

CODES = Codes(unknown=999, not_initialized=3, deinitialized=4, quiet=(600,))


@pytest.fixture
def gate():
    return CallGate(CODES, SharedCalls(Interrupts(), FaultLog()))


def native(gate, function, *types, name="hipThing", **options):
    address = gate.callback(name, function, types, **options)
    return ctypes.CFUNCTYPE(ctypes.c_int, *types)(address)


def test_a_function_that_returns_nothing_has_succeeded(gate):
    seen = []
    assert native(gate, seen.append, ctypes.c_int)(7) == 0
    assert seen == [7]
    assert gate.faults.report() is None


def test_a_call_error_is_answered_with_its_code_and_no_text(gate):
    def refuse():
        raise CallError(21)

    assert native(gate, refuse)() == 21
    assert gate.faults.report() is None


def test_the_note_of_a_call_error_goes_into_the_fault_report(gate):
    def refuse():
        raise CallError(1, "the sky is low")

    assert native(gate, refuse)() == 1
    assert gate.faults.report() == "hipThing: the sky is low"


def test_any_exception_becomes_the_unknown_error_and_its_traceback_is_kept(gate, capfd):
    def broken():
        raise ZeroDivisionError("by hand")

    assert native(gate, broken)() == 999
    report = gate.faults.report()
    assert report.startswith("hipThing: Traceback (most recent call last):")
    assert report.endswith("ZeroDivisionError: by hand")
    assert capfd.readouterr().err == ""


def test_a_report_belongs_to_the_last_failure(gate):
    outcomes = iter([CallError(1, "one"), None, CallError(600), CallError(2), CallError(3, "three")])

    def next_outcome():
        outcome = next(outcomes)
        if outcome is not None:
            raise outcome

    call = native(gate, next_outcome)
    reports = []
    for _ in range(5):
        call()
        reports.append(gate.faults.report())
    assert reports == ["hipThing: one", "hipThing: one", "hipThing: one", None, "hipThing: three"]


def test_a_function_that_returns_a_pointer_never_returns_a_code(gate):
    def broken():
        raise ValueError

    assert native(gate, broken, on_error=0x1234)() == 0x1234


def test_a_release_in_the_middle_of_a_call_waits_for_its_end(gate):
    order = []
    release = native(gate, lambda: order.append("released"), releases=True)

    class Owner:
        def __del__(self):
            order.append(("asked", release()))

    def work():
        order.append("begin")
        cycle = Owner()
        cycle.itself = cycle
        del cycle
        gc.collect()
        order.append("end")

    assert native(gate, work)() == 0
    assert order == ["begin", ("asked", 0), "end", "released"]


def test_a_release_outside_a_call_is_applied_at_once(gate):
    order = []
    release = native(gate, lambda: order.append("released"), releases=True)
    assert release() == 0
    assert order == ["released"]


def test_a_release_of_another_thread_waits_for_the_lock_and_returns_its_result(gate):
    inside, leave = threading.Event(), threading.Event()

    def work():
        inside.set()
        leave.wait(300)

    def refuse():
        raise CallError(17)

    call, release = native(gate, work), native(gate, refuse, releases=True)
    results = []
    first = threading.Thread(target=call)
    first.start()
    inside.wait(300)
    second = threading.Thread(target=lambda: results.append(release()))
    second.start()
    second.join(0.05)
    assert results == []
    leave.set()
    first.join(300)
    second.join(300)
    assert results == [17]


def test_calls_nest_in_one_thread(gate):
    inner = native(gate, lambda: None)
    assert native(gate, lambda: inner())() == 0


def test_a_wait_gives_up_the_lock(gate):
    state = []
    waiting = native(gate, lambda: None if gate.wait(lambda: bool(state), timeout=300) else 1)
    results = []
    thread = threading.Thread(target=lambda: results.append(waiting()))
    thread.start()
    assert native(gate, lambda: state.append(1))() == 0
    thread.join(300)
    assert results == [0]


def test_a_wait_ends_at_its_timeout(gate):
    def wait():
        return 0 if gate.wait(lambda: False, timeout=0.05) else 55

    assert native(gate, wait)() == 55


def test_a_wait_ends_when_the_process_does(gate):
    results = []
    waiting = native(gate, lambda: gate.wait(lambda: False) and None)
    thread = threading.Thread(target=lambda: results.append(waiting()))
    thread.start()
    while not gate.shared.sleepers:
        thread.join(0.01)
    gate.shared.close(300)
    thread.join(300)
    assert results == [4]


def test_after_a_fork_every_call_is_refused_with_advice(gate):
    calls = []
    call = native(gate, lambda: calls.append(1))
    gate.shared.refuse_after_fork()
    assert call() == 3
    assert calls == []
    assert 'start it with multiprocessing\'s "spawn" method' in gate.faults.report()


def test_results_are_remembered_only_while_there_is_something_to_remember(gate):
    seen = []
    gate.remember = seen.append
    codes = iter([0, 5, 0, 0])

    def answer():
        return next(codes)

    call = native(gate, answer)
    call()
    call()
    gate.remembered = {"thread": 5}
    call()
    gate.remembered = {}
    call()
    assert seen == [5, 0]


def test_no_collection_starts_inside_a_call_of_a_gate_that_holds_them(gate):
    gate.hold_collections()
    seen = []

    def inner():
        seen.append(gc.isenabled())

    def outer():
        native(gate, inner)()
        seen.append(gc.isenabled())

    assert native(gate, outer)() == 0
    assert seen == [False, False]
    assert gc.isenabled()


def test_no_collection_starts_where_work_of_that_gate_runs(gate):
    gate.hold_collections()
    with gate.lock:
        with gate.shared.unlocked():
            assert not gc.isenabled()
        assert gc.isenabled()


def test_a_program_that_turned_collection_off_finds_it_off_after_a_call(gate):
    gate.hold_collections()
    gc.disable()
    try:
        native(gate, lambda: None)()
        assert not gc.isenabled()
    finally:
        gc.enable()
