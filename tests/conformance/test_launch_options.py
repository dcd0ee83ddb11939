"""Options of dispatches beyond their shape: cooperative launches and priorities."""

import json

import numpy as np
import pytest

from hipgraph_cb import Recording
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError, UnimplementedError

MODES = pytest.mark.parametrize("mode", ["graph", "stream"])


@MODES
def test_a_priority_changes_no_result(device, kernels, mode):
    x, y = device.from_host(np.arange(4, dtype=np.uint32)), device.allocate(16)
    with device.command_buffer() as cb:
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[x, y], constants=[3, 1], priority=-1)
        cb.execution_barrier()
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[y, y], constants=[2, 0], priority=7, reads=[y])
    cb.replay(mode=mode)
    assert y.to_host(np.uint32).tolist() == [2, 8, 14, 20]


@MODES
def test_a_cooperative_launch_runs_on_hip_and_is_refused_by_name_on_hsa(device, kernels, mode):
    x, y = device.from_host(np.arange(4, dtype=np.uint32)), device.allocate(16)
    cb = device.command_buffer(label="step").begin()
    cb.fill_buffer(y, 0)
    cb.execution_barrier()
    cb.dispatch(kernels["scale_and_offset"], 1, bindings=[x, y], constants=[3, 1], cooperative=True, label="wait")
    if device.backend == "hsa":
        with pytest.raises(UnimplementedError) as caught:
            cb.end()
        assert str(caught.value) == (
            "program: the hsa backend cannot launch a kernel cooperatively\n"
            "  where: command 1 'wait' in 'step'\n"
            "  found: cooperative=True: a packet has no word for it, and its queue shares the GPU with others\n"
            "  next: use backend='hip', or a kernel whose workgroups do not wait for each other"
        )
        return
    cb.end()
    cb.replay(mode=mode)
    assert y.to_host(np.uint32).tolist() == [1, 4, 7, 10]


def test_more_workgroups_than_fit_are_refused_when_the_program_is_made(device, kernels):
    if device.backend == "hsa":
        return  # refused whatever its size
    y = device.allocate(4 * 3 * 1_000_000)
    room = kernels["workgroup_ids"].occupancy(1) * device.compute_units
    cb = device.command_buffer(label="step").begin()
    cb.dispatch(kernels["workgroup_ids"], 1_000_000, 1, args=[y], cooperative=True)
    with pytest.raises(OutOfRangeError) as caught:
        cb.end()
    assert str(caught.value) == (
        "a cooperative launch has more workgroups than the device holds at once\n"
        "  where: command 0 in 'step'\n"
        "  found: 1000000 workgroups of 1 work-items\n"
        f"  allowed: {room} workgroups\n"
        "  next: launch fewer workgroups, each of which does more"
    )


def test_values_of_the_wrong_kind_are_refused(device, kernels):
    cb = device.command_buffer(label="step").begin()
    with pytest.raises(InvalidArgumentError) as caught:
        cb.dispatch(kernels["nothing"], 1, args=[], cooperative=1)
    assert str(caught.value) == (
        "cooperative is neither True nor False\n  where: command 0 in 'step'\n  found: 1 (int)"
    )
    with pytest.raises(InvalidArgumentError) as caught:
        cb.dispatch(kernels["nothing"], 1, args=[], priority=1.5)
    assert str(caught.value) == ("priority is not a whole number\n  where: command 0 in 'step'\n  found: 1.5 (float)")
    with pytest.raises(OutOfRangeError) as caught:
        cb.dispatch(kernels["nothing"], 1, args=[], priority=1 << 31)
    assert str(caught.value) == (
        "priority is out of range\n"
        "  where: command 0 in 'step'\n"
        "  found: 2147483648\n"
        "  allowed: -2147483648 to 2147483647"
    )
    cb.end()
    assert len(cb.recording) == 0


def test_files_json_diffs_and_drawings_have_them(device, kernels, tmp_path):
    from hipgraph_cb.capture.diff import compare

    def recorded(**options):
        with device.command_buffer() as cb:
            cb.dispatch(kernels["nothing"], 2, args=[], **options)
        return cb.recording

    recording = recorded(priority=-3)
    recording.save(tmp_path / "a.hgcb")
    loaded = Recording.load(tmp_path / "a.hgcb")
    assert loaded == recording
    assert loaded != recorded()
    assert (loaded[0].cooperative, loaded[0].priority) == (False, -3)
    assert json.loads(recording.to_json())["commands"][0]["priority"] == -3
    assert "priority -3" in recording.to_dot()
    assert list(compare(recorded(), recording).lines()) == [
        "commands",
        "  changed 0: dispatch nothing",
        "    priority: 0 -> -3",
    ]
    recorded().save(tmp_path / "plain.hgcb")
    assert b"priority" not in (tmp_path / "plain.hgcb").read_bytes()


def test_a_nested_recording_keeps_them(device, kernels):
    x, y = device.from_host(np.arange(4, dtype=np.uint32)), device.allocate(16)
    with device.command_buffer() as inner:
        inner.dispatch(kernels["scale_and_offset"], 1, bindings=[x, y], constants=[3, 1], priority=2)
    with device.command_buffer() as outer:
        outer.execute_commands(inner)
    outer.replay()
    assert y.to_host(np.uint32).tolist() == [1, 4, 7, 10]
    (nested,) = outer.recording.resources.recordings.values()
    assert nested.recording[0].priority == 2
