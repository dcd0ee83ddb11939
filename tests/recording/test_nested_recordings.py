"""Recordings within recordings: ids, slots, what is checked when."""

import pytest
from support.fakes import FakeBuffer, FakeDevice, FakeEvent, saxpy

from hipgraph_cb.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    ResourceExhaustedError,
)
from hipgraph_cb.recording.accesses import AccessReader
from hipgraph_cb.recording.bindings import resolve
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Copy, ExecuteCommands, Fill, Range, SlotRange
from hipgraph_cb.recording.recording import Recording
from hipgraph_cb.recording.resources import Slot


def nested(record, capacity=0, label="inner"):
    with CommandBuffer(label=label, binding_capacity=capacity) as cb:
        record(cb)
    return cb.recording


def test_the_nested_commands_take_the_ids_of_the_outer_table(x, y):
    inner = nested(lambda cb: cb.copy_buffer(y, x))
    with CommandBuffer() as cb:
        cb.fill_buffer(x, 0)
        cb.execute_commands(inner, label="run")
        cb.execute_commands(inner)
    recording = cb.recording
    assert recording[1:] == (ExecuteCommands(2, (), "run"), ExecuteCommands(2))
    assert inner[0] == Copy(Range(0, 0, 4096), Range(1, 0, 4096))
    adopted = recording.resources.recordings[2].recording
    assert adopted[0] == Copy(Range(1, 0, 4096), Range(0, 0, 4096))
    assert adopted.resources.bound[1] is y
    assert recording.resources.bound[1] is y
    assert (adopted.label, recording.resources.recordings[2].name) == ("inner", "`inner`")
    assert recording.depth == 1


def test_a_command_buffer_is_taken_as_its_recording(x):
    with CommandBuffer() as inner:
        inner.fill_buffer(x, 0)
    with CommandBuffer() as cb:
        cb.execute_commands(inner)
        with pytest.raises(FailedPreconditionError, match="recording: the command buffer is in state RECORDING"):
            cb.execute_commands(cb)
    assert len(cb.recording) == 1


def test_an_empty_recording_records_nothing():
    with CommandBuffer() as cb:
        cb.execute_commands(nested(lambda cb: None))
    assert len(cb.recording) == 0
    assert not cb.recording.resources.recordings


def test_slots_are_bound_to_memory_or_to_slots_of_the_outer_recording(cb, x):
    inner = nested(lambda each: each.copy_buffer(Slot(0, 0, 64), Slot(2, 64, 64)), capacity=3)
    cb.execute_commands(inner, bindings=[x.view(128, 256), None, Slot(1, 32), x])
    cb.end()
    assert cb.recording[0] == ExecuteCommands(0, (Range(1, 128, 256), None, SlotRange(1, 32, None)))
    use = cb.recording.slots[1]
    assert (use.end, use.commands, use.late) == (160, (0,), (0,))
    accesses = AccessReader(cb.recording).of(0)
    assert [(each.place, each.reads, each.writes) for each in accesses] == [
        (Range(1, 128, 64), True, False),
        (SlotRange(1, 96, 64), False, True),
    ]


def test_a_misfit_of_a_nested_copy_shows_when_the_slots_are_known(cb, x):
    inner = nested(lambda each: each.copy_buffer(Slot(0), Slot(1)), capacity=2)
    cb.execute_commands(inner, bindings=[x.view(0, 64), Slot(0)])
    with pytest.raises(InvalidArgumentError) as caught:
        cb.execute_commands(inner, bindings=[x.view(0, 64), x.view(32, 64)], label="twice")
    assert str(caught.value) == (
        "source and target of the copy overlap\n"
        "  where: command 1 'twice' in 'step', command 0 in 'inner'\n"
        "  found: bytes 0 to 64 and 32 to 96 of one buffer\n"
        "  next: copy through a scratch buffer"
    )
    cb.end()
    table = resolve(cb.recording, [FakeBuffer(64)])
    assert table[0].length == 64
    with pytest.raises(InvalidArgumentError) as caught:
        resolve(cb.recording, [FakeBuffer(48)])
    assert str(caught.value) == (
        "source and target of the copy have different lengths\n"
        "  where: command 0 in 'step', command 0 in 'inner'\n"
        "  found: source 64 bytes, target 48 bytes\n"
        "  next: pass length="
    )
    with pytest.raises(InvalidArgumentError, match="overlap"):
        resolve(cb.recording, [x.view(32, 64)])


@pytest.mark.parametrize(
    ("bindings", "kind", "message"),
    [
        (None, InvalidArgumentError, "execute_commands: the nested recording uses more slots than are bound"),
        ([Slot(0)], OutOfRangeError, "execute_commands: the nested recording uses more slots than are bound"),
        ([None, Slot(0)], InvalidArgumentError, "the binding of slot 0 is no device memory"),
        ([FakeBuffer(4), FakeBuffer(64)], OutOfRangeError, "the binding in slot 0 is too small"),
        ([Slot(0, 0, 4), Slot(1)], OutOfRangeError, "the binding of slot 0 of the nested recording is too small"),
        ([Slot(0, 2), Slot(1)], InvalidArgumentError, "the binding of slot 0 of the nested recording is misaligned"),
        ([Slot(9), Slot(1)], OutOfRangeError, "slot 9 is outside the binding table"),
    ],
)
def test_bindings_that_the_nested_commands_cannot_use_are_refused(cb, bindings, kind, message):
    def record(each):
        each.fill_buffer(Slot(0, 4, 8), 1)
        each.fill_buffer(Slot(1), 1)

    inner = nested(record, capacity=2)
    with pytest.raises(kind) as caught:
        cb.execute_commands(inner, bindings=bindings)
    assert str(caught.value).splitlines()[0] == message
    assert "command 0 in 'step'" in caught.value.where
    cb.end()
    assert not cb.recording.resources.recordings


def test_what_is_no_recording_and_what_has_no_live_objects_is_refused(cb, x):
    with pytest.raises(InvalidArgumentError, match="execute_commands: not a recording"):
        cb.execute_commands(x)
    loaded = nested(lambda each: each.fill_buffer(x, 0))
    table = loaded.resources
    dead = Recording(loaded.commands, resources=type(table)(table.buffers))
    with pytest.raises(NotFoundError) as caught:
        cb.execute_commands(dead)
    assert str(caught.value) == (
        "execute_commands: nothing is given for resource 0 of the nested recording\n"
        "  where: command 0 in 'step'\n"
        "  found: a recording without live objects, as one that was loaded from a file\n"
        "  next: record it with a command buffer of this device"
    )


def test_memory_of_another_device_is_refused_with_its_place(x):
    theirs = FakeBuffer(16, "theirs", device=FakeDevice("other", 1))
    inner = nested(lambda each: each.fill_buffer(theirs, 0))
    cb = CommandBuffer(owner=FakeDevice()).begin()
    with pytest.raises(InvalidArgumentError) as caught:
        cb.execute_commands(inner)
    assert caught.value.where == "command 0, resource 0 of the nested recording 'inner'"


def test_nesting_ends_somewhere(x):
    recording = nested(lambda cb: cb.fill_buffer(x, 0))
    with pytest.raises(ResourceExhaustedError, match="nested too deep"):
        for _ in range(100):
            before = recording
            recording = nested(lambda cb, inner=before: cb.execute_commands(inner))
    assert recording.depth == 16


def test_nested_in_nested_keeps_one_id_for_one_buffer(x, y):
    event = FakeEvent()
    deepest = nested(lambda cb: cb.fill_buffer(Slot(0, 0, 16), 1), capacity=1)

    def record(cb):
        cb.dispatch(saxpy(), 1, 64, args=[y, x, 1.0, 1])
        cb.execute_commands(deepest, bindings=[x])
        cb.signal_event(event)

    with CommandBuffer() as cb:
        cb.fill_buffer(x, 0)
        cb.execute_commands(nested(record))
        cb.wait_events([event])
    table = cb.recording.resources
    assert [entry.size for entry in table.buffers.values()] == [4096, 4096]
    middle = table.recordings[cb.recording[1].recording].recording
    assert middle[1].bindings == (Range(0, 0, 4096),)
    innermost = middle.resources.recordings[middle[1].recording].recording
    assert innermost[0] == Fill(SlotRange(0, 0, 16), bytes([1, 0, 0, 0]))
    assert cb.recording.depth == 2


def test_events_of_a_nested_recording_order_the_outer_one():
    event, x = FakeEvent(), FakeBuffer(16)

    def signals(cb):
        cb.fill_buffer(x, 0)
        cb.signal_event(event)

    def waits(cb):
        cb.wait_events([event])
        cb.fill_buffer(x, 0)

    def record(*steps):
        with CommandBuffer() as cb:
            for step in steps:
                cb.fill_buffer(x, 0) if step == "." else step(cb)
        return cb.recording

    def run_signals(cb):
        cb.execute_commands(nested(signals))

    def run_waits(cb):
        cb.execute_commands(nested(waits))

    assert record(".", run_signals, ".", lambda cb: cb.wait_events([event]), ".").dependencies == (
        (),
        (),
        (),
        (1,),
        (3,),
    )
    recording = record(".", lambda cb: cb.signal_event(event), run_waits, ".")
    assert recording.dependencies == ((), (0,), (1,), ())
    assert recording._event_use.awaited == set()
    assert record(run_waits)._event_use.awaited == {0}
    with pytest.raises(FailedPreconditionError, match="execute_commands: event 0 was reset before"):
        record(lambda cb: cb.reset_event(event), run_waits)


def test_equality_looks_into_nested_recordings(x):
    def outer(pattern):
        with CommandBuffer() as cb:
            cb.execute_commands(nested(lambda each: each.fill_buffer(x, pattern)))
        return cb.recording

    assert outer(1) == outer(1)
    assert hash(outer(1)) == hash(outer(1))
    assert outer(1) != outer(2)
    assert "1 nested recording" in repr(outer(1))
