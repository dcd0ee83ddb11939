"""Which transient buffers share bytes, and which reads of them are in vain."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fakes import FakeBuffer, FakeEvent

from hipgraph_cb.errors import FailedPreconditionError
from hipgraph_cb.recording.accesses import AccessReader
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Range

COMMANDS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from(["copy", "copy", "barrier", "signal", "wait"])),
    min_size=1,
    max_size=14,
)


def recorded(commands, dependencies, sizes):
    with CommandBuffer(dependencies=dependencies) as cb:
        buffers = [cb.transient(size, str(index)) for index, size in enumerate(sizes)]
        event, outside = FakeEvent(), FakeBuffer(4096, "outside")
        for first, second, kind in commands:
            if kind == "barrier":
                cb.execution_barrier()
            elif kind == "signal":
                cb.signal_event(event)
            elif kind == "wait":
                cb.signal_event(event)
                cb.wait_events([event])
            elif first == second:
                cb.fill_buffer(buffers[first], 0, pattern_length=1)
            else:
                cb.copy_buffer(buffers[first], outside, length=1, target_offset=8 * len(commands))
                cb.copy_buffer(outside, buffers[second], length=1)
    return cb.recording


def ancestors(recording):
    """For each command all commands that it is ordered behind."""
    waits = recording.dependencies
    if waits is None:
        starts = [layer[0] for layer in recording.layers for _ in layer]
        return [set(range(start)) for start in starts]
    result = []
    for each in waits:
        result.append({*each, *itertools.chain.from_iterable(result[wait] for wait in each)})
    return result


@given(COMMANDS, st.sampled_from(["barriers", "inferred"]), st.lists(st.integers(1, 600), min_size=6, max_size=6))
def test_two_share_bytes_only_if_all_uses_of_one_are_ordered_before_all_of_the_other(commands, dependencies, sizes):
    recording = recorded(commands, dependencies, sizes)
    offsets, size = recording._transients
    reader, behind, uses = AccessReader(recording), ancestors(recording), {id: set() for id in offsets}
    for index in range(len(recording)):
        for access in reader.of(index):
            if isinstance(access.place, Range) and access.place.resource in uses:
                uses[access.place.resource].add(index)
    buffers = recording.resources.buffers
    for one, other in itertools.combinations(offsets, 2):
        apart = (
            offsets[one] + buffers[one].size <= offsets[other] or offsets[other] + buffers[other].size <= offsets[one]
        )
        ordered = any(
            all(first in behind[second] for first in uses[before] for second in uses[after])
            for before, after in ((one, other), (other, one))
        )
        assert apart or ordered
    assert size == max((offsets[id] + buffers[id].size for id in offsets), default=0)
    assert all(offset % 256 == 0 for offset in offsets.values())
    assert recording.peak_transient_bytes == size


def test_buffers_of_one_layer_are_apart_and_those_of_the_next_take_their_place():
    with CommandBuffer() as cb:
        for _ in range(3):
            for _ in range(4):
                cb.fill_buffer(cb.transient(1000), 0)
            cb.execution_barrier()
    assert cb.recording.peak_transient_bytes == 3 * 1024 + 1000


def test_many_are_placed_in_time_that_grows_with_their_number():
    with CommandBuffer() as cb:
        for _ in range(20_000):
            cb.fill_buffer(cb.transient(64), 0)
            cb.execution_barrier()
    assert cb.recording.peak_transient_bytes == 64


def test_a_read_before_any_write_is_found():
    x = FakeBuffer(64, "x")
    with CommandBuffer(label="step") as cb:
        t = cb.transient(64, "t")
        cb.fill_buffer(t, 0, length=32)
        cb.execution_barrier()
        cb.copy_buffer(t, x, length=32)
        cb.execution_barrier()
        cb.copy_buffer(t, x, label="late")
    assert [finding.text for finding in cb.recording.hazards()] == [
        "command 2 'late' in 'step' reads transient `t`[0:64], which no command before it writes"
    ]


@pytest.mark.parametrize("dependencies", ["barriers", "inferred"])
def test_the_policy_raises_for_it(dependencies):
    x = FakeBuffer(64, "x")
    cb = CommandBuffer(label="step", hazards="raise", dependencies=dependencies).begin()
    cb.copy_buffer(cb.transient(64), x)
    with pytest.raises(FailedPreconditionError) as caught:
        cb.end()
    assert str(caught.value) == (
        "transient memory is read before it is written\n"
        "  where: recording 'step'\n"
        "  next: write it first\n"
        "command 0 in 'step' reads transient buffer 0[0:64], which no command before it writes"
    )


def test_pieces_that_were_written_one_by_one_may_be_read_together():
    x = FakeBuffer(64, "x")
    with CommandBuffer() as cb:
        t = cb.transient(64)
        for offset in (48, 0, 32, 16):
            cb.fill_buffer(t, 0, offset=offset, length=16)
        cb.execution_barrier()
        cb.copy_buffer(t, x)
    assert cb.recording.hazards() == ()


def test_one_that_no_command_uses_takes_no_memory():
    with CommandBuffer() as cb:
        cb.transient(64)
    assert cb.recording.peak_transient_bytes == 0
    assert not cb.recording.resources.buffers
