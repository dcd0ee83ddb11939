"""Events: edges inside a recording, order between recordings, and what is refused."""

import numpy as np
import pytest
from support.collection import collect

from hipgraph_cb.errors import FailedPreconditionError

MODES = pytest.mark.parametrize("mode", ["graph", "stream"])


def test_an_event_can_be_made_and_closed(device):
    event = device.event("ready")
    assert (event.label, event.kind, event.is_signalled, event.device) == ("ready", "event", False, device)
    event.close()
    with pytest.raises(FailedPreconditionError, match="`ready` is closed"):
        device.command_buffer().begin().signal_event(event)


@MODES
def test_a_signal_and_a_reset_can_be_replayed(device, mode):
    event = device.event()
    with device.command_buffer() as cb:
        cb.signal_event(event)
        cb.reset_event(event)
    cb.replay(mode=mode)
    device.synchronize()
    assert not event.is_signalled


@MODES
def test_a_recording_waits_for_what_another_one_signalled(device, zeros, mode):
    event, x, y = device.event(), zeros(4), zeros(4)
    with device.command_buffer() as first:
        first.fill_buffer(x, 7)
        first.signal_event(event)
    with device.command_buffer() as second:
        second.wait_events([event])
        second.copy_buffer(x, y)
    first.replay(mode=mode)
    device.synchronize()
    assert event.is_signalled
    second.replay(mode=mode)
    assert y.to_host(np.uint32).tolist() == [7]


@MODES
def test_recordings_on_two_streams_are_ordered_by_events_alone(device, kernels, zeros, mode):
    """Four rounds of a chain of kernels on one stream and its reader on another, both in flight at once."""
    done, read = device.event("done"), device.event("read")
    x, y, z = zeros(16), device.from_host(np.arange(4, dtype=np.uint32)), zeros(16)
    results = [zeros(16) for _ in range(4)]
    with device.command_buffer(label="chain") as chain:
        chain.wait_events([read])
        for _ in range(3):
            chain.dispatch(kernels["scale_and_offset"], 1, bindings=[y, x], constants=[2, 1])
            chain.execution_barrier()
            chain.dispatch(kernels["scale_and_offset"], 1, bindings=[x, y], constants=[1, 0])
            chain.execution_barrier()
        chain.signal_event(done)
    with device.command_buffer(label="allow") as allow:
        allow.signal_event(read)
    readers = []
    for result in results:
        with device.command_buffer(label="reader") as reader:
            reader.wait_events([done])
            reader.copy_buffer(y, z)
            reader.execution_barrier()
            reader.copy_buffer(z, result)
            reader.signal_event(read)
        readers.append(reader)
    with device.stream() as one, device.stream() as other:
        allow.replay(stream=other, mode=mode)
        for reader in readers:
            chain.replay(stream=one, mode=mode)
            reader.replay(stream=other, mode=mode)
        one.synchronize()
        other.synchronize()
    expected = np.arange(4, dtype=np.uint32)
    for result in results:
        expected = 8 * expected + 7
        assert result.to_host(np.uint32).tolist() == expected.tolist()


def test_inside_one_recording_a_wait_is_an_edge_to_its_signal(device, zeros):
    event, x, y, z = device.event(), zeros(4), zeros(4), zeros(4)
    with device.command_buffer() as cb:
        cb.fill_buffer(x, 5)
        cb.signal_event(event)
        cb.fill_buffer(z, 9)
        cb.wait_events([event])
        cb.copy_buffer(x, y)
    for _ in range(20):
        x.write(np.zeros(1, np.uint32))
        y.write(np.zeros(1, np.uint32))
        cb.replay()
        assert y.to_host(np.uint32).tolist() == [5]
    assert z.to_host(np.uint32).tolist() == [9]


@MODES
def test_a_wait_for_what_nobody_signalled_is_refused(device, zeros, mode):
    event, x = device.event("ready"), zeros(4)
    with device.command_buffer(label="late") as cb:
        cb.wait_events([event])
        cb.fill_buffer(x, 1)
    with pytest.raises(FailedPreconditionError) as caught:
        cb.replay(mode=mode)
    assert str(caught.value) == (
        "replay: the recording waits for event `ready`, which is not signalled\n"
        "  where: program `late`\n"
        "  next: replay a recording that signals it first"
    )
    with device.command_buffer() as signals:
        signals.signal_event(event)
    with device.command_buffer() as resets:
        resets.reset_event(event)
    signals.replay()
    cb.replay(mode=mode)
    assert x.to_host(np.uint32).tolist() == [1]
    resets.replay()
    with pytest.raises(FailedPreconditionError):
        cb.replay(mode=mode)


def test_an_event_of_another_device_is_refused(device, zeros):
    from hipgraph_cb import open_device

    cb = device.command_buffer().begin()
    with open_device(device.backend, device=device.ordinal) as other:
        event = other.event()
        with pytest.raises(ValueError, match="belongs to another device"):
            cb.signal_event(event)


def test_an_event_may_go_before_the_program_that_uses_it(device, zeros):
    event, x = device.event(), zeros(4)
    with device.command_buffer() as cb:
        cb.fill_buffer(x, 3)
        cb.signal_event(event)
    event.close()
    del event
    collect()
    cb.replay()
    assert x.to_host(np.uint32).tolist() == [3]


def test_another_event_can_stand_for_a_recorded_one(device, zeros):
    event, other, x = device.event("ready"), device.event(), zeros(4)
    with device.command_buffer() as cb:
        cb.signal_event(event)
    device.program(cb.recording, resources={"ready": other}).replay()
    assert (event.is_signalled, other.is_signalled) == (False, True)
    with pytest.raises(ValueError, match="resource 0 of the recording, `ready`, is an event"):
        device.program(cb.recording, resources={"ready": x})
