"""A lost edge shows: every order of independent work is right, and without one edge some are wrong."""

import random
from itertools import pairwise

import numpy as np
import pytest

from hipgraph_cb.opening import process_choice, virtual_runtime
from hipgraph_cb.recording.dependencies import JoinPolicy
from hipgraph_cb.recording.recording import with_dependencies

SEEDS = 20
SIZE = 96
POLICIES = tuple(JoinPolicy)


@pytest.fixture
def in_every_order(device):
    """Calls a check once for each of 20 orders of independent work, and returns how many it found right."""

    def run(check):
        right = 0
        for seed in range(SEEDS):
            if device.is_virtual:
                virtual_runtime().reseed(seed)
            right += bool(check())
        return right

    return run


def skip_where_barriers_order_more(device):
    if device.backend == "hsa":
        pytest.skip("a barrier bit orders whole layers, whichever of the edges between them is there")


class RandomGraph:
    """Random transfers between three small buffers, with the edges that their accesses make."""

    def __init__(self, device, seed, count=14):
        self.numbers = random.Random(seed)
        self.buffers = [device.allocate(SIZE) for _ in range(3)]
        self.initial = [np.arange(SIZE, dtype=np.uint8) + 80 * index for index in range(3)]
        self.calls = [self._call(index) for index in range(count)]
        with device.command_buffer(dependencies="inferred") as cb:
            for source, target, start, offset, data in self.calls:
                if source is None:
                    cb.update_buffer(self.buffers[target], data, offset=offset)
                else:
                    cb.copy_buffer(
                        self.buffers[source],
                        self.buffers[target],
                        source_offset=start,
                        target_offset=offset,
                        length=len(data),
                    )
        cb.program.close()
        self.recording = cb.recording

    def _call(self, index):
        target = self.numbers.randrange(3)
        source = self.numbers.choice([None, *(each for each in range(3) if each != target)])
        length = 1 + self.numbers.randrange(40)
        data = (np.arange(length) + 7 * index + 3).astype(np.uint8)
        return source, target, self.numbers.randrange(SIZE - length), self.numbers.randrange(SIZE - length), data

    def result_of(self, order):
        """The bytes when the calls run in this order."""
        memory = [each.copy() for each in self.initial]
        for index in order:
            source, target, start, offset, data = self.calls[index]
            moved = data if source is None else memory[source][start : start + len(data)].copy()
            memory[target][offset : offset + len(data)] = moved
        return memory

    def is_right(self, program):
        for buffer, values in zip(self.buffers, self.initial, strict=True):
            buffer.write(values)
        program.replay()
        expected = self.result_of(range(len(self.calls)))
        return all(np.array_equal(buffer.to_host(), each) for buffer, each in zip(self.buffers, expected, strict=True))

    def edge_that_matters(self):
        """An edge without which some order that the others allow leaves other bytes, and the edges without it."""
        edges = list(self.recording.edges)
        self.numbers.shuffle(edges)
        expected = self.result_of(range(len(self.calls)))
        for source, target in edges:
            fewer = tuple(
                tuple(wait for wait in waits if (wait, index) != (source, target))
                for index, waits in enumerate(self.recording.dependencies)
            )
            early = ancestors(fewer, target)
            if source in early:
                continue
            order = [*sorted(early), target, *(each for each in range(len(fewer)) if each not in {*early, target})]
            result = self.result_of(order)
            if any(not np.array_equal(one, other) for one, other in zip(result, expected, strict=True)):
                return fewer
        return None


def ancestors(dependencies, index):
    found, waiting = set(), list(dependencies[index])
    while waiting:
        wait = waiting.pop()
        if wait not in found:
            found.add(wait)
            waiting.extend(dependencies[wait])
    return found


def check_random_graph(device, in_every_order, seed):
    graph = RandomGraph(device, seed)
    with device.program(graph.recording, join=POLICIES[seed % len(POLICIES)]) as program:
        assert in_every_order(lambda: graph.is_right(program)) == SEEDS


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_are_right_in_every_order(device, in_every_order, seed):
    check_random_graph(device, in_every_order, seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_a_thousand_random_graphs_are_right_in_every_order(device, in_every_order, block):
    for seed in range(12 + 50 * block, 62 + 50 * block):
        check_random_graph(device, in_every_order, seed)


@pytest.mark.skipif(not process_choice().is_virtual, reason="a real GPU need not take another order")
@pytest.mark.parametrize("seed", range(6))
def test_a_random_graph_without_one_of_its_edges_is_wrong_in_some_order(device, in_every_order, seed):
    skip_where_barriers_order_more(device)
    graph = RandomGraph(device, seed)
    fewer = graph.edge_that_matters()
    assert fewer is not None
    with device.program(with_dependencies(graph.recording, fewer)) as program:
        assert in_every_order(lambda: graph.is_right(program)) < SEEDS


class FanOutAndIn:
    """One update, 64 copies of it, one copy of all of those."""

    def __init__(self, device, label=None):
        self.source, self.middle, self.target = device.allocate(4), device.allocate(256), device.allocate(256)
        with device.command_buffer(dependencies="inferred") as cb:
            cb.update_buffer(self.source, np.array([7], np.uint32))
            for index in range(64):
                cb.copy_buffer(self.source, self.middle, target_offset=4 * index, length=4)
            cb.copy_buffer(self.middle, self.target)
        cb.program.close()
        self.recording = cb.recording

    def is_right(self, program):
        for buffer in (self.source, self.middle, self.target):
            buffer.write(bytes(buffer.size))
        program.replay()
        return self.target.to_host(np.uint32).tolist() == [7] * 64


@pytest.mark.parametrize("policy", POLICIES)
def test_64_way_fan_out_and_fan_in(device, in_every_order, policy):
    fan = FanOutAndIn(device)
    with device.program(fan.recording, join=policy) as program:
        assert in_every_order(lambda: fan.is_right(program)) == SEEDS


@pytest.mark.skipif(not process_choice().is_virtual, reason="a real GPU need not take another order")
@pytest.mark.parametrize(("source", "target"), [(0, 17), (40, 65)])
def test_a_fan_without_one_of_its_edges_is_wrong_in_some_order(device, in_every_order, source, target):
    skip_where_barriers_order_more(device)
    fan = FanOutAndIn(device)
    fewer = tuple(
        tuple(wait for wait in waits if (wait, index) != (source, target))
        for index, waits in enumerate(fan.recording.dependencies)
    )
    assert sum(map(len, fewer)) == sum(map(len, fan.recording.dependencies)) - 1
    with device.program(with_dependencies(fan.recording, fewer)) as program:
        assert in_every_order(lambda: fan.is_right(program)) < SEEDS


@pytest.mark.parametrize("policy", POLICIES)
def test_wide_layers_are_right_in_every_order_whatever_joins_them(device, in_every_order, policy):
    """Four layers of twelve words, each the word beside it in the layer before."""
    rows = [device.allocate(48) for _ in range(4)]
    with device.command_buffer(join=policy) as cb:
        cb.update_buffer(rows[0], np.arange(12, dtype=np.uint32))
        for before, row in pairwise(rows):
            cb.execution_barrier()
            for index in range(12):
                cb.copy_buffer(before, row, source_offset=4 * ((index + 5) % 12), target_offset=4 * index, length=4)

    def check():
        for row in rows:
            row.write(bytes(48))
        cb.replay()
        return rows[-1].to_host(np.uint32).tolist() == [(index + 15) % 12 for index in range(12)]

    assert in_every_order(check) == SEEDS
