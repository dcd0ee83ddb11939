"""A command buffer that does nothing, and one that is replayed again."""

import numpy as np


def test_an_empty_recording_is_a_program_that_can_be_replayed(device):
    with device.command_buffer() as cb:
        pass
    cb.replay()
    device.synchronize()
    assert len(cb.recording) == 0


def test_begin_and_end_without_a_with_statement(device, zeros):
    buffer = zeros(4)
    cb = device.command_buffer()
    cb.begin()
    cb.fill_buffer(buffer, 1)
    cb.end()
    cb.replay()
    assert buffer.to_host(np.uint32).tolist() == [1]


def test_recording_alone_changes_nothing(device, zeros):
    buffer = zeros(4)
    with device.command_buffer() as cb:
        cb.fill_buffer(buffer, 1)
    device.synchronize()
    assert buffer.to_host(np.uint32).tolist() == [0]


def test_a_program_replays_as_often_as_it_is_asked_to(device, zeros):
    buffer = zeros(8)
    with device.command_buffer() as cb:
        cb.fill_buffer(buffer, 7)
    for _ in range(3):
        buffer.write(bytes(8))
        cb.replay()
        assert buffer.to_host(np.uint32).tolist() == [7, 7]


def test_commands_of_length_zero_record_nothing(device, kernels, zeros):
    buffer, other = zeros(8), zeros(8)
    with device.command_buffer() as cb:
        cb.fill_buffer(buffer, 1, length=0)
        cb.update_buffer(buffer, b"")
        cb.copy_buffer(buffer, other, length=0)
        cb.dispatch(kernels["workgroup_ids"], (1, 0, 1), args=[buffer])
    cb.replay()
    assert len(cb.recording) == 0
    assert buffer.to_host().tolist() == other.to_host().tolist() == [0] * 8
