"""Long recordings: no recursion anywhere, and no more work per command than in short ones."""

import inspect
import sys

import pytest
from support.fakes import FakeBuffer

from hipgraph_cb.recording import slot_uses
from hipgraph_cb.recording.bindings import resolve
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.dependencies import JoinPolicy
from hipgraph_cb.recording.resources import Slot

COUNT = 20_000


@pytest.fixture
def shallow():
    """A stack of some forty more frames."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 40)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize("dependencies", ["barriers", "inferred"])
def test_a_long_chain_needs_no_deep_stack(shallow, dependencies):
    x = FakeBuffer(64)
    with CommandBuffer(dependencies=dependencies) as cb:
        for index in range(COUNT):
            cb.fill_buffer(x, index)
            cb.execution_barrier()
    recording = cb.recording
    assert len(recording.layers) == COUNT
    assert sum(1 for _ in recording.plan(JoinPolicy.AUTO)) == COUNT
    assert len(recording.edges) == COUNT - 1
    assert recording.hazards() == ()
    assert recording.to_dot().count(" -> ") == COUNT - 1


def test_wide_layers_are_joined_by_a_node_and_not_by_the_square_of_edges():
    x = FakeBuffer(4 * COUNT)
    with CommandBuffer() as cb:
        for layer in range(2):
            for index in range(COUNT):
                cb.fill_buffer(x, layer, offset=4 * index, length=4)
            cb.execution_barrier()
    recording = cb.recording
    assert len(recording.edges) == COUNT * COUNT
    assert sum(len(node.dependencies) for node in recording.plan(JoinPolicy.AUTO)) == COUNT + COUNT
    assert recording.hazards() == ()


def test_recording_the_same_calls_again_gives_an_equal_value():
    def record():
        x = FakeBuffer(4 * 512)
        with CommandBuffer() as cb:
            for index in range(512):
                cb.fill_buffer(x, 0xBD370000 + index, offset=4 * index, length=4)
        return cb.recording

    assert record() == record()
    assert [command.pattern for command in record()] == [(0xBD370000 + i).to_bytes(4, "little") for i in range(512)]


def test_rebinding_reads_a_long_recording_once(monkeypatch):
    """What a replay costs follows from its table, not from the length of the recording."""
    buffers = [FakeBuffer(64), FakeBuffer(64)]
    with CommandBuffer(binding_capacity=1) as cb:
        for _ in range(COUNT):
            cb.fill_buffer(Slot(0, 0, 64), 1)
    reads = []

    def used_places(command):
        reads.append(command)
        return iter((command.target,))

    monkeypatch.setattr(slot_uses, "used_places", used_places)
    for index in range(100):
        resolve(cb.recording, [buffers[index % 2]])
    assert len(reads) == COUNT
