"""A type of command that the package does not know: its own file, and one lowering for each backend."""

from typing import NamedTuple

import numpy as np
import pytest

from hipgraph_cb import Recording
from hipgraph_cb.capture.diff import compare
from hipgraph_cb.errors import HipGraphError, OutOfRangeError, UnimplementedError
from hipgraph_cb.recording.commands import Access, Fill, Location, Range, SlotRange
from hipgraph_cb.recording.commands.fields import LABEL, NUMBER, PLACE
from hipgraph_cb.recording.commands.places import same_type_only
from hipgraph_cb.recording.commands.types import TYPES, CommandType, register


@same_type_only
class Erase(NamedTuple):
    """Write a byte over and over."""

    target: Location
    byte: int
    label: str | None = None


def erased(command):
    return Fill(command.target, bytes([command.byte]), command.label)


@pytest.fixture
def erase(monkeypatch):
    """Makes the type known for one test."""
    from hipgraph_cb.hip.node_kinds import NODE_KINDS, NodeKind
    from hipgraph_cb.hip.node_parameters import memset_block, memset_images
    from hipgraph_cb.hip.stream_replay import STREAM_CALLS
    from hipgraph_cb.hsa.lowering import PACKET_STEPS

    def nodes(prepared, commands):
        targets, lengths = prepared.extents(commands, 0)
        values = np.array([prepared.command(index).byte for index in commands.tolist()], np.uint64)
        return memset_images(targets, values, lengths, 1)

    monkeypatch.setitem(TYPES, Erase, None)
    register(
        CommandType(
            Erase,
            "erase",
            "erase",
            {"target": PLACE, "byte": NUMBER, "label": LABEL},
            accesses=lambda command, _reader: [Access(command.target, False, True)],
        )
    )
    kind = NodeKind("hipGraphAddMemsetNode", "hipGraphExecMemsetNodeSetParams", nodes, memset_block)
    monkeypatch.setitem(NODE_KINDS, Erase, kind)
    fill = STREAM_CALLS[Fill]
    monkeypatch.setitem(STREAM_CALLS, Erase, lambda calls, command, queue: fill(calls, erased(command), queue))
    step = PACKET_STEPS[Fill]
    monkeypatch.setitem(
        PACKET_STEPS, Erase, lambda lowering, scope, command, index: step(lowering, scope, erased(command), index)
    )
    return Erase


def like(device, buffers, *commands, capacity=0):
    """A recording of these commands, over buffers that have the ids 0, 1, ..."""
    with device.command_buffer(label="outside", binding_capacity=capacity) as cb:
        for buffer in buffers:
            cb.fill_buffer(buffer, 0)
    recording = cb.recording.part(range(0))
    return Recording(
        commands,
        resources=recording.resources,
        binding_capacity=capacity,
        layer_starts=range(len(commands)),
        label="outside",
    )


@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_it_runs_on_both_backends(device, erase, zeros, mode):
    x = zeros(16)
    recording = like(device, [x], erase(Range(0, 4, 8), 7))
    with device.program(recording) as program:
        program.replay(mode=mode)
    assert x.to_host().tolist() == [0] * 4 + [7] * 8 + [0] * 4


@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_its_slots_are_bound_and_rebound(device, erase, zeros, mode):
    x, y = zeros(8), zeros(8)
    recording = like(device, [x], erase(SlotRange(0, 4, None), 9), capacity=1)
    assert recording.slots[0].commands == (0,)
    with device.program(recording) as program:
        for buffer in (x, y):
            program.replay(bindings=[buffer], mode=mode)
    assert x.to_host().tolist() == y.to_host().tolist() == [0] * 4 + [9] * 4


def test_it_can_be_nested_with_other_memory_and_other_ids(device, erase, zeros):
    x, y, z = zeros(8), zeros(8), zeros(8)
    inner = like(device, [x], erase(SlotRange(0, 0, 4), 1), erase(Range(0, 4, 4), 2), capacity=1)
    with device.command_buffer() as cb:
        cb.fill_buffer(z, 0xFFFFFFFF)
        cb.execution_barrier()
        cb.execute_commands(inner, bindings=[y.view(4, 4)])
    cb.replay()
    device.synchronize()
    assert [each.to_host().tolist() for each in (x, y, z)] == [[0] * 4 + [2] * 4, [0] * 4 + [1] * 4, [255] * 8]


def test_hazards_and_inferred_order_know_what_it_does(device, erase, zeros):
    from hipgraph_cb.recording.inference import infer

    commands = erase(Range(0, 0, 8), 1), erase(Range(0, 4, 8), 2), erase(Range(0, 12, 4), 3)
    recording = like(device, [zeros(16)], *commands)
    assert infer(recording) == ((), (0,), (1,))
    together = Recording(commands, resources=recording.resources)
    assert [(each.first, each.second, each.place) for each in together.hazards()] == [(0, 1, Range(0, 4, 4))]


def test_it_is_saved_loaded_compared_and_drawn(device, erase, zeros, tmp_path):
    recording = like(device, [zeros(16)], erase(Range(0, 4, 8), 7, "clean"))
    recording.save(tmp_path / "a.hgcb")
    loaded = Recording.load(tmp_path / "a.hgcb")
    assert loaded == recording
    assert list(loaded) == [Erase(Range(0, 4, 8), 7, "clean")]
    other = like(device, [zeros(16)], erase(Range(0, 4, 8), 8))
    assert list(compare(recording, other).lines()) == [
        "commands",
        "  changed 0: erase buffer 0[4:12], 8",
        "    byte: 7 -> 8",
    ]
    assert all("erase" in text for text in (recording.to_dot(), recording.to_mermaid(), recording.to_html()))
    assert '"byte": 7' in recording.to_json()


def test_its_place_is_checked_when_it_is_loaded(device, erase, zeros, tmp_path):
    recording = like(device, [zeros(16)], erase(Range(0, 12, 8), 7))
    with pytest.raises(OutOfRangeError, match="reaches past the end of buffer 0"):
        recording.save(tmp_path / "a.hgcb")


def test_a_type_that_nobody_registered_is_refused_by_name(device, zeros):
    recording = like(device, [zeros(16)], Erase(Range(0, 0, 8), 7))
    with pytest.raises(UnimplementedError) as raised:
        device.program(recording)
    assert "Erase" in str(raised.value)
    with pytest.raises(HipGraphError, match="Erase"):
        recording.hazards()
