"""Files, comparisons and drawings of recordings for a group."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from support.bundle import bundle_of
from support.captures import pack, parts, read, saved

from hipgraph_cb import Recording, load_recording, open_device, open_devices
from hipgraph_cb.capture.diff import compare
from hipgraph_cb.cli import main
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError, OutOfRangeError

KERNELS = Path(__file__).parent.parent / "fixtures" / "conformance"
INPUT = np.array([1, 2, 3, 4], np.uint32)
RESULT = [30, 60, 90, 120]


def record(group, bundle, second=1):
    """y = 3 x on the first device and z = 10 y on another one, with events between."""
    kernels = group.load(bundle, [0, second], label="kernels")
    x, y = (group[0].from_host(data, label=name) for name, data in (("x", INPUT), ("y", 0 * INPUT)))
    z = group[second].from_host(0 * INPUT, label="z")
    event = group[second].event("ready")
    with group.command_buffer(label="chain") as cb:
        cb.dispatch(kernels.on(0)["scale_and_offset"], 1, args=[x, y, 3, 0])
        cb.execution_barrier()
        cb.dispatch(kernels.on(second)["scale_and_offset"], 1, args=[y, z, 10, 0])
        cb.signal_event(event)
    return cb


@pytest.fixture
def bundle(code):
    """Code for the first two devices of the process, which are of two targets."""
    return bundle_of(gfx942=code("gfx942").read_bytes(), gfx1100=code("gfx1100").read_bytes())


@pytest.fixture
def two(backend):
    with open_devices(backend, devices=[0, 1]) as group:
        yield group


@pytest.fixture
def file(two, bundle, tmp_path):
    cb = record(two, bundle)
    before = cb.recording.snapshot()
    cb.replay()
    two.synchronize()
    path = tmp_path / "chain.hgcb"
    cb.recording.save(path, contents=before, expected={"z": np.array(RESULT, np.uint32)})
    return path


def test_a_file_keeps_the_device_of_each_resource(two, file, bundle):
    loaded, recorded = Recording.load(file), record(two, bundle).recording
    assert loaded == recorded
    assert {entry.label: entry.device for entry in loaded.resources.buffers.values()} == {"x": 0, "y": 0, "z": 1}
    assert [entry.device for entry in loaded.resources.executables.values()] == [0, 1]
    assert [entry.device for entry in loaded.resources.events.values()] == [1]


def test_a_loaded_recording_runs_on_a_group(two, file):
    program = load_recording(file, two)
    program.replay()
    z = program.recording.resources["z"]
    assert z.device is two[1]
    assert z.to_host(np.uint32).tolist() == RESULT


def test_a_group_of_too_few_devices_is_refused(backend, file):
    with open_devices(backend, devices=[0]) as one, pytest.raises(NotFoundError) as raised:
        load_recording(file, one)
    assert str(raised.value) == (
        "the recording is for more devices than there are\n"
        f"  found: device 1, and device group of 1 {backend} device\n"
        "  allowed: a group of 2 or more, or a single device"
    )


def test_a_recording_for_several_devices_of_one_target_runs_on_one(group, backend, bundle, tmp_path):
    path = tmp_path / "four.hgcb"
    cb = record(group, bundle, second=3)
    cb.recording.save(path, contents=cb.recording.snapshot())
    with open_device(backend) as device:
        program = load_recording(path, device)
        program.replay()
        assert program.recording.resources["z"].to_host(np.uint32).tolist() == RESULT


def test_a_file_is_replayed_and_verified_on_as_many_devices_as_it_names(backend, file, capsys):
    assert main(["replay", str(file), "--backend", backend, "--verify", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["device"]["devices"], report["verified"], report["differences"]) == (2, 1, [])
    assert main(["replay", str(file), "--backend", backend]) == 0
    assert "(virtual: kernels run on the CPU) and 1 more, backend" in capsys.readouterr().out


def test_both_backends_are_compared_layer_by_layer(backend, file, capsys):
    assert main(["replay", str(file), "--backend", backend, "--against", "hip"]) == 0
    assert capsys.readouterr().out.endswith("all memory is equal after every layer\n")


def test_a_comparison_names_the_devices_that_differ(group, bundle):
    before, after = (record(group, bundle, second).recording for second in (1, 3))
    assert before != after
    assert compare(before, before).is_empty
    assert compare(before, after).resources == ["`z`: device 1 -> 3"]


def test_drawings_say_where_each_command_runs(two, bundle):
    recording = record(two, bundle).recording
    dot, mermaid = recording.to_dot(), recording.to_mermaid()
    for drawing in (dot, mermaid):
        assert drawing.count("on device 0") == 1
        assert drawing.count("on device 1") == 2
    read = json.loads(recording.to_json())
    assert [row["device"] for row in read["buffers"]] == [0, 0, 1]
    assert [row["device"] for row in read["executables"]] == [0, 1]
    assert [row["device"] for row in read["events"]] == [1]


def test_drawings_of_a_single_device_say_nothing_of_it(two):
    buffer = two[0].allocate(64)
    with two[0].command_buffer() as cb:
        cb.fill_buffer(buffer, 1)
    assert "on device" not in cb.recording.to_dot()


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    codes = {name: (KERNELS / f"conformance.{name}.hsaco").read_bytes() for name in ("gfx942", "gfx1100")}
    with open_devices("hip", devices=[0, 1]) as group:
        return parts(saved(tmp_path_factory.mktemp("manifest"), record(group, bundle_of(**codes)).recording))


@pytest.mark.parametrize("device", [0, 64, -1, True, "1", None])
@pytest.mark.parametrize("kind", ["buffers", "executables", "events"])
def test_a_file_with_another_number_of_a_device_is_refused(manifest, kind, device):
    document, blobs = manifest
    assert read(pack(document, blobs)).recording.resources.devices == {0, 1}
    changed = {**document, kind: [{**document[kind][0], "device": device}, *document[kind][1:]]}
    with pytest.raises((InvalidArgumentError, OutOfRangeError)):
        read(pack(changed, blobs))


@pytest.mark.parametrize("kind", ["buffers", "executables", "events"])
def test_a_number_of_a_device_is_no_field_of_the_first_version(manifest, kind):
    document, blobs = copy.deepcopy(manifest)
    del document["slot_names"]
    for command in document["commands"]:
        command.pop("numbers", None)
    for row in [row for each in ("buffers", "executables", "events") if each != kind for row in document[each]]:
        row.pop("device", None)
    with pytest.raises(InvalidArgumentError) as raised:
        read(pack({**document, "version": 1}, blobs))
    assert raised.value.what == "an object of the manifest has other fields than its version of the format"
    for row in document[kind]:
        row.pop("device", None)
    assert read(pack({**document, "version": 1}, blobs)).recording.resources.devices == {0}
