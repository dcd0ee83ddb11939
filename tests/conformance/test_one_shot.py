"""One-shot recordings run once, whatever the way."""

import pytest

from hipgraph_cb.errors import FailedPreconditionError, HipGraphError


@pytest.fixture
def once(device, zeros):
    x = zeros(4)
    with device.command_buffer(label="once", one_shot=True, binding_capacity=1) as cb:
        cb.fill_buffer(x, 7)
    return cb, x


@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_a_one_shot_recording_is_replayed_once(device, once, mode):
    cb, x = once
    cb.replay(mode=mode)
    with pytest.raises(FailedPreconditionError) as caught:
        cb.replay(mode=mode)
    assert str(caught.value) == (
        "replay: the recording is one-shot, and this program has run\n  where: program `once`\n"
        "  next: make another program of it with device.program(recording), or record without one_shot"
    )
    assert set(x.to_host("uint32")) == {7}
    with device.program(cb.recording) as other:
        other.replay()


def test_a_replay_that_was_refused_does_not_count(once):
    cb, x = once
    with pytest.raises(HipGraphError):
        cb.replay(mode="backwards")
    cb.replay()
    assert set(x.to_host("uint32")) == {7}


def test_a_watched_replay_counts_and_what_replays_several_times_is_refused(once):
    cb, x = once
    for several in (lambda: cb.replay(check="stream"), lambda: cb.program.profile(1)):
        with pytest.raises(FailedPreconditionError, match="it replays several times, and the recording is one-shot"):
            several()
    cb.replay(check=lambda output: bool((output.data == [7, 0, 0, 0]).all()))
    assert set(x.to_host("uint32")) == {7}
    with pytest.raises(FailedPreconditionError, match="this program has run"):
        cb.replay()


def test_another_recording_takes_the_place_of_a_one_shot_one_only_if_it_is_one(device, once):
    cb, x = once
    with device.command_buffer(binding_capacity=1) as other:
        other.fill_buffer(x, 8)
    with pytest.raises(HipGraphError, match="the recording has another structure"):
        cb.program.update(other.recording)
