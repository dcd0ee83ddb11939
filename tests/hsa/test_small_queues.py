"""Launches that go round a queue, do not fit into it, or find it full, on the virtual device."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest
from support.held import HeldWork

from hipgraph_cb import Slot
from hipgraph_cb.errors import CancelledError, DeadlineExceededError, HsaError
from hipgraph_cb.hsa.queue import HsaQueue

SLOTS = 64
ENDLESS = Path(__file__).parent.parent / "fixtures" / "virtual" / "endless.gfx942.hsaco"


def counting(device, count):
    """Fills each of `count` words with its own number."""
    target = device.from_host(bytes(4 * count))
    with device.command_buffer(label="counting") as cb:
        for index in range(count):
            cb.fill_buffer(target.view(4 * index, 4), index)
    return cb, target


@pytest.mark.parametrize("count", [1, 20, SLOTS - 1, SLOTS])
def test_replays_go_round_the_queue(small, count):
    cb, target = counting(small, count)
    for _ in range(5):
        cb.replay()
    assert target.to_host(np.uint32).tolist() == list(range(count))


@pytest.mark.parametrize("count", [SLOTS + 1, 3 * SLOTS, 5 * SLOTS + 7])
def test_a_recording_may_be_longer_than_the_queue(small, count):
    cb, target = counting(small, count)
    for _ in range(2):
        cb.replay()
    assert target.to_host(np.uint32).tolist() == list(range(count))


def test_indirect_dispatches_find_their_packets_wherever_they_are_in_the_queue(small, kernels):
    target, counts = small.from_host(bytes(4 * 16)), small.from_host(np.array([16, 1, 1], np.uint32))
    with small.command_buffer() as cb:
        for _ in range(50):
            cb.fill_buffer(target, 0xFFFFFFFF)
            cb.execution_barrier()
            cb.dispatch_indirect(kernels["workgroup_ids"], counts, args=[target])
            cb.execution_barrier()
    for _ in range(3):
        cb.replay()
        assert target.to_host(np.uint32).tolist() == list(range(16))


def test_more_replays_than_the_queue_holds_wait_for_room(small):
    with small.command_buffer(binding_capacity=1) as cb:
        for index in range(10):
            cb.fill_buffer(Slot(0, 4 * index, 4), index)
    buffers = [small.from_host(bytes(40)) for _ in range(100)]
    for buffer in buffers:
        cb.replay(bindings=[buffer])
    assert all(buffer.to_host(np.uint32).tolist() == list(range(10)) for buffer in buffers)


class Endless:
    """A program that ends when it is asked to. Host copies wait for it, so the rest of a test is made before."""

    def __init__(self, device):
        flag = device.from_host(bytes(4))
        self._flag = ctypes.c_int.from_address(flag.address)
        with device.command_buffer(label="endless") as self._cb:
            self._cb.dispatch(device.load(ENDLESS)["endless"], 1, 64, args=[flag])

    def start(self):
        self._cb.replay()

    def finish(self):
        self._flag.value = 1


@pytest.fixture
def endless(small):
    program = Endless(small)
    yield program
    program.finish()
    small.timeout = 600


def test_a_full_queue_says_where_it_stands_and_takes_launches_again_afterwards(small, endless):
    cb, target = counting(small, 20)  # and the packet that ends them
    endless.start()
    small.timeout = 0.1
    for _ in range(3):
        cb.replay()
    with pytest.raises(DeadlineExceededError) as caught:
        cb.replay()
    assert str(caught.value) == (
        "replay: the queue had no room for 21 packets within 0.1 s\n"
        "  where: program `counting`, the device's own stream\n"
        "  found: read index 0, write index 64, 64 slots\n"
        "  next: set device.timeout, or look for a kernel that does not end"
    )
    endless.finish()
    small.timeout = 600
    cb.replay()
    assert target.to_host(np.uint32).tolist() == list(range(20))


def test_a_launch_that_finds_no_room_for_its_rest_is_given_up_and_so_is_its_queue(small):
    other, target = counting(small, 5)
    flag, words = small.from_host(bytes(4)), small.from_host(bytes(4))
    with small.command_buffer(label="endless") as cb:
        cb.dispatch(small.load(ENDLESS)["endless"], 1, 64, args=[flag])
        for _ in range(2 * SLOTS):
            cb.execution_barrier()
            cb.fill_buffer(words, 1)
    small.timeout = 0.2
    with pytest.raises(DeadlineExceededError) as caught:
        cb.replay()
    assert caught.value.found == "read index 0, write index 64, 64 slots"
    small.timeout = 600
    other.replay()
    assert target.to_host(np.uint32).tolist() == list(range(5))
    assert words.to_host().tolist() == [0] * 4


def test_what_stood_before_a_launch_that_was_given_up_is_reported_to_be_lost(small):
    other, target = counting(small, 5)
    flag, words = small.from_host(bytes(4)), small.from_host(bytes(4))
    with small.command_buffer(label="endless") as cb:
        cb.dispatch(small.load(ENDLESS)["endless"], 1, 64, args=[flag])
    with small.command_buffer(label="long") as long:
        for _ in range(2 * SLOTS):
            long.fill_buffer(words, 1)
            long.execution_barrier()
    small.timeout = 0.2
    cb.replay()
    with pytest.raises(DeadlineExceededError):
        long.replay()
    small.timeout = 600
    with pytest.raises(CancelledError) as caught:
        small.synchronize()
    assert str(caught.value) == (
        "replay: program `long` could not be written whole, and its queue was given up\n"
        "  where: the device's own stream\n"
        "  found: 1 launches in front of it that were not done"
    )
    other.replay()
    assert target.to_host(np.uint32).tolist() == list(range(5))


def test_a_timeout_says_where_the_queue_stands(small, endless):
    endless.start()
    with pytest.raises(DeadlineExceededError) as caught:
        small.synchronize(timeout=0.05)
    assert caught.value.found == (
        "1 of 1 launches not known to be done; the last one is program `endless`; read index 0, write index 1"
    )


def test_a_bad_packet_is_an_error_that_names_the_command(small, kernels):
    x = small.from_host(np.arange(4, dtype=np.uint32))
    with small.command_buffer(label="step") as cb:
        cb.fill_buffer(x, 1)
        cb.execution_barrier()
        cb.dispatch(kernels["negate"], 1, args=[x, x], label="broken")
    cb.program._needs.prepared.instances.shared().packets["kernel_object"][1] = 0x1230
    cb.replay()
    with pytest.raises(HsaError) as caught:
        small.synchronize()
    assert (caught.value.code, caught.value.name) == (0x1010, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT")
    assert str(caught.value).startswith(
        "the error callback of the queue returned 4112 (HSA_STATUS_ERROR_INVALID_CODE_OBJECT)\n"
        "  where: command 1 'broken' in 'step', waiting for the device's own stream, last enqueued: program `step`\n"
    )
    assert re.search("0x1230 is not a kernel", str(caught.value))
    assert x.to_host(np.uint32).tolist() == [1] * 4


def test_a_fault_names_the_command_within_a_nested_recording(small, kernels):
    x, y = small.allocate(8), small.allocate(16)
    with small.command_buffer(label="inner") as inner:
        inner.fill_buffer(y, 1)
        inner.execution_barrier()
        inner.dispatch(kernels["constants"], 1, bindings=[x], constants=[1, 2, 3, 4], label="too much")
    with small.command_buffer(label="outer") as outer:
        outer.fill_buffer(y, 2)
        outer.execution_barrier()
        outer.execute_commands(inner.recording)
    for _ in range(20):
        outer.replay()
    with pytest.raises(HsaError) as caught:
        small.synchronize()
    assert caught.value.where.startswith("command 1 in 'outer', command 1 'too much' in 'inner', waiting for ")


def test_a_stream_that_faulted_does_not_keep_another_one_waiting_for_its_event(small, kernels):
    event, x, y = small.event(), small.allocate(8), small.from_host(bytes(4))
    with small.command_buffer() as signals:
        signals.dispatch(kernels["constants"], 1, bindings=[x], constants=[1, 2, 3, 4])
        signals.signal_event(event)
    with small.command_buffer() as waits:
        waits.wait_events([event])
        waits.fill_buffer(y, 5)
    with small.stream() as one, small.stream() as other:
        signals.replay(stream=one)
        waits.replay(stream=other)
        with pytest.raises(HsaError):
            one.synchronize()
        other.synchronize(timeout=600)
    assert y.to_host(np.uint32).tolist() == [5]


def test_a_launch_that_comes_in_the_middle_of_a_poll_is_not_taken_for_done(small):
    """A queue that has failed has no native queue until the next launch opens one."""
    queue, work = small.queue_of(None), HeldWork(small)
    queue._release()

    class Interrupted(HsaQueue):
        @property
        def _native(self):
            self.__class__ = HsaQueue
            work.start()  # as another thread might
            return None

    queue.__class__ = Interrupted
    queue.poll()
    assert queue.busy
    work.finish()
    small.synchronize()
    assert not queue.busy
