"""Many commands, many replays, long chains and wide layers."""

import numpy as np


def test_two_hundred_command_buffers_one_after_the_other_fill(device):
    target = device.allocate(4096)
    for index in range(200):
        with device.command_buffer() as cb:
            cb.fill_buffer(target, 0xBEEF0000 + index)
        cb.replay()
        cb.program.close()
    assert np.array_equal(target.to_host(np.uint32), np.full(1024, 0xBEEF00C7, np.uint32))


def test_two_hundred_writes_each_copied_by_its_own_command_buffer(device):
    source, target = device.allocate(4096), device.allocate(4096)
    for index in range(200):
        source.write(np.full(1024, 0xCAFE0000 + index, np.uint32))
        with device.command_buffer() as cb:
            cb.copy_buffer(source, target)
        cb.replay()
    assert np.array_equal(target.to_host(np.uint32), np.full(1024, 0xCAFE00C7, np.uint32))


def test_512_fills_without_a_barrier(device, zeros):
    target = zeros(4 * 512)
    with device.command_buffer() as cb:
        for index in range(512):
            cb.fill_buffer(target, 0xBD370000 + index, offset=4 * index, length=4)
    cb.replay()
    assert target.to_host(np.uint32).tolist() == [0xBD370000 + index for index in range(512)]


def test_129_fills_replayed_16_times_leave_each_its_own_value(device):
    target = device.allocate(4 * 129)
    with device.command_buffer() as cb:
        for index in range(129):
            cb.fill_buffer(target, index, offset=4 * index, length=4)
    for _ in range(16):
        target.write(np.full(129, 0xFFFFFFFF, np.uint32))
        cb.replay()
        assert target.to_host(np.uint32).tolist() == list(range(129))


def test_a_chain_of_512_dispatches_with_distinct_pointers(device, kernels):
    """Each dispatch reads the four words before its own and writes them scaled by 1 and increased by its number."""
    buffer = device.from_host(np.zeros(4 * 513, np.uint32))
    with device.command_buffer() as cb:
        for index in range(512):
            source, target = buffer.view(16 * index, 16), buffer.view(16 * (index + 1), 16)
            cb.dispatch(kernels["scale_and_offset"], 1, bindings=[source, target], constants=[1, index])
            cb.execution_barrier()
    for _ in range(2):
        cb.replay()
        sums = np.concatenate([[0], np.cumsum(np.arange(512))]).astype(np.uint32)
        assert np.array_equal(buffer.to_host(np.uint32), np.repeat(sums, 4))


def test_64_way_fan_out_and_fan_in(device, kernels, zeros):
    """One update, 64 dispatches that read it, one dispatch that reads all of them."""
    source, middle, total = zeros(16), zeros(16 * 64), zeros(4)
    with device.command_buffer() as cb:
        cb.update_buffer(source, np.array([1, 2, 3, 4], np.uint32))
        cb.execution_barrier()
        for index in range(64):
            target = middle.view(16 * index, 16)
            cb.dispatch(kernels["scale_and_offset"], 1, bindings=[source, target], constants=[index, index])
        cb.execution_barrier()
        cb.dispatch(kernels["sum"], 1, bindings=[middle, total], constants=[256])
    for _ in range(3):
        source.write(bytes(16))
        middle.write(bytes(16 * 64))
        cb.replay()
        assert total.to_host(np.uint32).tolist() == [sum(index * 10 + 4 * index for index in range(64))]
