"""Programs whose commands get other arguments, are switched off, or are those of another recording."""

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

from hipgraph_cb import Slot
from hipgraph_cb.errors import (
    CheckFailedError,
    FailedPreconditionError,
    HipGraphError,
    InvalidArgumentError,
    NoSuchIndexError,
    NotFoundError,
    OutOfRangeError,
    UnimplementedError,
)
from hipgraph_cb.opening import process_choice, virtual_runtime

FIXTURES = Path(__file__).parent.parent / "fixtures" / "conformance"
MODES = pytest.mark.parametrize("mode", ["graph", "stream"])
UPDATES = pytest.mark.parametrize("update", ["exec", "reinstantiate"])
SETTERS = (
    "hipGraphExecKernelNodeSetParams",
    "hipGraphExecMemsetNodeSetParams",
    "hipGraphExecMemcpyNodeSetParams1D",
)


def words(*values):
    return np.array(values, np.uint32)


class Step:
    """One command of each kind that can be changed, in a chain: x -> scaled -> copied, beside a fill and an update."""

    def __init__(self, device, kernels, **options):
        self.device, self.kernels = device, kernels
        self.x, self.other = device.from_host(words(1, 2, 3, 4)), device.from_host(words(5, 6, 7, 8))
        self.scaled, self.copied, self.filled, self.updated = (device.from_host(bytes(16)) for _ in range(4))
        with device.command_buffer(label="step", **options) as cb:
            self.record(cb, self.x, 2, 1, 9, words(1, 1, 1, 1))
        self.recording = cb.recording
        self.program = cb.program

    def record(self, cb, x, scale, add, pattern, data):
        cb.dispatch(self.kernels["scale_and_offset"], 1, args=[x, self.scaled, scale, add], label="scale")
        cb.fill_buffer(self.filled, pattern, label="fill")
        cb.update_buffer(self.updated, data, label="update")
        cb.execution_barrier()
        cb.copy_buffer(self.scaled, self.copied, label="copy")

    def recorded(self, *numbers, **options):
        with self.device.command_buffer(label="step", **options) as cb:
            self.record(cb, *numbers)
        return cb.recording

    def replay(self, mode="graph"):
        """The words that one replay leaves in copied, filled, updated."""
        self.clear()
        self.program.replay(mode=mode)
        return self.found()

    def clear(self):
        for buffer in (self.scaled, self.copied, self.filled, self.updated):
            buffer.write(bytes(16))

    def found(self):
        return [buffer.to_host(np.uint32).tolist() for buffer in (self.copied, self.filled, self.updated)]


@pytest.fixture
def step(device, kernels):
    return Step(device, kernels)


FIRST = [[3, 5, 7, 9], [9] * 4, [1] * 4]


@MODES
@UPDATES
def test_each_kind_of_command_takes_other_arguments(device, kernels, mode, update):
    step = Step(device, kernels, update=update)
    assert step.replay(mode) == FIRST
    program = step.program
    program[0].update(args=[step.other, step.scaled, 3, 0])
    assert step.replay(mode) == [[15, 18, 21, 24], *FIRST[1:]]
    program[0].update(args={2: 10, 0: step.x})
    assert step.replay(mode) == [[10, 20, 30, 40], *FIRST[1:]]
    program[1].update(pattern=np.uint32(7))
    program[2].update(data=words(4, 3, 2, 1))
    assert step.replay(mode) == [[10, 20, 30, 40], [7] * 4, [4, 3, 2, 1]]
    program[3].update(source=step.other)
    program[-3].update(target=step.filled.view(4, 8), pattern=5, pattern_length=1)
    assert step.replay(mode) == [[5, 6, 7, 8], [0, 0x05050505, 0x05050505, 0], [4, 3, 2, 1]]
    assert program[1].command == program.recording[1]
    assert step.recording[0] != program.recording[0]  # the recording itself never changes


@MODES
def test_a_dispatch_takes_another_shape(device, kernels, zeros, mode):
    shape = device.load(FIXTURES / f"shapes.{device.target.processor}.hsaco")["shape"]
    out = zeros(16)
    with device.command_buffer() as cb:
        cb.dispatch(shape, 1, args=[out, None, 1], dynamic_lds=4)
    for count, lds_words in (((2, 3, 4), 8), (7, 1), ((1, 1, 2), 1024)):
        cb.program[0].update(workgroup_count=count, dynamic_lds=4 * lds_words, args={2: lds_words})
        out.write(bytes(16))
        cb.replay(mode=mode)
        x, y, z = (*count, 1, 1)[:3] if isinstance(count, tuple) else (count, 1, 1)
        assert out.to_host(np.uint32).tolist() == [x, y, z, x * y * z]


def test_counts_in_memory_and_bindings_can_be_others(device, kernels, zeros):
    one, two = device.from_host(words(1, 1, 1)), device.from_host(words(2, 1, 1))
    first, second = zeros(16), zeros(16)
    with device.command_buffer() as cb:
        cb.dispatch_indirect(kernels["workgroup_ids"], one, bindings=[first])
    cb.program[0].update(workgroup_count=two, bindings=[second])
    second.write(words(9, 9, 9, 9))
    cb.replay()
    assert second.to_host(np.uint32).tolist() == [0, 1, 9, 9]
    assert first.to_host(np.uint32).tolist() == [0] * 4


@MODES
@UPDATES
def test_a_program_takes_another_recording_of_the_same_structure(device, kernels, mode, update):
    step = Step(device, kernels, update=update)
    assert step.replay(mode) == FIRST
    for scale, pattern in ((3, 1), (4, 2)):
        recording = step.recorded(step.other, scale, 0, pattern, words(pattern, 0, 0, 0))
        step.program.update(recording)
        assert step.replay(mode) == [[scale * value for value in (5, 6, 7, 8)], [pattern] * 4, [pattern, 0, 0, 0]]
        assert step.program.recording is recording
    step.program.update(step.recording)
    assert step.replay(mode) == FIRST
    step.program.replay(check="stream")


def test_another_kernel_may_take_the_place_of_one(device, kernels, zeros):
    x, y = device.from_host(np.array([1, -2, 3, -4], np.int32)), zeros(16)
    recordings = []
    for name in ("negate", "twice"):
        with device.command_buffer() as cb:
            cb.dispatch(kernels[name], 1, args=[x, y])
        recordings.append(cb.recording)
    with device.program(recordings[0]) as program:
        for recording, factor in ((recordings[1], 2), (recordings[0], -1), (recordings[1], 2)):
            program.update(recording)
            program.replay()
            assert y.to_host(np.int32).tolist() == [factor * value for value in (1, -2, 3, -4)]


@MODES
@UPDATES
def test_a_command_that_is_switched_off_is_left_out_and_the_order_stays(device, kernels, mode, update):
    step = Step(device, kernels, update=update)
    step.program[0].enabled = False
    assert not step.program[0].enabled
    assert step.replay(mode) == [[0] * 4, *FIRST[1:]]
    for index in (1, 2):
        step.program[index].enabled = False
    assert step.replay(mode) == [[0] * 4] * 3
    step.program[0].update(args={2: 5})
    step.program[0].enabled = True
    assert step.replay(mode) == [[6, 11, 16, 21], [0] * 4, [0] * 4]
    for index in range(4):
        step.program[index].enabled = False
    assert step.replay(mode) == [[0] * 4] * 3
    step.program.update(step.recorded(step.x, 3, 0, 1, words(1, 2, 3, 4)))
    assert step.replay(mode) == [[0] * 4] * 3  # what is switched off stays so
    for index in range(4):
        step.program[index].enabled = True
    assert step.replay(mode) == [[3, 6, 9, 12], [1] * 4, [1, 2, 3, 4]]


@MODES
def test_order_goes_through_what_is_switched_off(device, zeros, mode):
    """fill -> copy (off) -> fill: 64 times over the same bytes, so that a lost edge shows."""
    x, y = zeros(4096), zeros(4096)
    with device.command_buffer() as cb:
        for value in range(64):
            cb.fill_buffer(x, value)
            cb.execution_barrier()
            cb.copy_buffer(y, x)
            cb.execution_barrier()
    for index in range(1, 128, 2):
        cb.program[index].enabled = False
    cb.replay(mode=mode)
    assert set(x.to_host(np.uint32)) == {63}


@MODES
def test_nested_recordings_and_indirect_dispatches_can_be_switched_off(device, kernels, zeros, mode):
    x, ids, counts = zeros(16), zeros(16), device.from_host(words(4, 1, 1))
    with device.command_buffer() as inner:
        inner.fill_buffer(x, 7)
        inner.dispatch_indirect(kernels["workgroup_ids"], counts, args=[ids])
    with device.command_buffer() as plain:
        plain.fill_buffer(x.view(0, 8), 5)
    with device.command_buffer() as outer:
        outer.execute_commands(inner)
        outer.execution_barrier()
        outer.execute_commands(plain)
        outer.execution_barrier()
        outer.dispatch_indirect(kernels["workgroup_ids"], counts, args=[ids])
    rows = [((0,), [5, 5, 0, 0], [0, 1, 2, 3]), ((1, 2), [7] * 4, [0, 1, 2, 3]), ((0, 1, 2), [0] * 4, [0] * 4)]
    for off, filled, written in rows:
        for index in range(3):
            outer.program[index].enabled = index not in off
        x.write(bytes(16))
        ids.write(bytes(16))
        outer.replay(mode=mode)
        assert x.to_host(np.uint32).tolist() == filled
        assert ids.to_host(np.uint32).tolist() == written


def test_what_others_wait_for_cannot_be_switched_off_or_given_other_arguments(device, zeros):
    event, x = device.event("ready"), zeros(16)
    with device.command_buffer(label="inner") as inner:
        inner.signal_event(event)
    with device.command_buffer(label="outer") as outer:
        outer.execute_commands(inner)
        outer.wait_events([event], label="wait")
        outer.fill_buffer(x, 1)
    with pytest.raises(UnimplementedError) as caught:
        outer.program[1].enabled = False
    assert str(caught.value) == (
        "enabled: wait_events cannot be switched off\n  where: command 1 'wait' in 'outer'\n"
        "  found: a command about events\n  next: record without it, and make another program"
    )
    with pytest.raises(UnimplementedError, match="a nested recording with events"):
        outer.program[0].enabled = False
    with pytest.raises(UnimplementedError) as caught:
        outer.program[0].update(bindings=[])
    assert str(caught.value) == (
        "update: execute_commands cannot be given other arguments\n  where: command 0 in 'outer'\n"
        "  next: record again, and call program.update"
    )
    outer.replay()
    assert x.to_host(np.uint32).tolist() == [1] * 4


def test_a_change_that_is_refused_changes_nothing(step, device, zeros):
    program, recording = step.program, step.program.recording
    wrong = [
        lambda: program[0].update(args=[step.x]),
        lambda: program[0].update(args={9: 1}),
        lambda: program[0].update(args={"nobody": 1}),
        lambda: program[0].update(args=[step.x, step.scaled, 2.5, 1]),
        lambda: program[0].update(workgroup_count=0),
        lambda: program[0].update(workgroup_count=1 << 40),
        lambda: program[0].update(workgroup_size=64),
        lambda: program[0].update(pattern=1),
        lambda: program[0].update(args=[], bindings=[]),
        lambda: program[1].update(pattern=1 << 40),
        lambda: program[1].update(pattern=bytes(range(16))),  # kept as data: an update, not a fill
        lambda: program[1].update(target=step.filled.view(0, 0)),
        lambda: program[2].update(data=bytes(17)),
        lambda: program[2].update(data=b""),
        lambda: program[3].update(source=zeros(8)),
        lambda: program[3].update(source=step.copied),
        lambda: program[3].update(source=Slot(0)),
        lambda: program.update("step"),
        lambda: setattr(program[0], "enabled", 1),
    ]
    for change in wrong:
        with pytest.raises(HipGraphError):
            change()
        assert program.recording is recording
    assert step.replay() == FIRST


def test_the_messages_of_refusals_name_the_command(step):
    with pytest.raises(InvalidArgumentError) as caught:
        step.program[1].update(data=b"abcd")
    assert str(caught.value) == (
        "update: fill_buffer has no such argument\n  where: command 1 'fill' in 'step'\n"
        "  found: data\n  allowed: target, pattern, pattern_length"
    )
    with pytest.raises(InvalidArgumentError) as caught:
        step.program[0].update(workgroup_count=0)
    assert str(caught.value) == (
        "update: the command would do nothing\n  where: command 0 'scale' in 'step'\n"
        "  found: no workgroups, or no bytes\n  next: switch it off: program[index].enabled = False"
    )
    with pytest.raises(NoSuchIndexError) as index:
        step.program[4]
    assert str(index.value) == "program[...]: no such command\n  found: 4\n  allowed: 0 to 3"
    with pytest.raises(InvalidArgumentError):
        step.program["scale"]


def test_another_structure_is_refused(device, step):
    with device.command_buffer(label="short") as short:
        short.fill_buffer(step.filled, 1)
    with device.command_buffer(label="other") as other:
        for _ in range(3):
            other.fill_buffer(step.filled, 1, label="again")
        other.execution_barrier()
        other.copy_buffer(step.scaled, step.copied)
    with device.command_buffer(label="flat") as flat:
        step.record(flat, step.x, 1, 1, 1, words(1, 1, 1, 1))
    rows = [
        (short, None, "1 commands", "4 commands"),
        (other, "command 0 'again' in 'other'", "fill_buffer", "dispatch"),
    ]
    for cb, where, found, allowed in rows:
        with pytest.raises(InvalidArgumentError) as caught:
            step.program.update(cb.recording)
        assert caught.value.what == "update: the recording has another structure"
        assert (caught.value.where, caught.value.found, caught.value.allowed) == (where, found, allowed)
    with pytest.raises(InvalidArgumentError, match=r"other dependencies|layers"):
        step.program.update(step.recorded(step.x, 1, 1, 1, words(1, 1, 1, 1), dependencies="inferred"))
    step.program.update(flat.recording)


def test_a_recording_without_memory_is_refused(device, step, tmp_path):
    from hipgraph_cb import Recording

    step.recording.save(tmp_path / "a.hgcb")
    with pytest.raises(NotFoundError):
        step.program.update(Recording.load(tmp_path / "a.hgcb"))
    assert step.replay() == FIRST


@UPDATES
def test_slots_keep_what_they_hold_where_it_fits(device, kernels, zeros, update):
    def recorded(length, scale):
        with device.command_buffer(binding_capacity=2, update=update) as cb:
            cb.fill_buffer(Slot(0, 0, length), Slot(1, type="u32", name="value"))
        return cb

    small = zeros(8)
    cb = recorded(8, 1)
    cb.replay(bindings=[small, 5])
    cb.program.update(recorded(4, 1).recording)
    small.write(bytes(8))
    cb.replay()
    assert small.to_host(np.uint32).tolist() == [5, 0]
    cb.program.update(recorded(16, 1).recording)
    with pytest.raises(InvalidArgumentError, match="no binding table was given"):
        cb.replay()
    large = zeros(16)
    cb.replay(bindings={0: large})
    assert large.to_host(np.uint32).tolist() == [5] * 4
    cb.program[0].update(pattern=np.uint32(6))
    cb.replay()
    assert large.to_host(np.uint32).tolist() == [6] * 4
    with pytest.raises(NotFoundError):
        cb.replay(bindings={"value": 1})


@UPDATES
def test_an_update_never_changes_a_launch_in_flight(device, kernels, update):
    """Each replay adds the number of its own turn; forty are enqueued without a wait."""
    total = device.from_host(bytes(16))
    with device.command_buffer(update=update) as cb:
        cb.dispatch(kernels["scale_and_offset"], 1, args=[total, total, 1, 0])
        cb.execution_barrier()
        cb.update_buffer(total.view(12, 4), words(0))
    expected = np.zeros(4, np.uint32)
    for turn in range(40):
        cb.program[0].update(args={3: turn})
        cb.program[1].update(data=words(turn))
        cb.program[0].enabled = turn % 3 != 0
        cb.replay()
        expected += np.uint32(turn if turn % 3 else 0)
        expected[3] = turn
    assert np.array_equal(total.to_host(np.uint32), expected)


def test_what_an_update_does_not_need_any_more_goes(device, kernels, step):
    unused = device.from_host(words(9, 9, 9, 9))
    step.program[0].update(args={0: unused})
    step.replay()
    step.program[0].update(args={0: step.x})
    recording = weakref.ref(step.program.recording)
    step.program.update(step.recorded(step.x, 2, 1, 9, words(1, 1, 1, 1)))
    device.synchronize()
    step.replay()
    gc.collect()
    assert recording() is None
    assert len(device.backlog) == 0


def test_a_closed_program_cannot_be_changed(step):
    command = step.program[0]
    step.program.close()
    program = step.program
    for change in (lambda: command.update(args={2: 1}), lambda: program.update(step.recording), lambda: program[0]):
        with pytest.raises(FailedPreconditionError):
            change()
    with pytest.raises(FailedPreconditionError):
        command.enabled = False


def test_a_profile_and_a_watched_replay_know_what_is_switched_off(step):
    step.program[0].enabled = False
    step.clear()
    assert len(step.program.profile(1).commands) == 4
    seen = []
    step.program.replay(check=lambda output: seen.append(output.command))
    assert seen == [1, 2, 3]
    assert step.found() == [[0] * 4, *FIRST[1:]]
    step.program.replay(check="stream")


@pytest.fixture
def runtime(device):
    if device.backend != "hip" or not process_choice().is_virtual:
        pytest.skip("calls can be ignored in the virtual HIP library only")
    return virtual_runtime("hip")


@pytest.mark.parametrize("index", range(4))
def test_an_update_that_the_runtime_ignores_is_found(step, runtime, index):
    changes = [{"args": {2: 7}}, {"pattern": np.uint32(3)}, {"data": words(8, 8, 8, 8)}, {"source": step.other}]
    step.program[index].update(**changes[index])  # the first change makes a graph whose nodes can be changed
    step.replay()
    again = [{"args": {2: 9}}, {"pattern": np.uint32(4)}, {"data": words(6, 6, 6, 6)}, {"source": step.x}]
    setter = SETTERS[min(index, 2)]
    with runtime.ignore(setter) as injection:
        step.program[index].update(**again[index])
    assert injection.has_fired
    with pytest.raises(CheckFailedError) as caught:
        step.program.replay(check="stream")
    assert caught.value.where.startswith(f"command {index if index else 0} ")
    assert "use update='reinstantiate'" in caught.value.next_step


def test_a_command_that_the_runtime_goes_on_running_is_found(step, runtime):
    step.program[1].update(pattern=3)
    with runtime.ignore("hipGraphNodeSetEnabled") as injection:
        step.program[1].enabled = False
    assert injection.has_fired
    step.clear()
    with pytest.raises(CheckFailedError) as caught:
        step.program.replay(check="stream")
    assert caught.value.where == "command 1 'fill' in 'step'"


def test_only_what_is_other_is_reported_to_the_runtime(device, kernels, runtime, step):
    step.program.update(step.recorded(step.x, 2, 1, 9, words(1, 1, 1, 1)))
    recording = step.recorded(step.x, 2, 1, 8, words(1, 1, 1, 1))
    with runtime.count_calls() as count:
        step.program.update(recording)
        step.program[0].update(args={2: 3})
        step.program[0].enabled = False
    assert {name: count[name] for name in SETTERS} == dict(zip(SETTERS, (1, 1, 1), strict=True))
    assert count["hipGraphNodeSetEnabled"] == 1
    assert not count["hipGraphInstantiate"]


def test_launch_shapes_of_an_update_are_checked(step, device):
    with pytest.raises(OutOfRangeError, match="the grid is too large in x"):
        step.program[0].update(workgroup_count=1 << 31)
