"""Workgroup counts that lie in memory: 32 words of 0xCDCDCDCD, and a kernel that writes its workgroup's number."""

import numpy as np
import pytest
from support.collection import collect

from hipgraph_cb import Slot
from hipgraph_cb.errors import OutOfRangeError

SENTINEL = 0xCDCDCDCD
MODES = pytest.mark.parametrize("mode", ["graph", "stream"])


def words(*values):
    return np.array(values, np.uint32)


def expected(count):
    return list(range(count)) + [SENTINEL] * (32 - count)


@pytest.fixture
def output(device):
    return device.from_host(np.full(32, SENTINEL, np.uint32))


def launched(output):
    return output.to_host(np.uint32).tolist()


@MODES
@pytest.mark.parametrize("size", [12, 64])
def test_counts_that_were_there_before(device, kernels, output, run, size, mode):
    counts = device.from_host(np.resize(words(4, 1, 1), size // 4))

    def record(cb, output, counts):
        cb.dispatch_indirect(kernels["workgroup_ids"], counts, args=[output])

    run(record, output, counts, mode=mode)
    assert launched(output) == expected(4)


@MODES
def test_counts_from_an_update_in_the_recording(device, kernels, zeros, output, run, mode):
    def record(cb, output, counts):
        cb.update_buffer(counts, words(4, 1, 1))
        cb.execution_barrier()
        cb.dispatch_indirect(kernels["workgroup_ids"], counts, args=[output])

    run(record, output, zeros(12), mode=mode)
    assert launched(output) == expected(4)


@MODES
def test_counts_from_a_fill(device, kernels, zeros, output, run, mode):
    def record(cb, output, counts):
        cb.fill_buffer(counts, 1)
        cb.execution_barrier()
        cb.dispatch_indirect(kernels["workgroup_ids"], counts, args=[output])

    run(record, output, zeros(12), mode=mode)
    assert launched(output) == expected(1)


@MODES
def test_counts_from_a_kernel(device, kernels, zeros, output, run, mode):
    def record(cb, output, counts):
        cb.dispatch(kernels["constants"], 1, bindings=[counts], constants=[4, 1, 1, 0])
        cb.execution_barrier()
        cb.dispatch_indirect(kernels["workgroup_ids"], counts, args=[output])

    run(record, output, zeros(16), mode=mode)
    assert launched(output) == expected(4)


@MODES
def test_counts_in_a_part_of_a_buffer(device, kernels, output, run, mode):
    backing = device.from_host(words(2, 1, 1, 0, 4, 1, 1))

    def record(cb, output, counts):
        cb.dispatch_indirect(kernels["workgroup_ids"], counts, args=[output])

    run(record, output, backing.view(16, 12), mode=mode)
    assert launched(output) == expected(4)


@MODES
@pytest.mark.parametrize("counts", [(0, 1, 1), (4, 0, 1), (4, 1, 0)])
def test_a_zero_count_launches_nothing_and_what_follows_runs(device, kernels, zeros, output, counts, mode):
    memory, x = device.from_host(words(*counts)), zeros(4)
    with device.command_buffer() as cb:
        cb.dispatch_indirect(kernels["workgroup_ids"], memory, args=[output])
        cb.execution_barrier()
        cb.fill_buffer(x, 1)
    cb.replay(mode=mode)
    assert launched(output) == expected(0)
    assert x.to_host(np.uint32).tolist() == [1]


@MODES
def test_each_replay_reads_the_counts_again_and_slots_may_change(device, kernels, mode):
    outputs = [device.from_host(np.full(32, SENTINEL, np.uint32)) for _ in range(3)]
    counts = [device.from_host(words(count, 1, 1)) for count in (3, 5, 32)]
    with device.command_buffer(binding_capacity=2) as cb:
        cb.fill_buffer(Slot(0, 124, 4), 0xAA)
        cb.execution_barrier()
        cb.dispatch_indirect(kernels["workgroup_ids"], Slot(1), args=[Slot(0)])
    for place, memory in zip(outputs, counts, strict=True):
        cb.replay(bindings=[place, memory], mode=mode)
    for place, count in zip(outputs, (3, 5, 32), strict=True):
        assert launched(place) == [*expected(count)[:31], 31 if count == 32 else 0xAA]
    counts[2].write(words(1, 1, 1))
    outputs[2].write(np.full(32, SENTINEL, np.uint32))
    cb.replay(mode=mode)
    assert launched(outputs[2]) == [*expected(1)[:31], 0xAA]


@MODES
def test_a_chain_of_dispatches_that_make_each_other_s_counts(device, kernels, zeros, mode):
    first, second, output = zeros(16), zeros(16), device.from_host(np.full(32, SENTINEL, np.uint32))
    one = device.from_host(words(1, 1, 1))
    with device.command_buffer() as cb:
        cb.dispatch_indirect(kernels["constants"], one, bindings=[first], constants=[1, 1, 1, 0])
        cb.execution_barrier()
        cb.dispatch_indirect(kernels["constants"], first, bindings=[second], constants=[7, 1, 1, 0])
        cb.execution_barrier()
        cb.dispatch_indirect(kernels["workgroup_ids"], second, args=[output])
        cb.dispatch_indirect(kernels["workgroup_ids"], first, args=[output.view(64)])
        cb.execution_barrier()
        cb.copy_buffer(output.view(0, 4), output.view(124, 4))
    cb.replay(mode=mode)
    assert launched(output) == [*range(7), *[SENTINEL] * 9, 0, *[SENTINEL] * 14, 0]


@MODES
def test_a_nested_recording_with_an_indirect_dispatch_is_cut_too(device, kernels, zeros, mode):
    counts, outputs = zeros(16), [device.from_host(np.full(32, SENTINEL, np.uint32)) for _ in range(2)]
    with device.command_buffer(label="inner", binding_capacity=1) as inner:
        inner.dispatch(kernels["constants"], 1, bindings=[counts], constants=[4, 1, 1, 0])
        inner.execution_barrier()
        inner.dispatch_indirect(kernels["workgroup_ids"], counts, args=[Slot(0)])
        inner.execution_barrier()
        inner.fill_buffer(Slot(0, 124, 4), 1)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(counts, 0)
        cb.execution_barrier()
        cb.execute_commands(inner, bindings=[Slot(0)])
        cb.execution_barrier()
        cb.copy_buffer(Slot(0, 124, 4), Slot(0, 120, 4))
    for output in outputs:
        cb.replay(bindings=[output], mode=mode)
        assert launched(output) == [*expected(4)[:30], 1, 1]


@MODES
def test_a_grid_that_is_too_large_is_refused_when_it_is_read(device, kernels, zeros, mode):
    counts, x, y = device.from_host(words(1 << 31, 1, 1)), zeros(16), zeros(16)
    with device.command_buffer(label="step") as cb:
        cb.dispatch_indirect(kernels["scale_and_offset"], counts, bindings=[x, y], constants=[1, 1], label="late")
    with pytest.raises(OutOfRangeError) as caught:
        cb.replay(mode=mode)
        device.synchronize()  # on HSA the GPU reads the counts, so the replay itself knows nothing
    assert str(caught.value).startswith("the grid is too large")
    assert "command 0 'late' in 'step'" in caught.value.where
    assert y.to_host().tolist() == [0] * 16
    counts.write(words(1, 1, 1))
    cb.replay(mode=mode)
    assert y.to_host(np.uint32).tolist() == [1] * 4


def test_events_keep_their_meaning_over_a_cut(device, kernels, zeros, output):
    event, counts, x = device.event(), device.from_host(words(4, 1, 1)), zeros(4)
    with device.command_buffer() as cb:
        cb.fill_buffer(x, 3)
        cb.signal_event(event)
        cb.dispatch_indirect(kernels["workgroup_ids"], counts, args=[output])
        cb.wait_events([event])
        cb.copy_buffer(x, output.view(124, 4))
    for _ in range(3):
        cb.replay()
    assert launched(output) == [*expected(4)[:31], 3]


def test_replays_from_threads_on_one_stream_do_not_mix(device, kernels, zeros, output):
    import threading

    counts = zeros(16)
    with device.command_buffer() as cb:
        cb.dispatch(kernels["constants"], 1, bindings=[counts], constants=[4, 1, 1, 0])
        cb.execution_barrier()
        cb.dispatch_indirect(kernels["workgroup_ids"], counts, args=[output])
        cb.execution_barrier()
        cb.fill_buffer(counts, 0)
    threads = [threading.Thread(target=cb.replay) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert launched(output) == expected(4)
    assert counts.to_host().tolist() == [0] * 16


def test_a_program_that_was_dropped_in_flight_gives_everything_back(device, kernels, output):
    counts = device.from_host(words(4, 1, 1))
    with device.command_buffer() as cb:
        cb.fill_buffer(output, 0, offset=64)
        cb.dispatch_indirect(kernels["workgroup_ids"], counts, args=[output])
        cb.fill_buffer(output, 1, offset=96)
    cb.replay()
    del cb, counts
    collect()
    assert launched(output)[:4] == [0, 1, 2, 3]
