"""The last layer of a recording runs as any other does: its commands beside each other."""

import numpy as np

from hipgraph_cb.hsa.timing import PacketTimer


def test_commands_of_the_last_layer_run_in_any_order(small):
    """Two fills of one word without a barrier are a race, which shows the order."""
    word = small.allocate(4)
    with small.command_buffer() as cb:
        cb.fill_buffer(word, 1)
        cb.fill_buffer(word, 2)
    last = set()
    for _ in range(64):
        cb.replay()
        last.add(int(word.to_host(np.uint32)[0]))
    assert last == {1, 2}


def test_a_launch_is_done_when_all_of_its_last_layer_is(small):
    words = small.allocate(4 * 40)
    with small.command_buffer() as cb:
        cb.fill_buffer(words, 0)
        cb.execution_barrier()
        for index in range(40):
            cb.fill_buffer(words.view(4 * index, 4), index + 1)
    for _ in range(3):
        cb.replay()
        small.synchronize()
        assert words.to_host(np.uint32).tolist() == list(range(1, 41))


def test_the_packet_that_ends_a_launch_is_the_time_of_no_command(small, monkeypatch):
    asked = []
    times = PacketTimer._times
    monkeypatch.setattr(PacketTimer, "_times", lambda self, signal: (asked.append(signal), times(self, signal))[1])
    words = small.allocate(64)
    with small.command_buffer() as cb:
        cb.fill_buffer(words.view(0, 4), 1)
        cb.fill_buffer(words.view(4, 4), 2)
    assert len(cb.program.profile(repeats=1).commands) == 2
    assert len(asked) == 4  # two of each replay, of which one is not counted
