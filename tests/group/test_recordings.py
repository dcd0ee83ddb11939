"""Recordings that span the devices of a group: where each command runs, what waits for what, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from support.devices import OF_ONE_TARGET, no_peer_access

from hipgraph_cb import Slot, open_device, open_devices
from hipgraph_cb.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
    UnimplementedError,
)
from hipgraph_cb.recording.resources import HOST


@pytest.fixture
def kernels(group, code):
    return group.load(code("gfx942"))


@pytest.fixture
def apart(backend):
    """Three devices that cannot access each other's memory."""
    with no_peer_access(backend), open_devices(backend, devices=OF_ONE_TARGET[:3]) as group:
        yield group


def words(device, *values):
    return device.from_host(np.array(values, np.uint32))


def read(buffer):
    return buffer.to_host(np.uint32).tolist()


def launches(program):
    """For each launch of a replay the number of its device and how many commands it has."""
    return [(part.member, len(part.program.recording)) for part in program._parts.parts]


@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_each_kernel_runs_where_its_code_is_and_waits_for_the_device_before_it(group, kernels, mode):
    """A chain through all devices: each multiplies by three and adds its number."""
    buffers = [words(device, *[1] * 4) for device in group]
    with group.command_buffer(label="chain") as cb:
        for number in range(4):
            source = buffers[number - 1] if number else buffers[0]
            cb.dispatch(kernels.on(number)["scale_and_offset"], 1, args=[source, buffers[number], 3, number])
            cb.execution_barrier()
    assert [entry.device for entry in cb.recording.resources.executables.values()] == [0, 1, 2, 3]
    value = 1
    for _ in range(3):
        cb.replay(mode=mode)
        value, expected = 3 * value, []
        for number in range(4):
            value = value if number == 0 else 3 * value + number
            expected.append(value)
        value = expected[0]
    assert [read(buffer)[0] for buffer in buffers] == expected


def test_what_needs_no_other_device_is_one_launch_of_each(group, kernels):
    buffers = [words(device, 1, 2, 3, 4) for device in group]
    with group.command_buffer() as cb:
        for _ in range(5):
            for number, buffer in enumerate(buffers):
                cb.dispatch(kernels.on(number)["scale_and_offset"], 1, args=[buffer, buffer, 2, 0])
            cb.execution_barrier()
    own = [words(group[1], 1, 2, 3, 4)]
    with group.command_buffer() as alone:
        alone.dispatch(kernels.on(1)["scale_and_offset"], 1, args=[own[0], own[0], 2, 0])
    assert launches(alone.program) == [(1, 1)]
    cb.replay()
    group.synchronize()
    assert [read(buffer) for buffer in buffers] == [[32, 64, 96, 128]] * 4


def test_a_copy_runs_on_the_device_of_its_source(group):
    source, target = words(group[2], 1, 2), words(group[1], 0, 0)
    with group.command_buffer() as cb:
        cb.copy_buffer(source, target)
    cb.replay()
    assert read(target) == [1, 2]
    assert launches(cb.program)[0][0] == 2
    assert group[2].can_access(group[1])


def test_without_peer_access_each_launch_names_memory_of_its_own_device_and_of_the_host(apart):
    source, through, target = words(apart[0], 1, 2), words(apart[2], 0, 0), words(apart[1], 0, 0)
    with apart.command_buffer() as cb:
        cb.copy_buffer(source, through)
        cb.execution_barrier()
        cb.copy_buffer(through, target)
    for value in (5, 6):
        source.write(np.array([value, value], np.uint32))
        cb.replay()
        assert read(target) == [value, value]
    for part in cb.program._parts.parts:
        for entry in part.program.recording.resources.buffers.values():
            assert entry.memory == HOST or entry.device == part.member


def test_a_kernel_that_cannot_access_the_memory_of_another_device_is_refused(apart, code):
    kernel = apart.load(code("gfx942")).on(1)["scale_and_offset"]
    x = apart[0].from_host(np.zeros(4, np.uint32), label="x")
    cb = apart.command_buffer(label="far").begin()
    cb.dispatch(kernel, 1, args=[x, apart[1].allocate(16), 1, 1])
    with pytest.raises(FailedPreconditionError) as raised:
        cb.end()
    assert str(raised.value) == (
        "the device that runs a command cannot access memory of another one\n"
        "  where: command 0 in 'far'\n"
        "  found: `x` of member 0, and the command runs on member 1\n"
        "  allowed: memory of its own, of members that it can access, and of the host\n"
        "  next: copy it to the member with copy_buffer, which goes through the host where it must"
    )


def test_a_slot_cannot_be_given_memory_that_its_command_cannot_access(apart, code):
    kernel = apart.load(code("gfx942")).on(1)["scale_and_offset"]
    y = words(apart[1], 0, 0, 0, 0)
    with apart.command_buffer(binding_capacity=1) as cb:
        cb.dispatch(kernel, 1, args=[Slot(0, 0, 16), y, 2, 1])
    with pytest.raises(InvalidArgumentError) as raised:
        cb.replay(bindings=[words(apart[0], 1, 2, 3, 4)])
    assert raised.value.what == "the buffer in slot 0 belongs to another device"
    assert raised.value.where == "command 0"
    cb.replay(bindings=[words(apart[1], 1, 2, 3, 4)])
    assert read(y) == [3, 5, 7, 9]


def test_a_nested_recording_runs_on_every_device_that_it_has_work_for(group, kernels):
    x, y, z = words(group[0], *[1] * 4), words(group[1], *[0] * 4), words(group[2], *[0] * 4)
    with group.command_buffer(binding_capacity=1) as inner:
        inner.dispatch(kernels.on(0)["scale_and_offset"], 1, args=[Slot(0, 0, 16), x, 2, 1])
        inner.execution_barrier()
        inner.dispatch(kernels.on(1)["scale_and_offset"], 1, args=[x, y, 10, 0])
    with group.command_buffer() as cb:
        cb.fill_buffer(z, 4)
        cb.execution_barrier()
        cb.execute_commands(inner, bindings=[z])
        cb.execution_barrier()
        cb.copy_buffer(y, z)
    cb.replay()
    assert (read(x), read(y), read(z)) == ([9] * 4, [90] * 4, [90] * 4)


def test_two_recordings_of_two_devices_are_ordered_by_an_event(group, kernels):
    done = group[0].event("done")
    x, y = words(group[0], 1, 2, 3, 4), words(group[1], 0, 0, 0, 0)
    with group[0].command_buffer() as first:
        for _ in range(10):
            first.dispatch(kernels.on(0)["scale_and_offset"], 1, args=[x, x, 2, 1])
            first.execution_barrier()
        first.signal_event(done)
    with group[1].command_buffer() as second:
        second.wait_events([done])
        second.dispatch(kernels.on(1)["scale_and_offset"], 1, args=[x, y, 1, 0])
    first.replay()
    second.replay()
    assert read(y) == [1024 * value + 1023 for value in (1, 2, 3, 4)]


def test_a_wait_for_what_nobody_signalled_is_refused_before_anything_is_launched(group):
    x, y = words(group[0], 1), words(group[1], 1)
    late = group[1].event("late")
    with group.command_buffer(label="both") as cb:
        cb.fill_buffer(x, 5)
        cb.execution_barrier()
        cb.wait_events([late])
        cb.fill_buffer(y, 5)
    with pytest.raises(FailedPreconditionError) as raised:
        cb.replay()
    assert str(raised.value) == (
        "replay: the recording waits for event `late`, which is not signalled\n"
        "  where: program `both`\n"
        "  next: replay a recording that signals it first"
    )
    assert (read(x), read(y)) == ([1], [1])
    with group[1].command_buffer() as signals:
        signals.signal_event(late)
    signals.replay()
    cb.replay()
    assert (read(x), read(y)) == ([5], [5])


def test_replays_and_other_work_of_the_devices_follow_each_other(group, kernels):
    """Work that one device has of its own is done before a replay that another device begins."""
    own = words(group[1], 1, 1, 1, 1)
    x, y, z = words(group[0], 0), words(group[1], 0), words(group[0], 0)
    with group.command_buffer() as cb:
        cb.copy_buffer(x, y)
        cb.execution_barrier()
        cb.copy_buffer(y, z)
    writers = []
    for value in (3, 4):
        with group[1].command_buffer() as writer:
            for _ in range(20):  # long enough that a replay which did not wait would be done before
                writer.dispatch(kernels.on(1)["scale_and_offset"], 1, args=[own, own, 1, 0])
                writer.execution_barrier()
            writer.fill_buffer(x, value)
        writers.append(writer)
    for value, writer in zip((3, 4), writers, strict=True):
        writer.replay()
        cb.replay()
        assert read(z) == [value]


def test_a_stream_of_the_group_has_one_of_every_device(group):
    x, y = words(group[0], 7), words(group[1], 0)
    with group.command_buffer() as cb:
        cb.copy_buffer(x, y)
    with group.stream("side") as stream:
        cb.replay(stream)
        stream.synchronize()
        assert [stream.on(number).device for number in range(4)] == list(group)
    assert read(y) == [7]
    with pytest.raises(InvalidArgumentError) as raised:
        cb.replay(group[0].stream())
    assert raised.value.what == "replay: not a stream of the group"


def test_a_transient_buffer_is_on_the_device_that_it_is_for(group, kernels):
    x, y = words(group[0], 1, 2, 3, 4), words(group[3], 0, 0, 0, 0)
    with group.command_buffer() as cb:
        between = cb.transient(16, "between", device=group[3])
        cb.copy_buffer(x, between)
        cb.execution_barrier()
        cb.dispatch(kernels.on(3)["scale_and_offset"], 1, args=[between, y, 2, 0])
    cb.replay()
    assert read(y) == [2, 4, 6, 8]
    (entry,) = [each for each in cb.recording.resources.buffers.values() if each.label == "between"]
    assert entry.device == 3
    cb = group.command_buffer().begin()
    with pytest.raises(OutOfRangeError):
        cb.transient(16, device=4)
    with pytest.raises(InvalidArgumentError) as raised:
        group[0].command_buffer(label="one").begin().transient(16, device=group[1])
    assert raised.value.what == "device= names another device than that of the command buffer"


def test_memory_of_a_device_outside_the_group_is_refused(group):
    with open_device(group.backend, device=OF_ONE_TARGET[0]) as other:
        cb = group.command_buffer(label="mine").begin()
        with pytest.raises(InvalidArgumentError) as raised:
            cb.fill_buffer(other.allocate(16, "theirs"), 0)
    assert raised.value.what == "`theirs` belongs to another device"
    assert raised.value.allowed == (
        f"a buffer of device group of 4 {group.backend} devices, whose command buffer this is"
    )


def test_another_buffer_is_taken_by_a_program_if_it_is_of_the_same_device(group):
    x, y = group[0].from_host(np.ones(1, np.uint32), label="x"), group[1].allocate(4, "y")
    with group.command_buffer() as cb:
        cb.copy_buffer(x, y)
    other = words(group[0], 9)
    with group.program(cb.recording, resources={"x": other}) as program:
        program.replay()
        assert read(y) == [9]
        assert program.group is group
        assert program.device is group[0]
    with pytest.raises(InvalidArgumentError) as raised:
        group.program(cb.recording, resources={"x": words(group[2], 9)})
    assert str(raised.value) == (
        "program: a resource is of another member than the one that it was recorded on\n"
        "  where: buffer `x`\n"
        "  found: member 2\n"
        "  allowed: member 0"
    )


def test_commands_can_be_changed_and_switched_off_on_each_device(group, kernels):
    x, y, z = words(group[0], 1, 1, 1, 1), words(group[1], 0, 0, 0, 0), words(group[1], 0, 0, 0, 0)
    with group.command_buffer() as cb:
        cb.fill_buffer(x, 2)
        cb.execution_barrier()
        cb.dispatch(kernels.on(1)["scale_and_offset"], 1, args=[x, y, 10, 0])
    program = cb.program
    program[0].enabled = False
    assert not program[0].enabled
    x.write(np.full(4, 3, np.uint32))
    program.replay()
    assert read(y) == [30] * 4
    program[1].update(args=[x, z, 5, 1])
    program.replay()
    assert read(z) == [16] * 4
    program[0].enabled = True
    program.replay()
    assert read(z) == [11] * 4
    program.update(cb.recording)
    y.write(np.zeros(4, np.uint32))
    program.replay()
    assert read(y) == [20] * 4


def test_what_a_program_of_several_devices_cannot_do_is_refused_by_name(group):
    x, y = words(group[0], 1), words(group[1], 1)
    with group.command_buffer(label="two") as cb:
        cb.copy_buffer(x, y)
    for call in (lambda: cb.program.profile(1), cb.program.runtime_dot, lambda: cb.replay(check="nan")):
        with pytest.raises(UnimplementedError, match="a program of several devices cannot do this"):
            call()


def test_a_program_can_be_closed_while_its_launches_are_in_flight(group, kernels):
    buffers = [words(device, 1, 1, 1, 1) for device in group]
    with group.command_buffer() as cb:
        for _ in range(8):
            for number, buffer in enumerate(buffers):
                cb.dispatch(kernels.on(number)["scale_and_offset"], 1, args=[buffers[number - 1], buffer, 1, 0])
                cb.execution_barrier()
    cb.replay()
    cb.program.close()
    with pytest.raises(FailedPreconditionError):
        cb.replay()
    group.synchronize()
    assert [read(buffer) for buffer in buffers] == [[1] * 4] * 4
