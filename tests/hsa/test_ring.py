"""How packets get into a queue: write order, wrap, one doorbell for each batch, and what a full queue says."""

import numpy as np
import pytest
from support.packets import QueueDouble

from hipgraph_cb.abi.hsa.aql import BARRIER_BIT, KERNEL_DISPATCH
from hipgraph_cb.errors import DeadlineExceededError
from hipgraph_cb.hsa.packets import BODY, DISPATCH_PACKET, header_word, header_words


def launch(count, first=0):
    """`count` packets whose kernel objects count from `first`, with their header words."""
    packets = np.zeros(count, DISPATCH_PACKET)
    packets["header"] = BODY
    packets["kernel_object"] = range(first, first + count)
    return packets.view("<u8").reshape(-1, 8), header_words([KERNEL_DISPATCH] * count, [0])


def feed(queue, count, *, first=0, waits=False, completion=0x5160, **options):
    bodies, words = launch(count, first)
    return queue.feeder.feed(bodies, words, waits=waits, completion=completion, **options)


def test_bodies_come_before_header_words_and_the_first_header_word_comes_last():
    queue = QueueDouble(8)
    assert feed(queue, 3) == 0
    assert queue.notes == [
        ("bodies", [0, 1, 2]),
        ("bodies", [2]),  # the completion signal
        ("words", [1, 2]),
        ("words", [0]),
        ("doorbell", 2),
    ]


def test_bodies_never_publish_a_packet():
    bodies, _words = launch(4)
    assert {int(body) & 0xFF for body in bodies[:, 0]} == {1}


def test_what_is_written_is_what_was_given():
    queue = QueueDouble(8)
    feed(queue, 3)
    packets = queue.packets()[:3]
    assert packets["kernel_object"].tolist() == [0, 1, 2]
    assert packets["completion_signal"].tolist() == [0, 0, 0x5160]
    assert packets["header"].tolist() == header_words([KERNEL_DISPATCH] * 3, [0]).tolist()
    assert queue.packets()["header"][3:].tolist() == [1] * 5


def test_a_launch_that_waits_has_a_barrier_on_its_first_packet():
    queue = QueueDouble(8)
    feed(queue, 2, waits=True)
    assert queue.packets()["header"][0] == header_words([KERNEL_DISPATCH] * 2, [0])[0] | BARRIER_BIT


def test_a_launch_goes_round_the_end_of_the_ring():
    queue = QueueDouble(8)
    feed(queue, 6)
    queue.read = 6
    queue.notes.clear()
    assert feed(queue, 5, first=10) == 6
    assert queue.notes == [
        ("bodies", [6, 7]),
        ("bodies", [0, 1, 2]),
        ("bodies", [2]),
        ("words", [7]),
        ("words", [0, 1, 2]),
        ("words", [6]),
        ("doorbell", 10),
    ]
    packets = queue.packets()
    assert packets["kernel_object"][[6, 7, 0, 1, 2]].tolist() == [10, 11, 12, 13, 14]
    assert packets["header"][[6, 7, 0, 1, 2]].tolist() == header_words([KERNEL_DISPATCH] * 5, [0]).tolist()
    assert packets["completion_signal"].tolist()[2] == 0x5160


def test_a_launch_that_ends_with_the_ring_does_not_go_round():
    queue = QueueDouble(4)
    feed(queue, 4)
    assert queue.notes == [
        ("bodies", [0, 1, 2, 3]),
        ("bodies", [3]),
        ("words", [1, 2, 3]),
        ("words", [0]),
        ("doorbell", 3),
    ]


def test_a_full_queue_says_where_it_stands_and_nothing_is_written():
    queue = QueueDouble(8)
    feed(queue, 6)
    queue.read = 1
    queue.notes.clear()
    with pytest.raises(DeadlineExceededError) as caught:
        feed(queue, 4)
    assert str(caught.value) == (
        "replay: the queue had no room for 4 packets within 0 s\n"
        "  where: a queue double\n"
        "  found: read index 1, write index 6, 8 slots\n"
        "  next: set device.timeout, or look for a kernel that does not end"
    )
    assert queue.notes == []
    queue.read = 2
    assert feed(queue, 4) == 6


def test_a_launch_larger_than_the_ring_goes_in_batches_with_a_doorbell_each():
    class Eager(QueueDouble):
        def ring_doorbell(self, index):
            super().ring_doorbell(index)
            seen.append(self.packets()["kernel_object"][: self.written - self.read].tolist())
            self.read = self.written

    seen = []
    queue = Eager(4)
    feed(queue, 10, waits=True)
    assert [note for note in queue.notes if note[0] == "doorbell"] == [
        ("doorbell", 3),
        ("doorbell", 7),
        ("doorbell", 9),
    ]
    assert seen == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert queue.packets()["completion_signal"].tolist() == [0, 0x5160, 0, 0]


def test_a_packet_that_another_one_publishes_stays_in_its_batch():
    class Eager(QueueDouble):
        def ring_doorbell(self, index):
            super().ring_doorbell(index)
            self.read = self.written

    queue, placed = Eager(4), []
    feed(queue, 7, uncuttable={4}, place=lambda ring, start, end, index: placed.append((start, end, index)))
    assert placed == [(0, 3, 0), (3, 7, 3)]


def test_header_words_have_the_bits_of_the_specification():
    assert header_word(KERNEL_DISPATCH) == 0x30002
    assert header_word(KERNEL_DISPATCH, barrier=True, acquire=2, release=2) == 0x30002 | 1 << 8 | 2 << 9 | 2 << 11
    assert header_word(3, barrier=True, acquire=1) == 3 | 1 << 8 | 1 << 9
