"""Missing barriers where events order the commands: what counts is a path, not a layer."""

import random

import pytest
from support.fakes import FakeBuffer, FakeEvent

from hipgraph_cb.errors import FailedPreconditionError
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.resources import Slot


@pytest.fixture
def event():
    return FakeEvent("ready")


def pairs(cb):
    cb.end()
    return [(finding.first, finding.second) for finding in cb.recording.hazards()]


def test_a_signal_and_its_wait_order_a_reader_behind_a_writer(cb, x, y, event):
    cb.fill_buffer(x, 0)
    cb.signal_event(event)
    cb.wait_events([event])
    cb.copy_buffer(x, y)
    assert pairs(cb) == []


def test_what_stands_between_signal_and_wait_is_ordered_with_neither(cb, x, y, event):
    cb.fill_buffer(x, 0)
    cb.signal_event(event)
    cb.copy_buffer(x, y)
    cb.wait_events([event])
    cb.fill_buffer(y, 1)
    assert pairs(cb) == [(0, 2), (2, 4)]


def test_a_finding_reads_as_it_does_without_events(cb, x, y, event):
    cb.fill_buffer(x, 0, label="clear")
    cb.signal_event(event)
    cb.copy_buffer(x.view(0, 16), y.view(0, 16))
    cb.end()
    (finding,) = cb.recording.hazards()
    assert str(finding) == (
        "command 2 in 'step' reads `x`[0:16], which command 0 'clear' in 'step' writes: no barrier between them"
    )
    assert finding.certain


def test_slots_and_nested_recordings_are_looked_at_too(cb, x, event):
    with CommandBuffer(binding_capacity=1) as inner:
        inner.fill_buffer(Slot(0, 0, 4), 1)
    cb.signal_event(event)
    cb.execute_commands(inner, bindings=[x])
    cb.execute_commands(inner, bindings=[Slot(1)])
    cb.execute_commands(inner, bindings=[Slot(1)])
    cb.fill_buffer(x, 2)
    assert pairs(cb) == [(2, 3), (1, 4)]


def test_the_policy_raise_sees_them(x, event):
    cb = CommandBuffer(hazards="raise").begin()
    cb.fill_buffer(x, 0)
    cb.signal_event(event)
    cb.fill_buffer(x, 1)
    with pytest.raises(FailedPreconditionError):
        cb.end()


def test_a_long_row_of_ordered_writes_costs_no_pairs(event):
    x = FakeBuffer(4)
    with CommandBuffer() as cb:
        cb.signal_event(event)
        for value in range(2000):
            cb.execution_barrier()
            cb.fill_buffer(x, value)
    assert cb.recording.hazards() == ()


def test_twenty_thousand_commands_between_signals_and_waits_are_looked_at_once_each(event):
    x, windows = FakeBuffer(64, "x"), 200
    with CommandBuffer(label="step") as cb:
        for _ in range(windows):
            for value in range(50):
                cb.fill_buffer(x, value)
            cb.signal_event(event)
            for value in range(50):
                cb.fill_buffer(x, value)
            cb.wait_events([event])
    (finding,) = cb.recording.hazards()
    # Each fill and the one before it: nothing waits until the wait, which is no help to the fills behind the signal.
    assert (finding.first, finding.second, finding.count) == (0, 1, 100 * windows - 1)
    assert str(finding).endswith(f", nor for {100 * windows - 2} more of fill_buffer and fill_buffer on `x`")


@pytest.mark.parametrize("seed", range(30))
def test_there_is_a_finding_exactly_where_a_conflict_has_no_path(seed):
    """Against the definition, byte by byte: a race somewhere means a finding, and each finding is a race."""
    numbers, buffers, events = random.Random(seed), [FakeBuffer(8) for _ in range(3)], [FakeEvent() for _ in range(2)]
    touched = []
    cb = CommandBuffer().begin()
    cb.signal_event(events[0])
    touched.append((None, None))
    for _ in range(14):
        kind = numbers.randrange(6)
        if kind == 0:
            cb.execution_barrier()
        elif kind == 1:
            cb.signal_event(numbers.choice(events))
            touched.append((None, None))
        elif kind == 2:
            cb.wait_events([numbers.choice(events)])
            touched.append((None, None))
        elif kind == 3:
            source, target = numbers.sample(range(3), 2)
            cb.copy_buffer(buffers[source], buffers[target])
            touched.append((source, target))
        else:
            target = numbers.randrange(3)
            cb.fill_buffer(buffers[target], 0)
            touched.append((None, target))
    cb.end()
    before = []
    for waits in cb.recording.dependencies:
        before.append(set(waits).union(*(before[wait] for wait in waits)))
    races = {
        (first, second)
        for second, (read, written) in enumerate(touched)
        for first in range(second)
        if first not in before[second]
        and (
            (touched[first][1] is not None and touched[first][1] in (read, written))
            or (written is not None and touched[first][0] == written)
        )
    }
    found = {(finding.first, finding.second) for finding in cb.recording.hazards()}
    assert found <= races
    assert bool(found) == bool(races)
