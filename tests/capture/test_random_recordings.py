"""Save and load give the same value, the same file again and the same bytes at replay, whatever was recorded."""

import numpy as np
import pytest
from support.fakes import FakeExecutable
from support.kernels import verified
from support.random_recording import EVERYTHING, SLOTS, NoDevice, Writer, contents

from hipgraph_cb import Recording, Slot
from hipgraph_cb.capture.divergence import first_divergence
from hipgraph_cb.capture.hgcb import load, save
from hipgraph_cb.capture.session import Session

SHORT = range(20)
LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 300)]


@pytest.mark.parametrize("seed", [*SHORT, *LONG])
def test_a_loaded_recording_is_equal_and_saves_as_the_same_file(seed, tmp_path):
    kernels = FakeExecutable(verified("conformance/conformance.gfx942.hsaco"), label="conformance")
    recording = Writer(seed, NoDevice, kernels, EVERYTHING).recording()
    first, second = tmp_path / "first.hgcb", tmp_path / "second.hgcb"
    recording.save(first, allow_empty=True)
    loaded = Recording.load(first)
    assert loaded == recording
    assert [command.label for command in loaded] == [command.label for command in recording]
    assert (loaded.label, loaded.groups) == (recording.label, recording.groups)
    assert loaded.to_json() == recording.to_json()
    loaded.save(second, allow_empty=True)
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize("seed", [*SHORT, *LONG])
def test_the_file_replays_on_both_backends_to_the_bytes_that_the_recording_leaves(
    seed, device, other_device, kernels, tmp_path
):
    # Every second file is made on the other backend.
    makers = (device, other_device)
    maker = makers[seed % 2]
    executable = kernels if maker is device else maker.load(kernels.verified.data, "conformance")
    recording = Writer(seed, maker, executable, EVERYTHING).recording()
    given = contents(seed)
    slots = [maker.from_host(each) for each in given[:SLOTS]]
    for id in recording.snapshot():
        recording.resources[id].write(given[SLOTS + id % 5])
    stored = {**recording.snapshot(), **{Slot(index): given[index] for index, _ in enumerate(recording.slots)}}
    with maker.program(recording) as program:
        program.replay(bindings=slots)
    left = {**recording.snapshot(), **{Slot(index): slots[index].to_host() for index in range(len(recording.slots))}}
    recording.save(tmp_path / "a.hgcb", contents=stored, expected=left, allow_empty=True)
    capture = load(tmp_path / "a.hgcb")
    for replayer in makers:
        with Session(capture, replayer) as session:
            session.restore()
            session.replay()
            assert list(session.differences()) == []
            found = session.contents()
        assert all(np.array_equal(np.frombuffer(found[key], np.uint8), value) for key, value in left.items())
    save(capture.recording, tmp_path / "b.hgcb", contents=capture.contents, expected=capture.expected, allow_empty=True)
    assert (tmp_path / "a.hgcb").read_bytes() == (tmp_path / "b.hgcb").read_bytes()


@pytest.mark.parametrize("seed", [*range(6), *[pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 40)]])
def test_layer_by_layer_both_backends_leave_equal_memory(seed, device, other_device, kernels, tmp_path):
    recording = Writer(seed, device, kernels, EVERYTHING).recording()
    given = contents(seed)
    stored = {Slot(index): given[index] for index, _ in enumerate(recording.slots)}
    recording.save(tmp_path / "a.hgcb", contents=stored, allow_empty=True)
    capture = load(tmp_path / "a.hgcb")
    with Session(capture, device) as first, Session(capture, other_device) as second:
        assert first_divergence(first, second) is None
