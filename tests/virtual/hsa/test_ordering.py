"""What orders packets: the barrier bit, barrier packets, and nothing else."""

from __future__ import annotations

import ctypes

import pytest
from support.hsa_client import barrier, barrier_value, dispatch

from hipgraph_cb.virtual.hsa.objects.queue import WINDOW

GRID = WORKGROUP = (64, 1, 1)
BARRIER_OR = 5


def kernels(client, module, count, **fields):
    """Dispatches of a kernel that takes a while, each with a signal and its place in time."""
    signals = [client.signal() for _ in range(count)]
    buffer = client.allocate(256)
    kernarg = module.kernargs("saxpy", GRID, WORKGROUP, "QQfI", buffer, buffer, 0.0, 0)
    packet = module.kernel("saxpy")
    return signals, [dispatch(kernarg, GRID, WORKGROUP, **packet, **fields, completion=signal) for signal in signals]


def start_times(client, queue, packets, signals):
    """The packets by the order in which they were started, as the queue's profile reports it."""
    assert client.hsa.hsa_amd_profiling_set_profiler_enabled(queue.address, 1) == 0
    queue.submit(*packets)
    for signal in signals:
        assert client.wait(signal) == 0
    times = [ctypes.c_uint64.from_address(signal + 32).value for signal in signals]
    return sorted(range(len(signals)), key=times.__getitem__)


def test_independent_packets_start_in_an_order_that_the_seed_decides(client, module, queue, library):
    orders = []
    for seed in (1, 1, 2, 3):
        library.reseed(seed)
        signals, packets = kernels(client, module, 8)
        orders.append(tuple(start_times(client, queue, packets, signals)))
    assert orders[0] == orders[1]
    assert len(set(orders)) > 1
    library.reseed(0)


def test_a_barrier_bit_keeps_the_order(client, module, queue, library):
    for seed in (1, 2, 3):
        library.reseed(seed)
        signals, packets = kernels(client, module, 8, barrier=True)
        assert start_times(client, queue, packets, signals) == list(range(8))
    library.reseed(0)


def test_packets_before_a_barrier_bit_are_done_before_those_behind_it(client, module, queue, library):
    for seed in range(6):
        library.reseed(seed)
        signals, packets = kernels(client, module, 9)
        more, barriers = kernels(client, module, 1, barrier=True)
        signals[4], packets[4] = more[0], barriers[0]
        order = start_times(client, queue, packets, signals)
        assert set(order[:4]) == {0, 1, 2, 3}
    library.reseed(0)


def test_no_more_packets_than_the_window_are_overtaken(client, module, queue, library):
    for seed in range(4):
        library.reseed(seed)
        signals, packets = kernels(client, module, 40)
        order = start_times(client, queue, packets, signals)
        assert max(place - order.index(place) for place in range(40)) < WINDOW
    library.reseed(0)


def test_a_barrier_and_waits_until_all_its_signals_are_zero(client, queue):
    first, second, done, behind = client.signal(1), client.signal(2), client.signal(), client.signal()
    queue.submit(barrier(first, second, completion=done), barrier(completion=behind))
    client.hsa.hsa_signal_store_relaxed(first, 0)
    client.let_work_pass()
    assert (client.value(done), client.value(behind)) == (1, 1)
    client.hsa.hsa_signal_store_relaxed(second, 0)
    assert (client.wait(done), client.wait(behind)) == (0, 0)


def test_a_barrier_or_waits_for_one_of_its_signals(client, queue):
    first, second, done = client.signal(1), client.signal(1), client.signal()
    queue.submit(barrier(first, second, kind=BARRIER_OR, completion=done))
    client.let_work_pass()
    assert client.value(done) == 1
    client.hsa.hsa_signal_store_relaxed(second, 0)
    assert client.wait(done) == 0


@pytest.mark.parametrize("kind", [3, BARRIER_OR])
def test_a_barrier_packet_without_signals_is_through_at_once(client, queue, kind):
    done = client.signal()
    queue.submit(barrier(kind=kind, completion=done))
    assert client.wait(done) == 0


def test_a_barrier_packet_does_not_wait_for_packets_before_it_unless_its_bit_says_so(client, queue):
    """One behind a barrier packet that never ends in time cannot start; one before it can end in any order."""
    gate, first, second = client.signal(1), client.signal(), client.signal()
    queue.submit(barrier(gate, completion=first), barrier(completion=second, bit=True))
    client.let_work_pass()
    assert client.value(second) == 1
    client.hsa.hsa_signal_store_relaxed(gate, 0)
    assert (client.wait(first), client.wait(second)) == (0, 0)


def test_a_barrier_waits_for_a_signal_that_another_queue_completes(client, queue):
    other, between, done = client.queue(), client.signal(), client.signal()
    queue.submit(barrier(between, completion=done))
    other.submit(barrier(completion=between))
    assert client.wait(done) == 0


@pytest.mark.parametrize(
    ("condition", "value", "mask", "before", "after"),
    [(0, 4, 0xF, 3, 0x14), (1, 3, -1, 3, 4), (2, 0, -1, 0, -1), (3, 5, -1, 4, 5)],
)
def test_a_barrier_value_packet_waits_for_a_condition(client, queue, condition, value, mask, before, after):
    signal, done = client.signal(before), client.signal()
    queue.submit(barrier_value(signal, condition, value, mask, completion=done))
    client.let_work_pass()
    assert client.value(done) == 1
    client.hsa.hsa_signal_store_relaxed(signal, after)
    assert client.wait(done) == 0


def test_a_completion_signal_counts_down_packet_by_packet(client, queue):
    done = client.signal(100)
    queue.submit(*[barrier(completion=done) for _ in range(40)])
    assert client.hsa.hsa_signal_wait_relaxed(done, 0, 60, 2_000_000_000, 0) == 60
