"""What is recorded before a barrier is done before what is recorded after it, whatever the barrier becomes."""

import numpy as np
import pytest

POLICIES = ("edges", "empty", "auto")


@pytest.mark.parametrize("join", POLICIES)
@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 64), (64, 1), (8, 8), (9, 9), (64, 64)])
def test_layers_of_any_widths_are_in_order(device, join, before, after):
    """Layer 1 fills words, layer 2 copies each of its words from another one of layer 1, layer 3 overwrites layer 1."""
    first, second = device.allocate(4 * before), device.allocate(4 * after)
    with device.command_buffer(join=join) as cb:
        for index in range(before):
            cb.fill_buffer(first, 1000 + index, offset=4 * index, length=4)
        cb.execution_barrier()
        for index in range(after):
            source_offset = 4 * ((7 * index) % before)
            cb.copy_buffer(first, second, source_offset=source_offset, target_offset=4 * index, length=4)
        cb.execution_barrier()
        for index in range(before):
            cb.fill_buffer(first, 0xDEAD0000 + index, offset=4 * index, length=4)
    for _ in range(5):
        first.write(bytes(4 * before))
        cb.replay()
        assert second.to_host(np.uint32).tolist() == [1000 + (7 * index) % before for index in range(after)]
        assert first.to_host(np.uint32).tolist() == [0xDEAD0000 + index for index in range(before)]


def test_leading_doubled_and_trailing_barriers_change_nothing(device, zeros):
    source, target = zeros(4), zeros(4)
    with device.command_buffer() as cb:
        cb.execution_barrier()
        cb.execution_barrier()
        cb.fill_buffer(source, 5)
        cb.execution_barrier()
        cb.execution_barrier()
        cb.copy_buffer(source, target)
        cb.execution_barrier()
    cb.replay()
    assert target.to_host(np.uint32).tolist() == [5]
    assert [len(layer) for layer in cb.recording.layers] == [1, 1]


def test_two_replays_on_one_stream_are_in_order(device, zeros):
    """Each replay moves every word one place on; ten of them move it ten places."""
    buffer, scratch = zeros(4 * 32), zeros(4 * 32)
    buffer.view(0, 4).write(np.uint32(77))
    with device.command_buffer() as cb:
        cb.copy_buffer(buffer, scratch, source_offset=0, target_offset=4, length=4 * 31)
        cb.execution_barrier()
        cb.copy_buffer(scratch, buffer)
    for _ in range(10):
        cb.replay()
    assert np.flatnonzero(buffer.to_host(np.uint32)).tolist() == [10]


def test_an_unknown_join_policy_is_refused(device):
    from hipgraph_cb.errors import InvalidArgumentError

    with pytest.raises(InvalidArgumentError) as caught:
        device.command_buffer(join="magic")
    assert str(caught.value) == ("unknown join policy\n  found: 'magic'\n  allowed: 'edges', 'empty', 'kernel', 'auto'")
