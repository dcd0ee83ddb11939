"""`load_recording`: a file becomes a program with buffers of its own."""

from pathlib import Path

import numpy as np
import pytest
from support.bundle import bundle_of
from support.containers import Export, wrapped
from support.fakes import FakeBuffer, FakeExecutable

from hipgraph_cb import HipGraphError, Recording, Slot, load_recording
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.recording.command_buffer import CommandBuffer

FIXTURES = Path(__file__).parent.parent / "fixtures"
GFX90A = FIXTURES / "corpus" / "clang" / "k_cl.gfx90a.hsaco"
KERNELS = FIXTURES / "conformance" / "conformance.gfx942.hsaco"


@pytest.fixture
def scaled(device, kernels, tmp_path):
    """y = 3 * x + 1 in a file, with the contents of x."""
    x = device.from_host(np.arange(4, dtype=np.uint32), label="x")
    y = device.allocate(16, label="y")
    with device.command_buffer(label="scaled") as cb:
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[x, y], constants=[3, 1])
    path = tmp_path / "scaled.hgcb"
    cb.recording.save(path, contents={"x": x.to_host(np.uint32)})
    return path


def test_a_loaded_program_replays_over_buffers_with_the_stored_contents(device, scaled):
    with load_recording(scaled, device) as program:
        program.replay()
        resources = program.recording.resources
        assert resources["y"].to_host(np.uint32).tolist() == [1, 4, 7, 10]
        resources["x"].write(np.full(4, 5, np.uint32))
        program.replay()
        assert resources["y"].to_host(np.uint32).tolist() == [16] * 4


def test_buffers_without_stored_contents_begin_with_zeros(device, scaled):
    with load_recording(scaled, device) as program:
        assert program.recording.resources["y"].to_host().tolist() == [0] * 16


def test_a_loaded_recording_names_no_live_objects_until_it_is_given_some(device, kernels, scaled):
    recording = Recording.load(scaled)
    assert recording.resources.bound == {}
    with pytest.raises(HipGraphError) as raised:
        recording.resources["x"]
    assert raised.value.found == "no object for `x`"
    x, y = device.from_host(np.ones(4, np.uint32)), device.allocate(16)
    with device.program(recording, resources={"x": x, "y": y, "conformance": kernels}) as program:
        program.replay()
    assert y.to_host(np.uint32).tolist() == [4] * 4


def test_slots_of_a_loaded_program_are_bound_at_replay(device, tmp_path):
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0, 4, 8), 7)
    cb.recording.save(tmp_path / "slots.hgcb")
    target = device.from_host(bytes(16))
    with load_recording(tmp_path / "slots.hgcb", device) as program:
        program.replay(bindings=[target])
    assert target.to_host(np.uint32).tolist() == [0, 7, 7, 0]


@pytest.mark.parametrize("container", ["bundle", "wrapper"])
def test_code_from_a_container_is_stored_without_it(device, container, tmp_path):
    data = KERNELS.read_bytes()
    if container == "bundle":
        given = bundle_of(gfx942=data)
    else:
        given = wrapped(b"HIP1", [Export("workgroup_ids", (1, 1, 1), 0, 1)], [data])
    kernels, x = device.load(given), device.allocate(12, label="x")
    with device.command_buffer() as cb:
        cb.dispatch(kernels["workgroup_ids"], 3, args=[x])
    cb.recording.save(tmp_path / "contained.hgcb")
    (entry,) = Recording.load(tmp_path / "contained.hgcb").resources.executables.values()
    assert entry.verified.data == data
    with load_recording(tmp_path / "contained.hgcb", device) as program:
        program.replay()
        assert program.recording.resources["x"].to_host(np.uint32).tolist() == [0, 1, 2]


def test_code_for_another_device_is_refused(device, tmp_path):
    kernels = FakeExecutable(verify(GFX90A.read_bytes()))
    with CommandBuffer() as cb:
        cb.dispatch(kernels["vexp"], 1, 64, args=[FakeBuffer(64), FakeBuffer(64), 1])
    cb.recording.save(tmp_path / "other.hgcb")
    assert Recording.load(tmp_path / "other.hgcb") == cb.recording
    with pytest.raises(HipGraphError) as raised:
        load_recording(tmp_path / "other.hgcb", device)
    assert raised.value.what == "the code object was built for another device"


def test_a_dispatch_beyond_the_limits_of_the_device_is_refused_before_anything_is_made(device, tmp_path):
    kernels = FakeExecutable(verify(KERNELS.read_bytes()))
    with CommandBuffer(label="large") as cb:
        cb.dispatch(kernels["nothing"], 1, args=[], dynamic_lds=1 << 20)
    cb.recording.save(tmp_path / "large.hgcb")
    assert Recording.load(tmp_path / "large.hgcb") == cb.recording
    with pytest.raises(HipGraphError) as raised:
        load_recording(tmp_path / "large.hgcb", device)
    assert raised.value.what == "kernel `nothing` needs more LDS than the device has"
    assert raised.value.where == "command 0 in 'large'"


def test_a_part_is_a_recording_of_a_stretch_of_commands(device):
    x = device.allocate(64)
    with device.command_buffer() as cb:
        for index in range(6):
            if index in (2, 5):
                cb.execution_barrier()
            with cb.debug_group("pair" if index < 4 else "rest"):
                cb.fill_buffer(x, index, offset=8 * index, length=8)
    part = cb.recording.part(range(1, 6))
    assert part.commands == cb.recording.commands[1:6]
    assert part.layers == ((0,), (1, 2, 3), (4,))
    assert [paths for (paths,) in part.group_paths] == ["pair", "pair", "pair", "rest", "rest"]
    assert cb.recording.part(range(6)) == cb.recording
    assert len(cb.recording.part(slice(2, 2))) == 0
    for wrong in (range(4, 9), range(0, 6, 2), range(-1, 2)):
        with pytest.raises(HipGraphError):
            cb.recording.part(wrong)


def test_a_part_with_dependencies_keeps_those_within_it(device):
    x, y = device.allocate(64), device.allocate(64)
    with device.command_buffer(dependencies="inferred") as cb:
        cb.fill_buffer(x, 1)
        cb.fill_buffer(y, 2)
        cb.fill_buffer(x, 3)
        cb.copy_buffer(x, y)
    assert cb.recording.dependencies == ((), (), (0,), (1, 2))
    assert cb.recording.part(range(1, 4)).dependencies == ((), (), (0, 1))
