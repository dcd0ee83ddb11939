"""The recording as a value, and its resource table."""

import gc
import weakref

import pytest
from support.fakes import FakeBuffer, FakeDevice, FakeExecutable, saxpy
from support.kernels import clang_kernels

from hipgraph_cb.errors import FailedPreconditionError, HipGraphError, InvalidArgumentError
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Copy, Fill, Range, SlotRange, Update
from hipgraph_cb.recording.recording import Recording
from hipgraph_cb.recording.resources import ResourceTable


def record(size=64, label=None, pattern=1, capacity=0, barrier=True, kernel=None):
    x, y = FakeBuffer(size, label), FakeBuffer(64)
    with CommandBuffer(label=label, binding_capacity=capacity) as cb:
        cb.fill_buffer(x, pattern, length=64, label=label)
        if barrier:
            cb.execution_barrier()
        cb.copy_buffer(x, y, length=64)
        cb.dispatch(saxpy() if kernel is None else kernel, 1, 64, args=[y, x, 1.0, 1])
    return cb.recording


def test_recordings_are_equal_when_they_do_the_same_whatever_they_are_called():
    assert record(label="a") == record(label="b")
    assert hash(record(label="a")) == hash(record(label="b"))


@pytest.mark.parametrize(
    "other",
    [{"size": 65}, {"pattern": 2}, {"capacity": 1}, {"barrier": False}, {"kernel": saxpy("other")}],
)
def test_recordings_that_do_something_else_are_unequal(other):
    assert record() != record(**other)


def test_a_recording_is_a_sequence_of_its_commands():
    recording = record()
    assert len(recording) == 3
    assert list(recording) == list(recording.commands)
    assert recording[-1] == recording.commands[2]
    assert recording[:2] == recording.commands[:2]
    assert recording != list(recording)


def test_a_recording_is_immutable():
    recording = record()
    with pytest.raises(AttributeError, match="a Recording is immutable: cannot set 'label'"):
        recording.label = "x"
    with pytest.raises(AttributeError, match="a Recording is immutable: cannot delete 'commands'"):
        del recording.commands
    with pytest.raises(AttributeError):
        recording[0].label = "x"
    with pytest.raises(TypeError):
        recording.resources.bound[0] = None


def test_later_calls_cannot_reach_a_finished_recording():
    commands, starts = [Fill(Range(0, 0, 4), b"\0")], [0]
    recording = Recording(commands, layer_starts=starts)
    commands.clear()
    starts.append(7)
    assert len(recording) == 1
    assert recording.layers == ((0,),)


def test_the_repr_counts_what_is_baked_in():
    assert repr(record(label="step", capacity=1)) == (
        "<Recording 'step': 3 commands, 2 layers, 2 buffers, 1 executable, 1 slot>"
    )


def test_commands_of_different_types_are_never_equal():
    assert Range(0, 1, 2) != SlotRange(0, 1, 2)
    assert Range(0, 1, 2) != (0, 1, 2)
    assert Range(0, 1, 2) == Range(0, 1, 2)
    place = Range(0, 0, 4)
    assert Fill(place, b"abcd") != Update(place, b"abcd")
    assert Copy(place, place) == Copy(place, place)
    assert hash(Range(0, 1, 2)) == hash(Range(0, 1, 2))


def test_resources_are_numbered_in_the_order_of_first_use():
    recording = record(label="x")
    assert [(entry.id, entry.size, entry.label) for entry in recording.resources.buffers.values()] == [
        (0, 64, "x"),
        (1, 64, None),
    ]
    assert list(recording.resources.executables) == [2]
    assert recording.resources.buffers[1].name == "buffer 1"


def test_the_recording_keeps_buffers_and_executables_alive():
    x, kernel = FakeBuffer(64), saxpy()
    watched = [weakref.ref(x), weakref.ref(kernel.executable)]
    with CommandBuffer() as cb:
        cb.dispatch(kernel, 1, 64, args=[x, None, 1.0, 1])
    recording = cb.recording
    del x, kernel, cb
    gc.collect()
    assert all(reference() is not None for reference in watched)
    del recording
    gc.collect()
    assert [reference() for reference in watched] == [None, None]


def test_a_view_keeps_its_buffer_alive_through_the_recording():
    x = FakeBuffer(64)
    watched = weakref.ref(x)
    with CommandBuffer() as cb:
        cb.fill_buffer(x.view(0, 16), 0)
    del x
    gc.collect()
    assert watched() is not None
    assert cb.recording.resources.bound == {0: watched()}


def test_a_buffer_whose_address_in_python_is_used_again_is_another_buffer():
    cb = CommandBuffer().begin()
    for size in range(4, 404, 4):
        cb.fill_buffer(FakeBuffer(size), 0)
    cb.end()
    assert [entry.size for entry in cb.recording.resources.buffers.values()] == list(range(4, 404, 4))


def test_a_failed_command_buffer_holds_nothing():
    x = FakeBuffer(64)
    watched = weakref.ref(x)
    cb = CommandBuffer()
    with pytest.raises(KeyError), cb:
        cb.fill_buffer(x, 0)
        raise KeyError
    cb.failure = None
    del x
    gc.collect()
    assert watched() is None


def test_a_buffer_and_an_executable_of_another_device_are_refused():
    here, there = FakeDevice("here"), FakeDevice("there", 1)
    cb = CommandBuffer(owner=here).begin()
    cb.fill_buffer(FakeBuffer(64, device=here), 0)
    with pytest.raises(InvalidArgumentError) as caught:
        cb.fill_buffer(FakeBuffer(64, "y", device=there), 0)
    assert str(caught.value) == (
        "`y` belongs to another device\n"
        "  where: command 1\n"
        "  found: a buffer of there (device 1)\n"
        "  allowed: a buffer of here (device 0), whose command buffer this is"
    )
    kernel = saxpy()
    kernel.executable.device = there
    with pytest.raises(InvalidArgumentError, match="executable 1 belongs to another device"):
        cb.dispatch(kernel, 1, 64, args=[None, None, 1.0, 1])


def test_a_closed_buffer_and_a_closed_executable_are_refused():
    cb = CommandBuffer().begin()
    with pytest.raises(FailedPreconditionError) as caught:
        cb.fill_buffer(FakeBuffer(64, "y", closed=True), 0)
    assert str(caught.value) == (
        "`y` is closed\n  where: command 0\n  found: a closed buffer\n  next: record with a buffer that is still open"
    )
    kernel = saxpy()
    kernel.executable.closed = True
    with pytest.raises(FailedPreconditionError, match="executable 0 is closed"):
        cb.dispatch(kernel, 1, 64, args=[None, None, 1.0, 1])


def completed(table, replacements):
    with pytest.raises(HipGraphError) as caught:
        table.complete(replacements)
    return str(caught.value)


def test_a_table_is_completed_by_id_or_label_with_what_fits():
    recording = record(label="x")
    other, code = FakeBuffer(100), FakeExecutable(recording.resources.executables[2].verified)
    objects = recording.resources.complete({"x": other, 2: code})
    assert objects[0] is other
    assert objects[1] is recording.resources.bound[1]
    assert objects[2] is code


def test_what_does_not_fit_a_table_is_refused():
    x, y = FakeBuffer(64, "x"), FakeBuffer(64, "x")
    kernels = clang_kernels()
    with CommandBuffer() as cb:
        cb.copy_buffer(x, y)
        cb.dispatch(kernels["saxpy"], 1, 64, args=[x, y, 1.0, 1])
    table = cb.recording.resources
    assert completed(table, {"x": x}) == (
        "the label 'x' names several resources of the recording\n  found: ids 0, 1\n  next: use the id as the key"
    )
    assert completed(table, {"z": x}) == (
        "the recording has no resource 'z'\n  allowed: an id or a label of 0 `x`, 1 `x`, 2 `k_cl`"
    )
    assert completed(table, {0: FakeBuffer(63)}) == (
        "the buffer for resource 0, `x`, is smaller than the recorded one\n"
        "  found: 63 bytes\n"
        "  allowed: at least 64 bytes"
    )
    assert completed(table, {0: x.view(0, 64)}) == (
        "resource 0 of the recording, `x`, is a buffer\n"
        "  found: FakeView\n"
        "  allowed: a whole buffer of at least 64 bytes"
    )
    assert completed(table, {2: saxpy().executable}).startswith(
        "resource 2 of the recording, `k_cl`, is other code\n  found: code object with SHA-256 "
    )
    loaded = ResourceTable(table.buffers, table.executables)
    assert completed(loaded, {0: x}) == (
        "nothing is given for resource 1 of the recording\n  found: no object for `x`\n  next: pass resources={1: ...}"
    )
    assert table.complete() == table.bound


def test_commands_are_the_same_in_whatever_order_they_are_asked_for(cb, x, y):
    kernel = clang_kernels()["saxpy"]
    for index in range(4):
        cb.dispatch(kernel, 4, 256, args=[x, y, 1.0, index], label=None if index % 2 else f"step {index}")
        cb.fill_buffer(x, index)
    cb.end()
    recording = cb.recording
    places = [recording.where(index) for index in range(8)]
    assert [recording[index] for index in range(8)] == list(recording.commands) == list(recording)
    assert places[:3] == ["command 0 'step 0' in 'step'", "command 1 in 'step'", "command 2 in 'step'"]
    assert recording[0] == recording.commands[0] == recording[:1][0]
