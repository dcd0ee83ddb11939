"""The graph that HIP gets orders exactly what the recording orders.

An order of work that happens to be right hides a lost edge of a wide layer, so the graph itself is looked at: every
dependency of the recording is a path in it, and commands without one have no path between them.
"""

import ctypes
import random

import pytest

from hipgraph_cb.recording.dependencies import JoinPolicy

SPECIAL = (1, 1, 2, 7, 8, 9, 33, 64)


class Graph:
    """In place of the functions that add nodes. A command is known by where its fill begins."""

    def __init__(self):
        self.before = {}
        self.fills = {}

    def adder(self, name):
        def add(_graph, dependencies, count, *parameters):
            waits = list((ctypes.c_uint64 * count).from_address(int(dependencies))) if count else []
            node = 0x5000 + 16 * len(self.before)
            self.before[node] = set(waits).union(*(self.before[wait] for wait in waits))
            if name == "hipGraphAddMemsetNode":
                self.fills[int(parameters[0].dst)] = node
            return 0, node

        return add


@pytest.fixture
def graph(counting, monkeypatch):
    graph = Graph()
    for name in (
        "hipGraphAddMemsetNode",
        "hipGraphAddEmptyNode",
        "hipGraphAddKernelNode",
        "hipGraphAddEventRecordNode",
    ):
        monkeypatch.setitem(counting, name, graph.adder(name))
    return graph


def ordered_pairs(recording):
    """For each command the commands that must be done before it, near and far."""
    before = [set() for _ in recording]
    for first, second in sorted(recording.edges, key=lambda edge: edge[1]):
        before[second] |= {first} | before[first]
    return before


def check(graph, buffer, recording):
    nodes = [graph.fills[buffer.address + 4 * index] for index in range(len(recording))]
    for index, expected in enumerate(ordered_pairs(recording)):
        found = {other for other, node in enumerate(nodes) if node in graph.before[nodes[index]]}
        assert found == expected, f"command {index}"


@pytest.mark.parametrize("join", list(JoinPolicy))
@pytest.mark.parametrize("seed", range(4))
def test_layers_of_random_widths(device, graph, join, seed):
    numbers = random.Random(seed)
    widths = [numbers.choice((*SPECIAL, numbers.randrange(1, 90))) for _ in range(5)]
    buffer = device.allocate(4 * sum(widths))
    with device.command_buffer(join=join) as cb:
        for index in range(sum(widths)):
            if index in (sum(widths[:layer]) for layer in range(1, 5)):
                cb.execution_barrier()
            cb.fill_buffer(buffer, 1, offset=4 * index, length=4)
    assert [len(layer) for layer in cb.recording.layers] == widths
    check(graph, buffer, cb.recording)


@pytest.mark.parametrize("join", list(JoinPolicy))
def test_a_fan_of_64_out_and_in(device, graph, join):
    buffer = device.allocate(4 * 66)
    with device.command_buffer(join=join) as cb:
        for index in range(66):
            if index in (1, 65):
                cb.execution_barrier()
            cb.fill_buffer(buffer, 1, offset=4 * index, length=4)
    check(graph, buffer, cb.recording)


@pytest.mark.parametrize("join", list(JoinPolicy))
@pytest.mark.parametrize("seed", range(4))
def test_random_dependencies_of_their_own(device, graph, join, seed):
    """Inferred from fills that overlap, each known by a first word of its own."""
    numbers = random.Random(seed)
    buffer = device.allocate(4 * 60 + 64)
    with device.command_buffer(dependencies="inferred", join=join) as cb:
        for index in range(60):
            if numbers.random() < 0.05:
                cb.execution_barrier()
            cb.fill_buffer(buffer, 1, offset=4 * index, length=4 * numbers.choice((1, 1, 1, 2, 9)))
    check(graph, buffer, cb.recording)


@pytest.mark.parametrize("seed", range(4))
def test_signals_and_waits_within_a_recording(device, graph, seed):
    numbers = random.Random(seed)
    buffer, events = device.allocate(4 * 80), [device.event() for _ in range(3)]
    signalled = []
    with device.command_buffer(join="empty") as cb:
        for index in range(80):
            action = numbers.random()
            if action < 0.1:
                cb.execution_barrier()
            elif action < 0.2:
                signalled.append(numbers.choice(events))
                cb.signal_event(signalled[-1])
            elif action < 0.3 and signalled:
                cb.wait_events([numbers.choice(signalled)])
            cb.fill_buffer(buffer, 1, offset=4 * index, length=4)
    fills = [index for index, command in enumerate(cb.recording) if hasattr(command, "pattern")]
    before = ordered_pairs(cb.recording)
    nodes = [graph.fills[buffer.address + 4 * number] for number in range(80)]
    for number, index in enumerate(fills):
        found = {fills[other] for other, node in enumerate(nodes) if node in graph.before[nodes[number]]}
        assert found == before[index] & set(fills), f"command {index}"
