"""What a program needs lives as long as the program and its launches; closing works in any order."""

import gc
import itertools
import weakref

import numpy as np
import pytest
from support.collection import collect
from support.held import held_work

from hipgraph_cb import Slot
from hipgraph_cb.errors import DeadlineExceededError, FailedPreconditionError


class Things:
    """Everything that one small program is made of."""

    def __init__(self, device, kernels):
        self.source = device.from_host(np.arange(1, 5, dtype=np.uint32))
        self.target = device.from_host(np.zeros(4, np.uint32))
        self.executable = device.load(kernels.verified.data)
        self.stream = device.stream()
        with device.command_buffer() as cb:
            arguments = {"bindings": [self.source, self.target], "constants": [2, 1]}
            cb.dispatch(self.executable["scale_and_offset"], 1, **arguments)
        self.program = cb.program


def test_a_buffer_that_its_owner_dropped_is_kept_by_the_program(device, kernels):
    things = Things(device, kernels)
    alive = weakref.ref(things.source)
    del things.source, things.executable
    collect()
    assert alive() is not None
    things.program.replay()
    assert things.target.to_host(np.uint32).tolist() == [3, 5, 7, 9]


def test_closing_a_buffer_does_not_take_its_memory_from_a_program(device, kernels):
    things = Things(device, kernels)
    things.source.close()
    things.executable.close()
    filler = [device.from_host(np.full(4, 0xEEEEEEEE, np.uint32)) for _ in range(8)]
    things.program.replay()
    assert things.target.to_host(np.uint32).tolist() == [3, 5, 7, 9]
    assert len(filler) == 8


def test_what_a_program_kept_goes_when_the_program_is_closed(device, kernels):
    things = Things(device, kernels)
    handle = weakref.ref(things.source.handle)
    things.source.close()
    assert handle() is not None
    things.program.close()
    assert handle() is None


NAMES = ("source", "target", "executable", "stream", "program")


@pytest.mark.parametrize("order", list(itertools.permutations(NAMES))[::7])
def test_closing_in_any_order_with_work_in_flight(device, kernels, order):
    things = Things(device, kernels)
    witness = things.target.view(0, 16)
    for _ in range(3):
        things.program.replay(stream=things.stream)
    for name in order:
        getattr(things, name).close()
    device.synchronize()
    assert witness.buffer.closed


def test_letting_go_of_everything_with_work_in_flight(device, kernels):
    before = device.fault_report()
    for _ in range(20):
        things = Things(device, kernels)
        things.program.replay(stream=things.stream)
        del things
    collect()
    device.synchronize()
    assert device.fault_report() == before


@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_an_executable_may_be_closed_before_the_replay_that_needs_its_kernels(device, kernels, zeros, mode):
    executable, counts = device.load(kernels.verified.data), device.from_host(np.array([4, 1, 1], np.uint32))
    slots, indirect, x, y = (
        device.command_buffer(binding_capacity=1).begin(),
        device.command_buffer().begin(),
        zeros(16),
        zeros(16),
    )
    slots.dispatch(executable["workgroup_ids"], 4, args=[Slot(0)])
    indirect.dispatch_indirect(executable["workgroup_ids"], counts, args=[y])
    slots.end()
    indirect.end()
    executable.close()
    slots.replay(bindings=[x], mode=mode)
    indirect.replay(mode=mode)
    assert x.to_host(np.uint32).tolist() == y.to_host(np.uint32).tolist() == [0, 1, 2, 3]


def bound_to(device, kernels, source):
    """A program that reads a slot by a kernel and by a copy, and its target."""
    target = device.from_host(np.zeros(8, np.uint32))
    with device.command_buffer(binding_capacity=1) as cb:
        arguments = {"bindings": [Slot(0), target], "constants": [2, 1]}
        cb.dispatch(kernels["scale_and_offset"], 1, **arguments)
        cb.copy_buffer(Slot(0), target.view(16, 16))
    return cb, target


@pytest.mark.parametrize(("first", "later"), [("graph", "graph"), ("stream", "graph"), ("graph", "stream")])
def test_a_buffer_that_stays_bound_may_be_closed(device, kernels, first, later):
    """A later replay may make what it launches again: a graph that is made late, arguments for one more in flight."""
    source = device.from_host(np.arange(1, 5, dtype=np.uint32))
    cb, target = bound_to(device, kernels, source)
    with held_work(device):
        cb.replay(bindings=[source], mode=first)
        source.close()
        cb.replay(mode=later)
        cb.replay(mode=later)
    assert target.to_host(np.uint32).tolist() == [3, 5, 7, 9, 1, 2, 3, 4]


def test_a_program_with_a_closed_buffer_in_a_slot_is_timed(device, kernels):
    source = device.from_host(np.arange(1, 5, dtype=np.uint32))
    cb, target = bound_to(device, kernels, source)
    cb.replay(bindings=[source])
    source.close()
    cb.program.profile()
    assert target.to_host(np.uint32).tolist() == [3, 5, 7, 9, 1, 2, 3, 4]


def every_command(device, kernels, target):
    """A command buffer with all kinds of commands, and a slot."""
    event, counts = device.event(), device.from_host(np.array([1, 1, 1], np.uint32))
    with device.command_buffer(binding_capacity=1) as inner:
        inner.fill_buffer(Slot(0), 1)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(target, 1, length=8)
        cb.update_buffer(target, bytes(8), offset=8)
        cb.signal_event(event)
        cb.execute_commands(inner, bindings=[Slot(0)])
        cb.execution_barrier()
        cb.wait_events([event])
        cb.dispatch_indirect(kernels["workgroup_ids"], counts, args=[target])
        cb.dispatch(kernels["workgroup_ids"], 1, args=[Slot(0)])
        cb.reset_event(event)
        cb.execution_barrier()
        cb.copy_buffer(target, Slot(0, 0, 16))
    return cb


@pytest.mark.parametrize("replay", [{}, {"mode": "stream"}, {"check": "stream"}])
def test_what_nobody_holds_goes_at_once_without_garbage_collection(device, kernels, zeros, replay):
    """Memory of the device that waits for a collection may run out before there is one."""
    collect()
    gc.disable()
    try:
        bound = zeros(16)
        cb = every_command(device, kernels, zeros(16))
        cb.replay(bindings=[bound], **replay)
        device.synchronize()
        alive = [weakref.ref(each) for each in (cb, cb.program, cb.recording, bound)]
        del cb, bound
        assert [each() for each in alive] == [None] * 4
    finally:
        gc.enable()


def test_what_the_collector_has_taken_refuses_to_be_used(device, zeros):
    """A cycle of references goes in no order: when `__del__` runs, graphs, streams and memory may be gone."""
    refused = []

    class Owner:
        def __init__(self):
            self.itself = self
            self.buffer, self.stream = zeros(16), device.stream()
            with device.command_buffer() as cb:
                cb.fill_buffer(zeros(16), 1)
            self.program = cb.program
            self.program.replay(stream=self.stream)
            device.synchronize()

        def __del__(self):
            for use in (
                lambda: self.program.replay(),
                lambda: self.program.replay(mode="stream"),
                lambda: self.stream.synchronize(),
                lambda: self.buffer.to_host(),
                lambda: self.buffer.write(bytes(16)),
            ):
                try:
                    use()
                except FailedPreconditionError as error:
                    refused.append(error.what)

    Owner()
    collect()
    assert len(refused) == 5
    device.synchronize()


def test_a_timeout_says_the_seconds_that_were_given(device):
    with held_work(device), pytest.raises(DeadlineExceededError, match=r"not done after 0\.0001 s"):
        device.synchronize(timeout=0.0001)
    device.synchronize()
