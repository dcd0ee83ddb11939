"""The garbage collector may start anywhere: what it finds is released at the next call, without a lock or a wait."""

import gc
import logging
import weakref
from contextlib import contextmanager

import numpy as np
import pytest
from support.collection import collect
from support.held import Caller, HeldWork

from hipgraph_cb import open_device
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.opening import process_choice, virtual_runtime


class Cycle:
    """Holds things, and itself: only the collector finds it."""

    def __init__(self, *things):
        self.things, self.itself = things, self


@contextmanager
def without_collections():
    """None but those that the test starts, and nothing is left of earlier ones."""
    collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.fixture
def runtime(device):
    if not process_choice().is_virtual:
        pytest.skip("calls are counted and held back in the virtual library only")
    return virtual_runtime(device.backend)


def made_things(device):
    stream = device.stream()
    with device.command_buffer() as cb:
        cb.fill_buffer(device.allocate(16), 1)
    cb.replay(stream=stream)
    stream.synchronize()
    return stream, cb, device.allocate(4096)


def test_a_collection_calls_nothing_of_the_runtime(device, runtime):
    with without_collections():
        Cycle(*made_things(device))
        with runtime.count_calls() as count:
            gc.collect()
        assert not count


def test_a_collection_ends_while_another_thread_is_inside_the_runtime(device, runtime):
    """That thread may wait for a lock of the one in which the collection runs."""
    with without_collections():
        Cycle(*made_things(device))
        with runtime.machine.calls.lock:
            Caller(gc.collect).result()


def test_what_the_collector_finds_is_released_at_the_next_call(device, runtime):
    with without_collections():
        before = runtime.machine.memory.live_bytes
        Cycle(*(device.allocate(1 << 20) for _ in range(4)))
        gc.collect()
        assert runtime.machine.memory.live_bytes >= before + (4 << 20)
        device.synchronize()
        assert runtime.machine.memory.live_bytes == before


@pytest.mark.parametrize("call", ["allocate", "stream", "command_buffer", "event", "synchronize"])
def test_every_call_to_a_device_releases_what_the_collector_found(device, call):
    released = []

    class Api:
        absence = None

        def release(self, name, native):
            released.append((name, native))

    with without_collections():
        Cycle(Handle(Api(), 7, "hipFree"))
        gc.collect()
        assert released == []
        arguments = [16] if call == "allocate" else []
        getattr(device, call)(*arguments)
        assert released == [("hipFree", 7)]


def test_a_collection_does_not_log_that_a_release_failed(device, caplog):
    class Api:
        absence = None

        def release(self, name, native):
            logging.getLogger("hipgraph_cb").warning("a release failed")

    with without_collections():
        Cycle(Handle(Api(), 7, "hipFree"))
        gc.collect()
        assert caplog.messages == []
        device.synchronize()
        assert caplog.messages == ["a release failed"]


def test_what_the_runtime_reads_stays_until_the_object_is_released(device):
    """A callback, for instance, that runs when the collection starts in it."""

    class Api:
        absence = None

        def release(self, name, native):
            assert kept() is not None

    class Callback:
        pass

    callback = Callback()
    kept = weakref.ref(callback)
    with without_collections():
        Cycle(Handle(Api(), 7, "hsa_queue_destroy", keep=callback))
        del callback
        gc.collect()
        assert kept() is not None
        device.synchronize()
        assert kept() is None


def test_a_collection_does_not_wait_for_the_work_of_a_device_that_it_finds(device, caplog):
    other = open_device(device.backend, device=device.ordinal)
    with without_collections():
        work = HeldWork(other)
        work.start()
        flag = work._flag  # in memory that stays until the work is done
        Cycle(other, work)
        del other, work
        try:
            gc.collect()
            assert caplog.messages == []  # that it gave up waiting
        finally:
            flag.value = 1
        device.synchronize()
    assert caplog.messages == []


def test_a_release_in_a_finalizer_of_the_program_waits_for_the_next_call_too(device, runtime):
    class Closing(Cycle):
        def __del__(self):
            for thing in self.things:
                thing.close()

    with without_collections():
        stream, cb, buffer = made_things(device)
        Closing(cb.program, stream, buffer)
        del stream, cb, buffer
        with runtime.count_calls() as count:
            gc.collect()
        assert not count
        with runtime.count_calls() as count:
            device.synchronize()
        assert count


def test_a_failure_on_a_collected_stream_is_logged_at_the_next_call(device, kernels, caplog):
    with without_collections():
        stream = device.stream("lost")
        with device.command_buffer() as cb:
            cb.dispatch(kernels["workgroup_ids"], 4, args=[None])  # address 0 is nobody's
        cb.replay(stream=stream)
        with pytest.raises(HipGraphError):
            stream.synchronize()
        cb.replay(stream=stream)
        while not stream.queue.failed:
            stream.queue.refresh()
        Cycle(stream)
        del stream
        gc.collect()
        assert caplog.messages == []
        device.from_host(np.zeros(4, np.uint8))
        assert len(caplog.messages) == 1
        assert caplog.messages[0].startswith("work on stream `lost` failed and no call waited for it: ")
