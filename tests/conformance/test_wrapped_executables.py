"""Executables in the HAL compiler's wrappers: what a caller gives is what the wrapper says, on every backend."""

from pathlib import Path

import numpy as np
import pytest
from support.containers import Export, wrapped

from hipgraph_cb import HipGraphError, load_recording

FIXTURES = Path(__file__).parent.parent / "fixtures" / "conformance"
FORMS = [(b"AMD1", ".kd"), (b"HIP1", "")]


@pytest.fixture
def code(device):
    """The conformance suite's kernels, as bytes."""
    return (FIXTURES / f"conformance.{device.target.processor}.hsaco").read_bytes()


@pytest.mark.parametrize(("identifier", "suffix"), FORMS)
def test_bindings_and_constants_are_those_of_the_wrapper(device, zeros, code, identifier, suffix):
    data = wrapped(identifier, [Export(f"scale_and_offset{suffix}", (4, 1, 1), 2, 2)], [code])
    x, y = device.from_host(np.arange(4, dtype=np.uint32)), zeros(16)
    kernel = device.load(data)["scale_and_offset"]
    with device.command_buffer() as cb:
        cb.dispatch(kernel, 1, bindings=[x, y], constants=[3, 10])
    cb.replay()
    assert y.to_host(np.uint32).tolist() == [10, 13, 16, 19]


def test_a_caller_gives_what_the_kernel_does_not_use_too(device, zeros, code):
    """8 bytes for each of three bindings, then 4 for each of five constants; the kernel takes the first binding."""
    data = wrapped(b"AMD1", [Export("workgroup_ids.kd", (1, 1, 1), 5, 3)], [code])
    kernel, out = device.load(data)["workgroup_ids"], zeros(12)
    with device.command_buffer() as cb:
        cb.dispatch(kernel, 3, bindings=[out, zeros(4), None], constants=[1, 2, 3, 4, 5])
        with pytest.raises(HipGraphError) as caught:
            cb.dispatch(kernel, 3, bindings=[out])
    cb.replay()
    assert out.to_host(np.uint32).tolist() == [0, 1, 2]
    assert "  found: 1 bindings, 0 constants\n  allowed: 3 bindings, 5 constants of 32 bits\n" in str(caught.value)
    assert len(cb.recording[0].kernarg) == 3 * 8 + 5 * 4


def test_the_wrapper_requires_its_workgroup_size(device, zeros, code):
    kernel = device.load(wrapped(b"AMD1", [Export("saxpby.kd", (2, 2, 1), 2, 3)], [code]))["saxpby"]
    assert kernel.workgroup_size == (2, 2, 1)
    with device.command_buffer() as cb, pytest.raises(HipGraphError, match="allowed: 2 x 2 x 1 = 4 work-items"):
        cb.dispatch(kernel, 1, 64, bindings=[zeros(4)] * 3, constants=[0, 0])


def test_the_modules_of_a_wrapper_are_one_executable(device, zeros, code):
    """Both modules have both kernels, and a global variable; each export is that of the module that it names."""
    exports = [Export("twice", (4, 1, 1), 0, 2, module=1), Export("count_up", (1, 1, 1), 0, 1)]
    executable = device.load(wrapped(b"HIP1", exports, [code, code]))
    x, y, counted = device.from_host(np.arange(4, dtype=np.int32)), zeros(16), zeros(4)
    executable.global_("counter").write(np.uint32(41))
    with device.command_buffer() as cb:
        cb.dispatch(executable["twice"], 1, bindings=[x, y])
        cb.dispatch(executable["count_up"], 1, bindings=[counted])
    cb.replay()
    assert list(executable) == ["twice", "count_up"]
    assert y.to_host(np.int32).tolist() == [0, 2, 4, 6]
    assert executable.global_("counter").to_host(np.uint32).tolist() == [51]


def test_modules_are_there_as_long_as_a_program_needs_them(device, zeros, code):
    exports = [Export("twice", (4, 1, 1), 0, 2, module=1), Export("negate", (4, 1, 1), 0, 2)]
    x, y, z = device.from_host(np.arange(4, dtype=np.int32)), zeros(16), zeros(16)
    with device.load(wrapped(b"HIP1", exports, [code, code])) as executable, device.command_buffer() as cb:
        cb.dispatch(executable["twice"], 1, bindings=[x, y])
        cb.dispatch(executable["negate"], 1, bindings=[x, z])
    cb.replay()
    assert y.to_host(np.int32).tolist() == [0, 2, 4, 6]
    assert z.to_host(np.int32).tolist() == [0, -1, -2, -3]


def test_a_capture_keeps_the_wrapper(device, zeros, code, tmp_path):
    data = wrapped(b"AMD1", [Export("workgroup_ids.kd", (1, 1, 1), 1, 2)], [code], sources={"a.mlir": b"module {}"})
    kernel, out = device.load(data)["workgroup_ids"], device.allocate(12, label="out")
    with device.command_buffer() as cb:
        cb.dispatch(kernel, 3, bindings=[out, None], constants=[7])
    cb.recording.save(tmp_path / "wrapped.hgcb")
    with load_recording(tmp_path / "wrapped.hgcb", device) as program:
        program.replay()
        (entry,) = program.recording.resources.executables.values()
        assert program.recording == cb.recording
        assert program.recording.resources["out"].to_host(np.uint32).tolist() == [0, 1, 2]
    assert entry.verified.source == data
    assert entry.verified.source_files == (("a.mlir", b"module {}"),)
