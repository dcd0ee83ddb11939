"""With inferred dependencies the bytes are those of running everything in the order of the calls."""

import random

import numpy as np
import pytest

from hipgraph_cb.errors import FailedPreconditionError

SIZE = 96


def random_calls(numbers, count):
    """(source or None, target, source offset, target offset, length, first byte of data)."""
    for index in range(count):
        target = numbers.randrange(3)
        source = numbers.choice([None, *(each for each in range(3) if each != target)])
        length = 1 + numbers.randrange(40)
        yield source, target, numbers.randrange(SIZE - length), numbers.randrange(SIZE - length), length, index


@pytest.mark.parametrize("seed", range(6))
def test_random_transfers_without_a_barrier_end_as_if_run_in_order(device, seed):
    numbers = random.Random(seed)
    buffers = [device.allocate(SIZE) for _ in range(3)]
    expected = [np.arange(SIZE, dtype=np.uint8) + 80 * index for index in range(3)]
    initial = [each.copy() for each in expected]
    with device.command_buffer(dependencies="inferred") as cb:
        for source, target, start, offset, length, index in random_calls(numbers, 40):
            if source is None:
                data = (np.arange(length) + 7 * index).astype(np.uint8)
                cb.update_buffer(buffers[target], data, offset=offset)
            else:
                data = expected[source][start : start + length]
                cb.copy_buffer(
                    buffers[source], buffers[target], source_offset=start, target_offset=offset, length=length
                )
            expected[target][offset : offset + length] = data
    for _ in range(4):
        for buffer, values in zip(buffers, initial, strict=True):
            buffer.write(values)
        cb.replay()
        for buffer, values in zip(buffers, expected, strict=True):
            assert np.array_equal(buffer.to_host(), values)


def test_kernels_are_ordered_by_their_arguments(device, kernels, zeros):
    source, middle, target = device.from_host(np.arange(4, dtype=np.uint32)), zeros(16), zeros(16)
    with device.command_buffer(dependencies="inferred") as cb:
        cb.dispatch(kernels["scale_and_offset"], 1, args=[source, middle, 2, 1])
        cb.dispatch(kernels["scale_and_offset"], 1, args=[middle, target, 10, 0])
        cb.fill_buffer(middle, 7)
    assert list(cb.recording.edges) == [(0, 1), (1, 2)]
    cb.replay()
    assert target.to_host(np.uint32).tolist() == [10, 30, 50, 70]
    assert middle.to_host(np.uint32).tolist() == [7, 7, 7, 7]


def test_a_device_refuses_what_certainly_misses_a_barrier(device, zeros):
    first, second = zeros(16), zeros(16)
    cb = device.command_buffer(hazards="raise").begin()
    cb.fill_buffer(first, 1)
    cb.copy_buffer(first, second)
    with pytest.raises(FailedPreconditionError, match="a barrier is missing"):
        cb.end()


def test_slots_are_ordered_by_what_commands_do_to_them(device, kernels, zeros):
    from hipgraph_cb import Slot
    from hipgraph_cb.errors import InvalidArgumentError

    with device.command_buffer(dependencies="inferred", binding_capacity=3) as cb:
        cb.update_buffer(Slot(0, 0, 16), np.arange(4, dtype=np.uint32))
        cb.dispatch(kernels["scale_and_offset"], 1, args=[Slot(0, 0, 16), Slot(1, 0, 16), 2, 1])
        cb.dispatch(kernels["scale_and_offset"], 1, args=[Slot(1, 0, 16), Slot(2, 0, 16), 10, 0])
        cb.fill_buffer(Slot(1, 0, 16), 7)
    for _ in range(3):
        tables = [zeros(16), zeros(16), zeros(16)]
        cb.replay(bindings=tables)
        assert tables[2].to_host(np.uint32).tolist() == [10, 30, 50, 70]
        assert tables[1].to_host(np.uint32).tolist() == [7, 7, 7, 7]
    with pytest.raises(InvalidArgumentError, match="slot 0 and slot 2 are the same memory"):
        cb.replay(bindings=[tables[0], tables[1], tables[0]])
