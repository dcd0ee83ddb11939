"""Slots are filled at replay; a new binding holds from the next replay on."""

import os
import weakref
from pathlib import Path

import numpy as np
import pytest
from support.collection import collect

from hipgraph_cb import Slot
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError


def words(*values):
    return np.array(values, np.uint32)


def pipeline(device, kernels):
    with device.command_buffer(binding_capacity=3) as cb:
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[Slot(0), Slot(1)], constants=[2, 0])
        cb.execution_barrier()
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[Slot(1), Slot(2)], constants=[1, 100])
    return cb


def test_one_recording_with_different_inputs(device, kernels, zeros):
    cb, between, target = pipeline(device, kernels), zeros(16), zeros(16)
    for values in ([1, 2, 3, 4], [10, 20, 30, 40], [0, 0, 0, 0]):
        cb.replay(bindings=[device.from_host(words(*values)), between, target])
        assert target.to_host(np.uint32).tolist() == [100 + 2 * value for value in values]


def test_one_recording_with_different_outputs(device, kernels, zeros):
    with device.command_buffer(binding_capacity=1) as cb:
        cb.dispatch(kernels["workgroup_ids"], 64, bindings=[Slot(0)])
    targets = [zeros(256) for _ in range(3)]
    for target in targets:
        cb.replay(bindings=[target])
    for target in targets:
        assert target.to_host(np.uint32).tolist() == list(range(64))


def test_two_dispatches_submitted_five_times_with_new_buffers(device, kernels, zeros):
    with device.command_buffer(binding_capacity=2) as cb:
        cb.dispatch(kernels["workgroup_ids"], 32, bindings=[Slot(0)])
        cb.execution_barrier()
        cb.dispatch(kernels["workgroup_ids"], 32, bindings=[Slot(1)])
    tables = [[zeros(128), zeros(128)] for _ in range(5)]
    for table in tables:
        cb.replay(bindings=table)
    for first, second in tables:
        assert first.to_host(np.uint32).tolist() == second.to_host(np.uint32).tolist() == list(range(32))


def test_ten_thousand_rebinds_leave_memory_flat(device, zeros):
    """The memory of the process, and what waits for launches."""
    tables = [[zeros(128)], [zeros(128)]]
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0), 5)

    def rebind(times):
        for index in range(times):
            cb.replay(bindings=tables[index % 2])
            if index % 100 == 99:
                device.synchronize()
        collect()
        return resident_bytes()

    few, many = (2_000, 8_000) if device.backend == "hip" else (100, 400)  # every packet costs milliseconds there
    before, after = rebind(few), rebind(many)
    assert after - before < 4 << 20
    assert len(device.backlog) == 0
    for (buffer,) in tables:
        assert set(buffer.to_host(np.uint32)) == {5}


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_without_a_table_the_one_before_holds(device, zeros):
    target = zeros(4)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0), 9)
    cb.replay(bindings=[target])
    target.write(bytes(4))
    cb.replay()
    assert target.to_host(np.uint32).tolist() == [9]


def test_direct_and_slot_references_in_one_command(device, kernels):
    source, target = device.from_host(np.full(4, -2.5, np.float32)), device.from_host(np.full(4, -9.0, np.float32))
    with device.command_buffer(binding_capacity=1) as cb:
        cb.dispatch(kernels["absolute"], 1, bindings=[source.view(4, 8), Slot(0, offset=4, length=8)])
    cb.replay(bindings=[target])
    assert target.to_host(np.float32).tolist() == [-9.0, 2.5, 2.5, -9.0]


def test_a_changed_source_of_a_copy_counts_as_a_change(device, zeros):
    target = zeros(8)
    with device.command_buffer(binding_capacity=2) as cb:
        cb.copy_buffer(Slot(0), Slot(1))
    for value in (5, 6):
        cb.replay(bindings=[device.from_host(words(value, value)), target])
        assert target.to_host(np.uint32).tolist() == [value, value]


def test_another_part_of_the_same_buffer_counts_as_a_change(device, zeros):
    target = zeros(16)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0), 0x01010101)
    cb.replay(bindings=[target.view(0, 4)])
    cb.replay(bindings=[target.view(8, 8)])
    assert target.to_host(np.uint32).tolist() == [0x01010101, 0, 0x01010101, 0x01010101]


def test_an_update_into_a_slot(device, zeros):
    first, second = zeros(8), zeros(8)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.update_buffer(Slot(0, offset=4), b"abcd")
    cb.replay(bindings=[first])
    cb.replay(bindings=[second])
    assert first.to_host().tobytes() == second.to_host().tobytes() == b"\0\0\0\0abcd"


def test_replays_in_flight_keep_the_table_they_were_given(device, kernels, zeros):
    """Twenty replays without a wait, each into another buffer."""
    with device.command_buffer(binding_capacity=1) as cb:
        cb.dispatch(kernels["workgroup_ids"], 256, bindings=[Slot(0)])
    targets = [zeros(1024) for _ in range(20)]
    for target in targets:
        cb.replay(bindings=[target])
    device.synchronize()
    for target in targets:
        assert target.to_host(np.uint32).tolist() == list(range(256))


def test_the_table_is_copied_and_its_buffers_are_kept(device, kernels):
    source, target = device.from_host(np.full(4, -2.5, np.float32)), device.from_host(np.full(4, -9.0, np.float32))
    with device.command_buffer(binding_capacity=2) as cb:
        cb.dispatch(kernels["absolute"], 1, bindings=[Slot(0, 4, 8), Slot(1, 4, 8)])
    table = [source, target]
    cb.replay(bindings=table)
    gone = weakref.ref(source)
    table[0] = None
    del source
    collect()
    cb.replay()
    assert target.to_host(np.float32).tolist() == [-9.0, 2.5, 2.5, -9.0]
    del gone


def test_two_programs_of_one_recording_are_bound_independently(device, zeros):
    first, second = zeros(4), zeros(4)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0), 4)
    other = device.program(cb.recording)
    cb.replay(bindings=[first])
    other.replay(bindings=[second])
    first.write(bytes(4))
    cb.replay()
    other.close()
    assert first.to_host(np.uint32).tolist() == second.to_host(np.uint32).tolist() == [4]


def test_a_512_node_chain_is_right_before_and_after_rebinding(device, kernels):
    with device.command_buffer(binding_capacity=1) as cb:
        for index in range(512):
            source, target = Slot(0, 16 * index, 16), Slot(0, 16 * (index + 1), 16)
            cb.dispatch(kernels["scale_and_offset"], 1, bindings=[source, target], constants=[1, index])
            cb.execution_barrier()
    sums = np.concatenate([[0], np.cumsum(np.arange(512))]).astype(np.uint32)
    for start in (0, 1000):
        buffer = device.from_host(np.full(4 * 513, start, np.uint32))
        cb.replay(bindings=[buffer])
        assert np.array_equal(buffer.to_host(np.uint32), np.repeat(sums, 4) + start)


def test_a_table_that_does_not_fit_is_refused_and_the_old_one_stays(device, zeros):
    target = zeros(16)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0, 0, 16), 1)
    with pytest.raises(InvalidArgumentError, match="no binding table was given"):
        cb.replay()
    cb.replay(bindings=[target])
    with pytest.raises(OutOfRangeError, match="the binding in slot 0 is too small"):
        cb.replay(bindings=[zeros(8)])
    with pytest.raises(InvalidArgumentError, match="holds no device memory"):
        cb.replay(bindings=[None])
    with pytest.raises(InvalidArgumentError, match="no binding table was given"):
        cb.replay(bindings=[])
    target.write(bytes(16))
    cb.replay()
    assert target.to_host(np.uint32).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("update", ["exec", "reinstantiate"])
def test_both_ways_of_rebinding_have_the_same_effect(device, kernels, zeros, update):
    with device.command_buffer(binding_capacity=3, update=update) as cb:
        cb.update_buffer(Slot(0, 0, 16), words(1, 2, 3, 4))
        cb.execution_barrier()
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[Slot(0), Slot(1)], constants=[2, 0])
        cb.execution_barrier()
        cb.copy_buffer(Slot(1, 0, 16), Slot(2, 0, 16))
        cb.fill_buffer(Slot(0, 0, 16), 7)
    tables = [[zeros(16) for _ in range(3)] for _ in range(4)]
    other = device.program(cb.recording, update=update)
    for table in tables:
        cb.replay(bindings=table)
    other.replay(bindings=tables[0])
    cb.replay()
    for first, second, third in tables:
        assert first.to_host(np.uint32).tolist() == [7] * 4
        assert second.to_host(np.uint32).tolist() == third.to_host(np.uint32).tolist() == [2, 4, 6, 8]


def test_an_unknown_way_of_rebinding_is_refused(device):
    with pytest.raises(InvalidArgumentError) as caught:
        device.command_buffer(update="never")
    assert str(caught.value) == "unknown update policy\n  found: 'never'\n  allowed: 'exec', 'reinstantiate'"


def test_entries_beyond_the_last_used_slot_are_ignored(device, zeros):
    target = zeros(4)
    with device.command_buffer(binding_capacity=4) as cb:
        cb.fill_buffer(Slot(0), 1)
    cb.replay(bindings=[target, None, "junk"])
    assert target.to_host(np.uint32).tolist() == [1]


def test_memory_that_was_bound_before_is_kept_until_the_launch_with_it_is_done(device, kernels, zeros):
    """Its owner lets go of it and another table follows, all while the launch runs."""
    with device.command_buffer(binding_capacity=1) as cb:
        for _ in range(100):
            cb.dispatch(kernels["scale_and_offset"], 1, bindings=[Slot(0), Slot(0)], constants=[1, 1])
            cb.execution_barrier()
    for _ in range(3):
        first, second = zeros(16), zeros(16)
        cb.replay(bindings=[first])
        first.close()
        cb.replay(bindings=[second])
        del first
        assert second.to_host(np.uint32).tolist() == [100] * 4


def test_imported_memory_in_slots_is_told_apart_by_its_address(device, zeros):
    """Another buffer of the same bytes hides neither overlapping copies nor what inferred dependencies rest on."""
    owned = zeros(64)
    whole, part = device.import_buffer(owned.address, size=64), device.import_buffer(owned.address + 16, size=32)
    with device.command_buffer(binding_capacity=2) as copy:
        copy.copy_buffer(Slot(0, 0, 20), Slot(1, 0, 20))
    with device.command_buffer(binding_capacity=2, dependencies="inferred") as fills:
        fills.fill_buffer(Slot(0, 0, 20), 1)
        fills.fill_buffer(Slot(1, 0, 20), 2)
    for table in ([owned, whole], [whole, part], [part, owned.view(20)]):
        with pytest.raises(InvalidArgumentError, match="overlap"):
            copy.replay(bindings=table)
        with pytest.raises(InvalidArgumentError, match="are the same memory"):
            fills.replay(bindings=table)
    for table in ([whole, owned.view(20)], [owned.view(36), part], [zeros(20), part]):
        copy.replay(bindings=table)
        fills.replay(bindings=table)
    assert part.to_host(np.uint32).tolist()[:5] == [2] * 5
