"""`compare` says what changed, and nothing else."""

import difflib

import pytest
from support.captures import conformance, everything
from support.fakes import FakeBuffer, FakeEvent, FakeExecutable
from support.kernels import verified
from support.random_recording import EVERYTHING, NoDevice, Writer

from hipgraph_cb import Slot
from hipgraph_cb.capture.diff import Change, compare
from hipgraph_cb.recording.command_buffer import CommandBuffer


def step(
    *, first=True, extra=False, barrier=True, constant=3, swapped=False, count=1, label="x", size=64, kernels=None
):
    """clear and scale; every argument is one difference."""
    x, y = FakeBuffer(size, label), FakeBuffer(64, "y")
    kernels = kernels or conformance()
    with CommandBuffer(label=label) as cb:
        if extra:
            cb.update_buffer(FakeBuffer(8, "new"), bytes(8), label=label)
        if first:
            cb.fill_buffer(x, 0, length=16, label=label)
            cb.fill_buffer(y, 1, length=16)
        if barrier:
            cb.execution_barrier()
        bindings = [y, x] if swapped else [x, y]
        cb.dispatch(kernels["scale_and_offset"], count, bindings=bindings, constants=[constant, 1], label=label)
        cb.execution_barrier()
        cb.copy_buffer(y.view(0, 16), x.view(32, 16))
    return cb.recording


def test_equal_recordings_and_moved_labels_are_no_difference():
    assert compare(step(), step()).is_empty
    assert compare(step(), step(label="another")).is_empty
    assert compare(everything(), everything()).is_empty


def test_a_command_that_was_added_does_not_change_the_ids_behind_it():
    found = compare(step(), step(extra=True))
    assert found.commands == [Change("added", None, 0, "update `new`[0:8], 00 00 00 00 00 00 00 00")]
    assert (found.barriers, found.executables, found.resources) == ([], [], [])


def test_a_command_that_was_removed_is_named_by_its_previous_index():
    found = compare(step(extra=True), step())
    assert found.commands == [Change("removed", 0, None, "update `new`[0:8], 00 00 00 00 00 00 00 00")]


def test_a_constant_an_argument_and_a_grid_are_named():
    assert compare(step(), step(constant=5)).commands == [
        Change("changed", 2, 2, "dispatch scale_and_offset", ("arg2: uint: 3 -> 5",))
    ]
    assert compare(step(), step(swapped=True)).commands == [
        Change(
            "changed",
            2,
            2,
            "dispatch scale_and_offset",
            ("arg0: uint*: `x`[0:64] -> `y`[0:64]", "arg1: uint*: `y`[0:64] -> `x`[0:64]"),
        )
    ]
    assert compare(step(), step(count=7)).commands == [
        Change("changed", 2, 2, "dispatch scale_and_offset", ("workgroup count: (1, 1, 1) -> (7, 1, 1)",))
    ]


def test_a_change_is_found_behind_an_added_command():
    found = compare(step(), step(extra=True, constant=5))
    assert list(found.lines()) == [
        "commands",
        "  added 0: update `new`[0:8], 00 00 00 00 00 00 00 00",
        "  changed 3, was 2: dispatch scale_and_offset",
        "    arg2: uint: 3 -> 5",
    ]


def test_barriers_that_came_and_went():
    assert compare(step(), step(barrier=False)).barriers == ["removed before command 2, dispatch scale_and_offset"]
    assert compare(step(barrier=False), step()).barriers == ["added before command 2, dispatch scale_and_offset"]


def test_a_buffer_of_another_size():
    def filled(size):
        with CommandBuffer() as cb:
            cb.fill_buffer(FakeBuffer(size, "x"), 0, length=16)
        return cb.recording

    assert compare(filled(64), filled(128)).resources == ["`x`: 64 -> 128 bytes"]


def test_other_code_with_the_same_signature_is_said_once():
    def both(path):
        kernels = FakeExecutable(verified(path), label="k")
        x = FakeBuffer(256, "x")
        with CommandBuffer() as cb:
            for _ in range(3):
                cb.dispatch(kernels["saxpy"], 1, 64, args=[x, x, 1.0, 4])
        return cb.recording

    first, second = "corpus/clang/k_cl.gfx942.hsaco", "../../hipgraph_cb/samples/saxpy.gfx942.hsaco"
    found = compare(both(first), both(second))
    hashes = [verified(path).content_hash[:16] for path in (first, second)]
    assert found.executables == [f"`k`: other code, {hashes[0]} -> {hashes[1]}", "  saxpy: same signature"]
    assert found.commands == []


def test_a_change_in_a_nested_recording_is_a_change_of_the_command_that_runs_it():
    def outer(pattern):
        with CommandBuffer(label="inner", binding_capacity=1) as inner:
            inner.fill_buffer(Slot(0, 0, 16), pattern)
        with CommandBuffer() as cb:
            cb.execute_commands(inner.recording, bindings=[FakeBuffer(16, "x")])
        return cb.recording

    assert compare(outer(1), outer(1)).is_empty
    (change,) = compare(outer(1), outer(2)).commands
    assert change.details == (
        "commands",
        "  changed 0: fill slot 0[0:16], 02 00 00 00",
        "    pattern: 01 00 00 00 -> 02 00 00 00",
    )


def test_dependencies_that_changed():
    def inferred(shared):
        x, y = FakeBuffer(64, "x"), FakeBuffer(64, "y")
        with CommandBuffer(dependencies="inferred") as cb:
            cb.fill_buffer(x, 1, length=16)
            cb.fill_buffer(y, 1, length=16)
            cb.copy_buffer(x.view(0 if shared else 32, 8), y.view(32, 8))
        return cb.recording

    assert compare(inferred(True), inferred(False)).barriers == [
        "command 2, copy `x`[32:40], `y`[32:40] waits for 0 -> nothing"
    ]
    assert compare(step(), inferred(True)).barriers == ["ordered by barriers -> ordered by dependencies"]


def test_commands_that_are_repeated_are_paired_once():
    """Not a second time with one of those that stand further on."""
    recording = step_of_repetitions()
    assert compare(recording, step_of_repetitions()).is_empty
    assert len(recording) == 24


def step_of_repetitions():
    event = FakeEvent()
    with CommandBuffer() as cb:
        for _ in range(12):
            cb.signal_event(event)
            cb.wait_events([event])
    return cb.recording


@pytest.mark.parametrize("seed", [*range(12), *[pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 200)]])
def test_a_random_recording_differs_from_another_and_not_from_itself(seed):
    first, again = (Writer(seed, NoDevice, conformance(), EVERYTHING).recording() for _ in range(2))
    assert compare(first, again).is_empty
    other = Writer(seed + 1000, NoDevice, conformance(), EVERYTHING).recording()
    assert compare(first, other).is_empty == (first == other)


def long_row(edits=(), dependencies="barriers"):
    """Ten thousand fills, each repeated many times, but for an `{index: "added", "removed" or "changed"}`."""
    edits, x = dict(edits), FakeBuffer(64, "x")
    with CommandBuffer(dependencies=dependencies) as cb:
        for index in range(10_000):
            edit = edits.get(index)
            if edit == "added":
                cb.fill_buffer(x, 0xADDED)
            if edit != "removed":
                cb.fill_buffer(x, index % 300 if edit != "changed" else 0xC0DE)
                cb.execution_barrier()
    return cb.recording


@pytest.mark.parametrize("dependencies", ["barriers", "inferred"])
def test_a_few_changes_in_a_long_row_are_found_without_comparing_all_with_all(monkeypatch, dependencies):
    compared, matcher = [], difflib.SequenceMatcher

    def counted(junk, one, other, autojunk):
        compared.append(len(one) + len(other))
        return matcher(junk, one, other, autojunk)

    monkeypatch.setattr(difflib, "SequenceMatcher", counted)
    edits = {500 + 900 * number: kind for number, kind in enumerate(["changed", "added", "removed"] * 3)}
    found = compare(long_row(dependencies=dependencies), long_row(edits, dependencies))
    assert [change.kind for change in found.commands] == list(edits.values())
    assert sum(compared) < 5000
