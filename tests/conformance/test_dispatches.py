"""Dispatches run the code in the file with the arguments that were recorded."""

import numpy as np
import pytest


def words(*values):
    return np.array(values, np.uint32)


def test_views_lead_a_kernel_into_the_middle_of_its_buffers(device, kernels, run):
    source, target = device.from_host(np.full(4, -2.5, np.float32)), device.from_host(np.full(4, -9.0, np.float32))

    def record(cb, a, b):
        cb.dispatch(kernels["absolute"], 1, bindings=[a, b])
        cb.execution_barrier()

    run(record, source.view(4, 8), target.view(4, 8))
    assert target.to_host(np.float32).tolist() == [-9.0, 2.5, 2.5, -9.0]


def test_constants_arrive_in_order(kernels, run, zeros):
    target = zeros(16)
    run(lambda cb, a: cb.dispatch(kernels["constants"], 1, bindings=[a], constants=[11, 22, 33, 44]), target)
    assert target.to_host(np.uint32).tolist() == [11, 22, 33, 44]


def test_arguments_in_the_order_of_the_signature(kernels, run, zeros):
    target = zeros(16)
    run(lambda cb, a: cb.dispatch(kernels["constants"], 1, args=[a, 11, np.uint32(22), b"!\0\0\0", 44]), target)
    assert target.to_host(np.uint32).tolist() == [11, 22, 33, 44]


def test_bindings_and_constants_together(device, kernels, run, zeros):
    source, target = device.from_host(words(1, 2, 3, 4)), zeros(16)
    run(
        lambda cb, a, b: cb.dispatch(kernels["scale_and_offset"], 1, bindings=[a, b], constants=[3, 10]), source, target
    )
    assert target.to_host(np.uint32).tolist() == [13, 16, 19, 22]


@pytest.mark.parametrize("count", [1, 32, 1024])
def test_every_workgroup_runs_once_under_its_own_id(kernels, run, zeros, count):
    target = zeros(4 * count + 16)
    run(lambda cb, a: cb.dispatch(kernels["workgroup_ids"], count, args=[a]), target)
    assert target.to_host(np.uint32).tolist() == [*range(count), 0, 0, 0, 0]


def test_two_kernels_of_one_executable_in_one_command_buffer(device, kernels, run, zeros):
    source, negated, doubled = device.from_host(np.arange(1, 5, dtype=np.int32)), zeros(16), zeros(16)

    def record(cb, a, b, c):
        cb.dispatch(kernels["negate"], 1, bindings=[a, b])
        cb.dispatch(kernels["twice"], 1, bindings=[a, c])
        cb.execution_barrier()

    run(record, source, negated, doubled)
    assert negated.to_host(np.int32).tolist() == [-1, -2, -3, -4]
    assert doubled.to_host(np.int32).tolist() == [2, 4, 6, 8]


def test_two_dispatches_of_one_kernel_keep_their_own_arguments(kernels, run, zeros):
    first, second = zeros(16), zeros(16)

    def record(cb, a, b):
        cb.dispatch(kernels["constants"], 1, bindings=[a], constants=[1, 2, 3, 4])
        cb.dispatch(kernels["constants"], 1, bindings=[b], constants=[5, 6, 7, 8])

    run(record, first, second)
    assert first.to_host(np.uint32).tolist() == [1, 2, 3, 4]
    assert second.to_host(np.uint32).tolist() == [5, 6, 7, 8]


def test_chained_dispatches_see_what_the_one_before_wrote(device, kernels, run, zeros):
    source, between, target = device.from_host(words(1, 2, 3, 4)), zeros(16), zeros(16)

    def record(cb, a, b, c):
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[a, b], constants=[2, 0])
        cb.execution_barrier()
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[b, c], constants=[1, 10])
        cb.execution_barrier()

    run(record, source, between, target)
    assert between.to_host(np.uint32).tolist() == [2, 4, 6, 8]
    assert target.to_host(np.uint32).tolist() == [12, 14, 16, 18]


def test_an_update_and_two_dispatches_in_a_row(device, kernels, run, zeros):
    source, between, target = zeros(16), zeros(16), zeros(16)

    def record(cb, a, b, c):
        cb.update_buffer(source, words(10, 20, 30, 40))
        cb.execution_barrier()
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[a, b], constants=[3, 0])
        cb.execution_barrier()
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[b, c], constants=[1, 7])

    run(record, source, between, target)
    assert target.to_host(np.uint32).tolist() == [37, 67, 97, 127]


def test_a_kernel_with_a_partly_filled_last_workgroup(device, kernels, run, zeros):
    count = 1000
    x = np.linspace(-3, 3, count, dtype=np.float32)
    y = np.arange(count, dtype=np.float32)
    target = zeros(4 * count + 16)

    def record(cb, out, a, b):
        cb.dispatch(kernels["saxpby"], 4, 256, args=[out, a, b, 2.0, count])

    run(record, target, device.from_host(x), device.from_host(y))
    found = target.to_host(np.float32)
    assert np.array_equal(found[:count], 2 * x + y)
    assert np.array_equal(found[count:], np.zeros(4, np.float32))


def test_a_kernel_without_arguments_runs(device, kernels):
    with device.command_buffer() as cb:
        cb.dispatch(kernels["nothing"], 3)
    cb.replay()
    device.synchronize()
    assert len(cb.recording) == 1


def test_a_global_variable_is_device_memory(device, kernels, zeros):
    counter, out = kernels.global_("counter"), zeros(4)
    assert counter.length == 4
    counter.write(words(100))
    with device.command_buffer() as cb:
        cb.dispatch(kernels["count_up"], 1, args=[out])
        cb.execution_barrier()
        cb.copy_buffer(counter, out)
    cb.replay()
    assert out.to_host(np.uint32).tolist() == [110]
    cb.replay()
    assert counter.to_host(np.uint32).tolist() == [110 + [10, 20, 30, 40][110 & 3]]


def test_input_that_was_there_before_is_dispatched_once(device, kernels, run, zeros):
    source, target = device.from_host(words(1, 2, 3, 4)), zeros(16)

    def record(cb, a, b):
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[a, b], constants=[2, 5])
        cb.execution_barrier()

    run(record, source, target)
    assert target.to_host(np.uint32).tolist() == [7, 9, 11, 13]


def test_two_dispatches_of_one_command_buffer_go_to_two_bindings(kernels, run, zeros):
    first, second = zeros(128), zeros(128)

    def record(cb, a, b):
        cb.dispatch(kernels["workgroup_ids"], 32, bindings=[a])
        cb.dispatch(kernels["workgroup_ids"], 32, bindings=[b])
        cb.execution_barrier()

    run(record, first, second)
    assert first.to_host(np.uint32).tolist() == second.to_host(np.uint32).tolist() == list(range(32))


def test_every_dispatch_of_a_chain_has_its_own_kernel_shape_buffers_and_numbers(device, kernels, run, zeros):
    ones, sums, other, last = device.from_host(np.ones(64, np.float32)), zeros(256), zeros(256), zeros(16)

    def record(cb, x, y, z, w):
        for index in range(20):
            groups = 1 + index % 2
            cb.dispatch(kernels["saxpby"], groups, 64 // groups, args=[z, x, y, index / 2, 64])
            cb.dispatch(kernels["constants"], 1, args=[w, index, 2, 3, 4], label=None if index % 3 else f"{index}")
            cb.execution_barrier()
            y, z = z, y

    run(record, ones, sums, other, last)
    assert sums.to_host(np.float32).tolist() == [sum(range(20)) / 2] * 64
    assert last.to_host(np.uint32).tolist() == [19, 2, 3, 4]


@pytest.mark.parametrize("names", [["constants", "saxpby"], ["saxpby", "constants"], ["nothing", "constants"]])
def test_kernels_may_stand_beside_each_other_without_any_address(device, kernels, names):
    arguments = {"constants": [None, 1, 2, 3, 4], "saxpby": [None, None, None, 1.0, 0], "nothing": []}
    with device.command_buffer() as cb:
        for name in names:
            cb.dispatch(kernels[name], 1, args=arguments[name], workgroup_size=1)
    assert len(cb.program.recording) == 2
