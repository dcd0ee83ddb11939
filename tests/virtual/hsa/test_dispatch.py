"""Packets in a queue: what is done, in which order, and what the program sees of it."""

from __future__ import annotations

import ctypes

import numpy as np
from support.hsa_client import barrier, dispatch

COUNT = 1000
GRID, WORKGROUP = (1024, 1, 1), (256, 1, 1)


def saxpy(client, module, x, y, factor=2.0, **fields):
    kernarg = module.kernargs("saxpy", GRID, WORKGROUP, "QQfI", y, x, factor, COUNT)
    return dispatch(kernarg, GRID, WORKGROUP, **module.kernel("saxpy"), **fields)


def two_buffers(client):
    x = np.arange(COUNT, dtype=np.float32)
    return x, client.upload(x), client.upload(np.ones(COUNT, np.float32))


def test_a_dispatch_runs_the_kernel_and_decrements_its_completion_signal(client, module, queue):
    x, at_x, at_y = two_buffers(client)
    done = client.signal(1)
    queue.submit(saxpy(client, module, at_x, at_y, completion=done))
    assert client.wait(done) == 0
    np.testing.assert_array_equal(client.read(at_y, COUNT, np.float32), 2 * x + 1)
    assert (queue.read_index, queue.errors) == (1, [])


def test_a_finished_packet_has_an_invalid_header_again(client, queue):
    done = client.signal(1)
    queue.submit(barrier(completion=done))
    client.wait(done)
    assert ctypes.c_uint16.from_address(queue.base).value == 1


def test_nothing_is_done_before_the_doorbell_is_rung(client, queue):
    done = client.signal(1)
    index = queue.write(barrier(completion=done))
    client.let_work_pass()
    assert (client.value(done), queue.read_index) == (1, 0)
    queue.ring(index)
    assert client.wait(done) == 0


def test_the_doorbell_covers_the_packets_up_to_the_one_it_names(client, queue):
    first, second = client.signal(1), client.signal(1)
    queue.write(barrier(completion=first), barrier(completion=second, bit=True))
    queue.ring(0)
    assert client.wait(first) == 0
    client.let_work_pass()
    assert (client.value(second), queue.read_index) == (1, 1)
    queue.ring(1)
    assert client.wait(second) == 0


def test_of_two_threads_the_one_that_is_ahead_may_ring_first(client, queue):
    first, second, gate = client.signal(1), client.signal(1), client.signal(1)
    queue.write(barrier(gate, completion=first), barrier(completion=second, bit=True))
    queue.ring(1)
    queue.ring(0)
    client.hsa.hsa_signal_store_relaxed(gate, 0)
    assert (client.wait(first), client.wait(second)) == (0, 0)


def test_a_store_to_the_hardware_doorbell_is_noticed(client, queue):
    done = client.signal(1)
    index = queue.write(barrier(completion=done))
    kind, doorbell = (ctypes.c_int64 * 2).from_address(queue.doorbell)
    assert kind == -1
    ctypes.c_uint64.from_address(doorbell).value = index
    assert client.wait(done) == 0


def test_a_packet_whose_header_is_invalid_is_waited_for(client, queue):
    done = client.signal(1)
    packet = barrier(completion=done)
    index = queue.submit(b"\x01" + packet[1:])
    client.let_work_pass()
    assert (client.value(done), queue.read_index, queue.errors) == (1, index, [])
    ctypes.c_uint32.from_address(queue.base + 64 * index).value = int.from_bytes(packet[:4], "little")
    assert client.wait(done) == 0


def test_the_ring_wraps(client):
    queue = client.queue(4)
    done = client.signal(11)
    for _ in range(11):
        before = client.value(done)
        queue.submit(barrier(completion=done))
        client.hsa.hsa_signal_wait_scacquire(done, 2, before, 10**9, 0)
    assert (client.value(done), queue.read_index) == (0, 11)
