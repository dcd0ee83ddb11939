"""A finalizer that replays in the middle of a replay is refused where it would wait for what it interrupts."""

import numpy as np
import pytest

from hipgraph_cb import Slot
from hipgraph_cb.errors import FailedPreconditionError

REFUSAL = (
    "{action}: this thread is in the middle of a replay\n"
    "  where: program `inner`\n"
    "  found: a call by a finalizer or signal handler, which interrupts the one that it would wait for\n"
    "  next: let the finalizer or handler note what is to be done, and do it after the replay"
)


class InterruptedLock:
    """A lock; whoever holds it for the first time is interrupted there by a call."""

    def __init__(self, lock, call):
        self.acquire, self.release, self.locked = lock.acquire, lock.release, lock.locked
        self._call = call

    def __enter__(self):
        self.acquire()
        call, self._call = self._call, None
        if call is not None:
            call()

    def __exit__(self, *_):
        self.release()


@pytest.fixture
def interrupt(device, monkeypatch):
    """Lets `call` run when a launch on the device's own stream has begun; returns the refusals that it got."""

    def interrupt(call):
        refusals = []

        def finalizer():
            try:
                call()
            except FailedPreconditionError as error:
                refusals.append(str(error))

        queue = device.queue_of(None)
        monkeypatch.setattr(queue, "lock", InterruptedLock(queue.lock, finalizer))
        return refusals

    return interrupt


def negating(device, kernels, source, target, capacity=0, label="inner"):
    with device.command_buffer(binding_capacity=capacity, label=label) as cb:
        cb.dispatch(kernels["negate"], 1, args=[target, Slot(0) if capacity else source])
    return cb


@pytest.fixture
def source(device):
    return device.from_host(np.arange(4, dtype=np.uint32))


@pytest.mark.parametrize("mode", ["graph", "stream"])
@pytest.mark.parametrize("capacity", [0, 1])
def test_a_program_is_not_replayed_in_the_middle_of_its_own_replay(
    device, kernels, zeros, source, interrupt, capacity, mode
):
    target = zeros(16)
    cb = negating(device, kernels, source, target, capacity)
    bindings = [source] if capacity else None
    refusals = interrupt(lambda: cb.replay(bindings=bindings, mode=mode))
    cb.replay(bindings=bindings, mode=mode)
    assert refusals == [REFUSAL.format(action="replay")]
    cb.replay(mode=mode)
    device.synchronize()


def test_slots_are_not_changed_in_the_middle_of_a_replay_whatever_the_stream(device, kernels, zeros, source, interrupt):
    cb, stream = negating(device, kernels, source, zeros(16), capacity=1), device.stream()
    refusals = interrupt(lambda: cb.replay(bindings=[source], stream=stream))
    cb.replay(bindings=[source])
    assert refusals == [REFUSAL.format(action="replay")]


def test_another_program_is_not_replayed_on_a_stream_in_the_middle_of_a_replay_there(
    device, kernels, zeros, source, interrupt
):
    outer, inner = (negating(device, kernels, source, zeros(16), label=label) for label in ("outer", "inner"))
    refusals = interrupt(inner.replay)
    outer.replay()
    assert refusals == [REFUSAL.format(action="replay")]


def test_nothing_is_timed_in_the_middle_of_a_replay(device, kernels, zeros, source, interrupt):
    cb = negating(device, kernels, source, zeros(16))
    refusals = interrupt(cb.program.profile)
    cb.replay()
    assert refusals == [REFUSAL.format(action="profile")]


def test_another_stream_takes_another_program_in_the_middle_of_a_replay(device, kernels, zeros, source, interrupt):
    outer, inner = (negating(device, kernels, source, zeros(16), label=label) for label in ("outer", "inner"))
    stream = device.stream()
    refusals = interrupt(lambda: inner.replay(stream=stream))
    outer.replay()
    assert refusals == []
    stream.synchronize()
