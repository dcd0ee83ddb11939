"""Recordings within recordings, with and without slots, replayed and rebound."""

import numpy as np
import pytest
from support.collection import collect

from hipgraph_cb import Slot

MODES = pytest.mark.parametrize("mode", ["graph", "stream"])


def words(values):
    return np.array(values, np.uint32)


@pytest.fixture
def affine(device, kernels):
    """A recording that puts `scale` * slot 0 + `offset` into slot 1, by way of a copy."""

    def make(scale, offset, middle):
        with device.command_buffer(label="affine", binding_capacity=2) as cb:
            cb.dispatch(kernels["scale_and_offset"], 1, bindings=[Slot(0), middle], constants=[scale, offset])
            cb.execution_barrier()
            cb.copy_buffer(middle, Slot(1, 0, 16))
        return cb.recording

    return make


@MODES
def test_a_nested_recording_runs_as_one_command(device, zeros, affine, mode):
    x, y, z = device.from_host(words([1, 2, 3, 4])), zeros(16), zeros(16)
    with device.command_buffer() as cb:
        cb.execute_commands(affine(2, 1, zeros(16)), bindings=[x, y])
        cb.execution_barrier()
        cb.execute_commands(affine(3, 0, zeros(16)), bindings=[y, z])
        cb.execution_barrier()
        cb.copy_buffer(z, x)
    for _ in range(10):
        x.write(words([1, 2, 3, 4]))
        cb.replay(mode=mode)
        assert x.to_host(np.uint32).tolist() == [9, 15, 21, 27]


@MODES
def test_one_recording_runs_many_times_on_different_memory(device, zeros, affine, mode):
    recording, x = affine(1, 5, zeros(16)), device.from_host(words([1, 2, 3, 4]))
    outputs = [zeros(16) for _ in range(4)]
    with device.command_buffer() as cb:
        for output in outputs:
            cb.execute_commands(recording, bindings=[x, output])
            cb.execution_barrier()
    cb.replay(mode=mode)
    assert [each.to_host(np.uint32).tolist() for each in outputs] == [[6, 7, 8, 9]] * 4
    assert len(cb.recording.resources.recordings) == 1


@MODES
def test_slots_of_the_outer_recording_reach_into_nested_ones(device, zeros, affine, mode):
    x, y = device.from_host(words([1, 2, 3, 4])), device.from_host(words([10, 20, 30, 40]))
    one, two = zeros(32), zeros(32)
    with device.command_buffer(binding_capacity=2) as inner:
        inner.execute_commands(affine(2, 0, zeros(16)), bindings=[Slot(0), Slot(1, 16)])
    with device.command_buffer(binding_capacity=2) as cb:
        cb.fill_buffer(Slot(1, 0, 16), 7)
        cb.execution_barrier()
        cb.execute_commands(inner, bindings=[Slot(0), Slot(1)])
    for source, target in ((x, one), (y, one), (y, two), (x, two)):
        cb.replay(bindings=[source, target], mode=mode)
        expected = [7] * 4 + (2 * source.to_host(np.uint32)).tolist()
        assert target.to_host(np.uint32).tolist() == expected
    cb.replay(mode=mode)


def test_rebinding_while_replays_are_in_flight_changes_later_ones_only(device, zeros, affine):
    x = device.from_host(words([1, 2, 3, 4]))
    outputs = [zeros(16) for _ in range(12)]
    with device.command_buffer(binding_capacity=1) as cb:
        cb.execute_commands(affine(3, 1, zeros(16)), bindings=[x, Slot(0)])
    for output in outputs:
        cb.replay(bindings=[output])
    assert [each.to_host(np.uint32).tolist() for each in outputs] == [[4, 7, 10, 13]] * 12


@MODES
def test_events_cross_the_border_of_a_nested_recording(device, zeros, mode):
    event, x, y = device.event(), zeros(4), zeros(4)
    with device.command_buffer() as signals:
        signals.fill_buffer(x, 6)
        signals.signal_event(event)
    with device.command_buffer() as waits:
        waits.wait_events([event])
        waits.copy_buffer(x, y)
    with device.command_buffer() as cb:
        cb.execute_commands(signals)
        cb.execute_commands(waits)
    for _ in range(10):
        x.write(words([0]))
        cb.replay(mode=mode)
        assert y.to_host(np.uint32).tolist() == [6]
    assert event.is_signalled


@MODES
def test_a_barrier_in_front_holds_back_every_nested_command(device, zeros, mode):
    x = zeros(4)
    targets = [zeros(4) for _ in range(8)]
    with device.command_buffer() as inner:
        for target in targets:
            inner.copy_buffer(x, target)
    with device.command_buffer() as cb:
        cb.fill_buffer(x, 1)
        cb.execution_barrier()
        cb.execute_commands(inner)
        cb.execution_barrier()
        cb.fill_buffer(x, 2)
    for _ in range(5):
        cb.replay(mode=mode)
        assert [each.to_host(np.uint32)[0] for each in targets] == [1] * 8
        for target in targets:
            target.write(words([0]))


def test_a_replacement_reaches_into_nested_recordings(device, affine, zeros):
    x, y = device.from_host(words([1, 2, 3, 4]), label="in"), device.from_host(bytes(16), label="out")
    with device.command_buffer() as inner:
        inner.copy_buffer(x, y)
    with device.command_buffer() as cb:
        cb.execute_commands(inner)
    other = zeros(16)
    device.program(cb.recording, resources={"out": other}).replay()
    assert other.to_host(np.uint32).tolist() == [1, 2, 3, 4]
    assert y.to_host(np.uint32).tolist() == [0] * 4


def test_the_outer_program_owns_all_that_the_nested_recording_needs(device, kernels, zeros):
    """Nothing but the outer program and the target is left when it is replayed."""
    target = zeros(16)
    source = device.from_host(words([1, 2, 3, 4]))
    with device.command_buffer() as inner:
        inner.dispatch(kernels["scale_and_offset"], 1, bindings=[source, target], constants=[5, 0])
    with device.command_buffer() as cb:
        cb.execute_commands(inner)
    program = cb.program
    inner.program.close()
    source.close()
    del inner, source, cb
    collect()
    program.replay()
    assert target.to_host(np.uint32).tolist() == [5, 10, 15, 20]
