"""What a call uses stays until the call is over, whoever closes it meanwhile: another thread, or a finalizer."""

import threading
import weakref

import numpy as np
import pytest
from support.collection import collect
from support.held import Caller, Held, HeldLock, held_work

from hipgraph_cb import Slot, open_device
from hipgraph_cb.backend.queue import LaunchQueue
from hipgraph_cb.errors import FailedPreconditionError
from hipgraph_cb.runtime import calls

COPY = {"hip": "hipMemcpy", "hsa": "hsa_memory_copy"}
ALLOCATE = {"hip": "hipMalloc", "hsa": "hsa_amd_memory_pool_allocate"}
LAUNCHED = np.full(4, 0x01010101, np.uint32)


@pytest.fixture
def own(device):
    """A device that the test may close."""
    with open_device(device.backend, device=device.ordinal) as own:
        yield own


@pytest.fixture
def hold_launch(monkeypatch):
    """Holds the next launch on a queue, after the replay has looked whether everything is open."""

    def hold(queue: LaunchQueue) -> HeldLock:
        lock = HeldLock(queue.lock)
        monkeypatch.setattr(queue, "lock", lock)
        return lock

    return hold


@pytest.fixture
def hold_call(monkeypatch):
    """Holds the next call of a function of the runtime."""

    def hold(device, name) -> Held:
        held = Held(device.api.call, name)
        monkeypatch.setattr(device.api, "call", held)
        return held

    return hold


def filling(device, target, capacity=0):
    with device.command_buffer(binding_capacity=capacity) as cb:
        cb.fill_buffer(target, 1, pattern_length=1)
    return cb.program


def closed_meanwhile(held, call, close):
    """What `call` returns in another thread when `close` runs in the middle of it."""
    caller = Caller(call)
    assert held.reached.wait(120)
    close()
    held.open.set()
    return caller.result()


@pytest.mark.parametrize("capacity", [0, 1])
@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_a_program_that_is_closed_while_it_is_replayed_runs_once_more(device, zeros, hold_launch, capacity, mode):
    target, before = zeros(16), device.fault_report()
    program = filling(device, Slot(0) if capacity else target, capacity)
    bindings = [target] if capacity else None
    replay = lambda: program.replay(bindings=bindings, mode=mode)  # noqa: E731
    closed_meanwhile(hold_launch(device.queue_of(None)), replay, program.close)
    assert (target.to_host(np.uint32) == LAUNCHED).all()
    assert device.fault_report() == before
    with pytest.raises(FailedPreconditionError):
        program.replay(bindings=bindings)


def test_what_a_program_needs_goes_when_the_replay_is_over_that_used_it(device, zeros, hold_launch):
    target = zeros(16)
    handle = weakref.ref(target.handle)
    program = filling(device, target)
    target.close()

    def close():
        program.close()
        device.synchronize()
        assert handle() is not None

    closed_meanwhile(hold_launch(device.queue_of(None)), program.replay, close)
    device.synchronize()
    assert handle() is None


def test_a_program_is_timed_to_the_end_although_it_is_closed(device, zeros, hold_launch):
    target = zeros(16)
    program = filling(device, target)
    closed_meanwhile(hold_launch(device.queue_of(None)), lambda: program._time_commands(None), program.close)
    assert (target.to_host(np.uint32) == LAUNCHED).all()


def test_a_stream_that_is_closed_while_a_program_is_replayed_on_it_takes_the_replay(device, zeros, hold_launch):
    target, stream = zeros(16), device.stream()
    program, queue = filling(device, target), stream.queue
    closed_meanwhile(hold_launch(queue), lambda: program.replay(stream=stream), stream.close)
    assert (target.to_host(np.uint32) == LAUNCHED).all()
    device.synchronize()
    assert queue not in device.queues
    with pytest.raises(FailedPreconditionError, match="replay: stream is closed"):
        program.replay(stream=stream)


def test_a_stream_that_is_closed_just_before_a_replay_enters_it_refuses_the_replay(device, zeros, monkeypatch):
    target, stream = zeros(16), device.stream()
    program, queue_of = filling(device, target), device.queue_of

    def found_and_closed(given):
        queue = queue_of(given)
        stream.close()
        return queue

    monkeypatch.setattr(device, "queue_of", found_and_closed)
    with pytest.raises(FailedPreconditionError, match="replay: stream is closed"):
        program.replay(stream=stream)
    assert target.to_host().tolist() == [0] * 16


def test_a_buffer_that_is_closed_while_it_is_read_is_read_to_the_end(device, hold_call):
    buffer = device.from_host(np.arange(4, dtype=np.uint32))
    handle = weakref.ref(buffer.handle)
    data = closed_meanwhile(hold_call(device, COPY[device.backend]), lambda: buffer.to_host(np.uint32), buffer.close)
    assert data.tolist() == [0, 1, 2, 3]
    collect()
    assert handle() is None


def test_a_buffer_that_is_closed_while_it_is_written_is_written_to_the_end(device, zeros, hold_call):
    buffer, before = zeros(16), device.fault_report()
    closed_meanwhile(hold_call(device, COPY[device.backend]), lambda: buffer.write(bytes(16)), buffer.close)
    assert device.fault_report() == before


def test_a_buffer_that_is_closed_after_it_was_bound_is_written_by_the_replay(device, zeros, hold_launch):
    bound, before = zeros(16), device.fault_report()
    handle = weakref.ref(bound.handle)
    program = filling(device, Slot(0), 1)
    held = hold_launch(device.queue_of(None))
    closed_meanwhile(held, lambda: program.replay(bindings=[bound]), bound.close)
    device.synchronize()
    assert device.fault_report() == before
    assert handle() is not None
    program.close()
    device.synchronize()
    assert handle() is None


def test_an_executable_that_is_closed_while_it_is_asked_for_a_kernel_answers(device, kernels, hold_call):
    executable = device.load(kernels.verified.data)
    function = {"hip": "hipModuleGetFunction", "hsa": "hsa_executable_symbol_get_info"}[device.backend]
    ask = executable.function if device.backend == "hip" else executable.kernel
    assert closed_meanwhile(hold_call(device, function), lambda: ask("workgroup_ids"), executable.close)


def test_an_event_that_is_closed_still_orders_the_programs_that_know_it(device, zeros, kernels):
    source, target, event = device.from_host(np.full(4, 9, np.uint32)), zeros(16), device.event()
    with device.command_buffer() as produce:
        produce.fill_buffer(source, 1, pattern_length=1)
        produce.signal_event(event)
    with device.command_buffer() as consume:
        consume.wait_events([event])
        consume.copy_buffer(source, target)
    with device.stream() as one, device.stream() as other:
        with held_work(device, one):
            produce.replay(stream=one)
            event.close()
            consume.replay(stream=other)
        other.synchronize()
    assert (target.to_host(np.uint32) == LAUNCHED).all()


def test_closing_a_device_waits_for_the_replays_of_other_threads(own, hold_launch, monkeypatch):
    """The replay goes on when the closing thread waits for it, and not before."""
    target = own.from_host(bytes(16))
    address, program, before = target.address, filling(own, target), own.fault_report()
    held = hold_launch(own.queue_of(None))
    monkeypatch.setattr(calls, "PAUSE", 0)
    monkeypatch.setattr(calls.time, "sleep", lambda _seconds: held.open.set())
    caller = Caller(program.replay)
    assert held.reached.wait(120)
    own.close()
    caller.result()
    assert held.open.is_set()
    assert own.fault_report() == before
    assert address


def test_closing_a_device_waits_for_what_other_threads_make(own, hold_call, monkeypatch):
    held = hold_call(own, ALLOCATE[own.backend])
    monkeypatch.setattr(calls.time, "sleep", lambda _seconds: held.open.set())
    caller = Caller(lambda: own.allocate(64))
    assert held.reached.wait(120)
    own.close()
    with pytest.raises(FailedPreconditionError, match=f"a new buffer: {own.describe()} is closed"):
        caller.result()
    assert held.open.is_set()


def test_a_device_that_a_finalizer_closes_in_the_middle_of_a_call_makes_nothing_more(own, monkeypatch):
    """A finalizer runs in the thread of the call, which cannot wait for itself."""
    call, name = own.api.call, ALLOCATE[own.backend]

    def closing(function, *arguments, **options):
        if function == name:
            own.close()
        return call(function, *arguments, **options)

    monkeypatch.setattr(own.api, "call", closing)
    with pytest.raises(FailedPreconditionError, match=f"a new buffer: {own.describe()} is closed"):
        own.allocate(64)


def test_of_several_threads_that_close_one_thing_one_gives_it_back(device, zeros, monkeypatch):
    released = []
    buffer, start = zeros(16), threading.Barrier(4)
    monkeypatch.setattr(type(buffer), "_release", lambda self: released.append(self))
    callers = [Caller(lambda: (start.wait(), buffer.close())) for _ in range(4)]
    for caller in callers:
        caller.result()
    assert released == [buffer]


def test_a_timeout_of_a_device_that_closes_leaves_what_a_call_still_uses(own, hold_launch):
    """A call that does not end in time keeps what it uses, until it does."""
    target = own.from_host(bytes(16))
    program, queue = filling(own, target), own.queue_of(None)
    before = own.fault_report()
    held = hold_launch(queue)
    caller = Caller(program.replay)
    assert held.reached.wait(120)
    own.timeout = 0.0
    own.close()
    held.open.set()
    caller.result()
    queue.wait(120)
    assert own.fault_report() == before
