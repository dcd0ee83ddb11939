"""Host calls, rows of bytes, transient buffers and launch options in programs that are changed between replays."""

import numpy as np
import pytest

from hipgraph_cb import Slot
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError, UnimplementedError
from hipgraph_cb.recording.command_buffer import CommandBuffer

MODES = pytest.mark.parametrize("mode", ["graph", "stream"])
UPDATES = pytest.mark.parametrize("update", ["exec", "reinstantiate"])


def words(*values):
    return np.array(values, np.uint32)


def adding(host, number):
    """What adds a number to the words in a host buffer."""
    values = host.array.view(np.uint32)

    def add():
        values[:] += np.uint32(number)

    return add


class Chain:
    """x -> host -> a function -> y, with the buffer in memory of the host in a slot perhaps."""

    def __init__(self, device, number=10, slots=False, **options):
        self.device, self.slots = device, slots
        self.x, self.y, self.host = device.from_host(words(1, 2)), device.allocate(8), device.host_buffer(8)
        self.recording = self.recorded(number, **options)
        self.program = device.program(self.recording, **options)

    def recorded(self, number, **options):
        with self.device.command_buffer(label="chain", binding_capacity=1) as cb:
            place = Slot(0, 0, 8) if self.slots else self.host
            cb.copy_buffer(self.x, place)
            cb.execution_barrier()
            cb.host_call(adding(self.host, number), reads=[place], writes=[place])
            cb.execution_barrier()
            cb.copy_buffer(place, self.y)
        return cb.recording

    def replay(self, mode="graph", bindings=None):
        self.y.write(bytes(8))
        self.program.replay(mode=mode, bindings=bindings)
        return self.y.to_host(np.uint32).tolist()


@MODES
@UPDATES
def test_a_host_call_can_be_switched_off_and_on(device, mode, update):
    chain = Chain(device, update=update)
    assert chain.replay(mode) == [11, 12]
    for _ in range(2):
        chain.program[1].enabled = False
        assert chain.replay(mode) == [1, 2]
        chain.program[0].enabled = False
        chain.host.array.view(np.uint32)[:] = 5
        assert chain.replay(mode) == [5, 5]
        chain.program[1].enabled = chain.program[0].enabled = True
        assert chain.replay(mode) == [11, 12]


@UPDATES
def test_a_host_call_that_is_off_stays_so_when_slots_or_the_recording_change(device, update):
    chain = Chain(device, slots=True, update=update)
    assert chain.replay(bindings=[chain.host]) == [11, 12]
    chain.program[1].enabled = False
    assert chain.replay(bindings=[device.host_buffer(8)]) == [1, 2]
    chain.program.update(chain.recorded(20))
    assert chain.replay(bindings=[chain.host]) == [1, 2]
    chain.program[1].enabled = True
    assert chain.replay() == [21, 22]


@MODES
@UPDATES
def test_a_program_takes_other_functions(device, mode, update):
    chain = Chain(device, update=update)
    assert chain.replay(mode) == [11, 12]
    for number in (20, 30):
        chain.program.update(chain.recorded(number))
        assert chain.replay(mode) == [1 + number, 2 + number]


def test_what_was_launched_before_an_update_calls_the_function_of_before(device):
    chain = Chain(device, 10)
    seen = []
    values = chain.host.array.view(np.uint32)
    with device.command_buffer() as cb:
        cb.copy_buffer(chain.x, chain.host)
        cb.execution_barrier()
        cb.host_call(lambda: seen.append(values.tolist()))
        cb.execution_barrier()
        cb.copy_buffer(chain.host, chain.y)
    program = device.program(cb.recording)
    program.replay()
    program.update(chain.recorded(7))
    program.replay()
    device.synchronize()
    assert (seen, chain.y.to_host(np.uint32).tolist()) == ([[1, 2]], [8, 9])


@MODES
def test_a_nested_recording_with_a_host_call_can_be_switched_off(device, mode):
    chain = Chain(device)
    with device.command_buffer() as outer:
        outer.fill_buffer(chain.y, 0)
        outer.execution_barrier()
        outer.execute_commands(chain.recording)
    for enabled, found in ((True, [11, 12]), (False, [0, 0]), (True, [11, 12])):
        outer.program[1].enabled = enabled
        outer.replay(mode=mode)
        assert chain.y.to_host(np.uint32).tolist() == found


@MODES
@UPDATES
def test_rows_can_be_switched_off_and_be_those_of_another_recording(device, mode, update):
    x, y = device.from_host(np.arange(1, 17, dtype=np.uint8)), device.allocate(16)

    def recorded(width, pattern):
        with device.command_buffer(label="rows") as cb:
            cb.copy_buffer_2d(x, y, width=width, height=2, source_pitch=4, target_pitch=4)
            cb.fill_buffer_2d(y, pattern, pattern_length=1, width=width, height=2, pitch=4, offset=8)
        return cb.recording

    def found():
        y.write(bytes(16))
        program.replay(mode=mode)
        return y.to_host().tolist()

    program = device.program(recorded(2, 9), update=update)
    assert found() == [1, 2, 0, 0, 5, 6, 0, 0, 9, 9, 0, 0, 9, 9, 0, 0]
    program[0].enabled = False
    assert found() == [0] * 8 + [9, 9, 0, 0] * 2
    program.update(recorded(3, 7))
    assert found() == [0] * 8 + [7, 7, 7, 0] * 2
    program[0].enabled, program[1].enabled = True, False
    assert found() == [1, 2, 3, 0, 5, 6, 7, 0] + [0] * 8


def test_rows_and_host_calls_are_not_given_other_arguments(device):
    x, y = device.allocate(16), device.allocate(16)
    with device.command_buffer(label="step") as cb:
        cb.copy_buffer_2d(x, y, width=2, height=2)
        cb.host_call(print)
    for index, verb in enumerate(("copy_buffer_2d", "host_call")):
        with pytest.raises(UnimplementedError) as caught:
            cb.program[index].update(label="other")
        assert str(caught.value) == (
            f"update: {verb} cannot be given other arguments\n"
            f"  where: command {index} in 'step'\n"
            "  next: record again, and call program.update"
        )


@MODES
@UPDATES
def test_commands_on_transient_buffers_can_be_changed(device, kernels, mode, update):
    x, y = device.from_host(words(1, 2, 3, 4)), device.allocate(16)

    def recorded(scale):
        with device.command_buffer(label="transient") as cb:
            first, second = cb.transient(16, "first"), cb.transient(16, "second")
            cb.dispatch(kernels["scale_and_offset"], 1, args=[x, first, scale, 0])
            cb.execution_barrier()
            cb.dispatch(kernels["scale_and_offset"], 1, args=[first, second, 1, 1])
            cb.execution_barrier()
            cb.copy_buffer(second, y)
        return cb.recording

    def found():
        program.replay(mode=mode)
        return y.to_host(np.uint32).tolist()

    program = device.program(recorded(2), update=update)
    assert found() == [3, 5, 7, 9]
    program[0].update(args={2: 3})
    program[1].update(args={3: 2})
    assert found() == [5, 8, 11, 14]
    y.write(bytes(16))
    program[2].enabled = False
    assert found() == [0] * 4
    program[2].enabled = True
    program.update(recorded(10))
    assert found() == [11, 21, 31, 41]


@MODES
@UPDATES
@pytest.mark.parametrize("verb", ["dispatch", "copy", "fill"])
def test_what_is_off_may_have_had_memory_that_is_gone(device, kernels, mode, update, verb):
    x, y = device.from_host(words(1, 2, 3, 4)), device.allocate(16)
    with device.command_buffer(binding_capacity=1) as cb:
        if verb == "dispatch":
            cb.dispatch(kernels["scale_and_offset"], 1, args=[x, Slot(0), 2, 0])
        elif verb == "copy":
            cb.copy_buffer(x, Slot(0))
        else:
            cb.fill_buffer(Slot(0), 2)
    program = device.program(cb.recording, update=update)
    program.replay(bindings=[y], mode=mode)
    program[0].enabled = False
    z = device.from_host(words(9, 9, 9, 9))
    program.replay(bindings=[z], mode=mode)
    device.synchronize()
    y.close()
    program.replay(mode=mode)
    assert z.to_host(np.uint32).tolist() == [9] * 4
    program[0].enabled = True
    program.replay(mode=mode)
    expected = {"dispatch": [2, 4, 6, 8], "copy": [1, 2, 3, 4], "fill": [2] * 4}
    assert z.to_host(np.uint32).tolist() == expected[verb]


@MODES
@UPDATES
def test_a_dispatch_keeps_its_options_when_it_gets_other_arguments(device, kernels, mode, update):
    x, y = device.from_host(words(1, 2, 3, 4)), device.allocate(16)
    with device.command_buffer() as cb:
        cb.dispatch(kernels["scale_and_offset"], 1, args=[x, y, 2, 0], priority=3, cooperative=device.backend == "hip")
    program = device.program(cb.recording, update=update)
    program[0].update(args={2: 5})
    assert (program[0].command.priority, program[0].command.cooperative) == (3, device.backend == "hip")
    program.replay(mode=mode)
    assert y.to_host(np.uint32).tolist() == [5, 10, 15, 20]
    program[0].enabled = False
    y.write(bytes(16))
    program.replay(mode=mode)
    assert y.to_host(np.uint32).tolist() == [0] * 4


def test_an_update_is_refused_where_a_program_would_be(device, kernels, zeros):
    out = zeros(8)

    def recorded(**options):
        with CommandBuffer(label="step") as cb:
            cb.dispatch(kernels["workgroup_ids"], 2, args=[out], **options)
        return cb.recording

    if device.backend == "hsa":
        program = device.program(recorded())
        with pytest.raises(UnimplementedError) as caught:
            program.update(recorded(cooperative=True))
        assert caught.value.what == "program: the hsa backend cannot launch a kernel cooperatively"
    else:
        program = device.program(recorded(cooperative=True))
        with pytest.raises(OutOfRangeError) as refused:
            program[0].update(workgroup_count=1_000_000, args=[device.allocate(4_000_000)])
        assert refused.value.what == "a cooperative launch has more workgroups than the device holds at once"
    program.replay()
    assert out.to_host(np.uint32).tolist() == [0, 1]


@MODES
def test_a_priority_goes_with_a_shape_and_numbers_in_slots(device, kernels, mode):
    x, y = device.from_host(words(1, 2, 3, 4)), device.from_host(bytes(16))
    with device.command_buffer(binding_capacity=2) as cb:
        count, scale = Slot(0, type="u32"), Slot(1, type="u32")
        cb.dispatch(kernels["scale_and_offset"], count, args=[x, y, scale, 1], priority=-1)
    for table, found in (([1, 2], [3, 5, 7, 9]), ([0, 3], [3, 5, 7, 9]), ([1, 4], [5, 9, 13, 17])):
        cb.replay(bindings=table, mode=mode)
        assert y.to_host(np.uint32).tolist() == found


def test_a_cooperative_launch_has_no_shape_in_slots_but_may_have_numbers(device, kernels):
    x, y = device.from_host(words(1, 2, 3, 4)), device.from_host(bytes(16))
    cb = device.command_buffer(label="step", binding_capacity=1).begin()
    slot = Slot(0, type="u32")
    for shape in ({"workgroup_count": slot}, {"workgroup_count": 1, "dynamic_lds": slot}):
        with pytest.raises(InvalidArgumentError) as caught:
            cb.dispatch(kernels["scale_and_offset"], args=[x, y, 1, 1], cooperative=True, **shape)
        assert str(caught.value) == (
            "a cooperative launch has its shape in slots\n"
            "  where: command 0 in 'step'\n"
            "  allowed: a workgroup_count and dynamic_lds that are known\n"
            "  next: give them to program[index].update where they are to be others"
        )
    cb.dispatch(kernels["scale_and_offset"], 1, args=[x, y, slot, 1], cooperative=device.backend == "hip")
    cb.end()
    for scale in (2, 3):
        cb.replay(bindings=[scale])
        assert y.to_host(np.uint32).tolist() == [scale * value + 1 for value in (1, 2, 3, 4)]
