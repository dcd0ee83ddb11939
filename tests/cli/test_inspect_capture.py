"""`hipgraph-cb inspect` on a capture file: what the file was saved with."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hipgraph_cb import Slot, open_device, samples
from hipgraph_cb.cli import main


@pytest.fixture(scope="module")
def device():
    with open_device() as device:
        yield device


@pytest.fixture
def capture(device, tmp_path):
    saxpy = device.load(samples.path("saxpy", device.target), label="code")["saxpy"]
    x, y = (device.allocate(4000, label=label) for label in "xy")
    with device.command_buffer(label="step", binding_capacity=2) as cb:
        cb.fill_buffer(x, 0)
        cb.execution_barrier()
        cb.dispatch(saxpy, 4, 256, args=[y, x, 2.0, Slot(0, type="u32", name="n")])
        cb.dispatch(saxpy, 4, 256, args=[Slot(1, 16, 64), x, 2.0, 16])
    file = tmp_path / "step.hgcb"
    cb.recording.save(file, contents={"x": np.ones(1000, np.float32)}, expected={"x": np.zeros(1000, np.float32)})
    return file, saxpy.executable.verified.content_hash


def test_a_capture_is_described_without_a_device(capture, capsys):
    file, hash = capture
    assert main(["inspect", str(file)]) == 0
    assert capsys.readouterr().out == (
        f"{file}: recording 'step' of 3 commands in 2 layers, written by hipgraph_cb 0.1.0\n"
        "kernel saxpy: 2 dispatches\n"
        "fill: 1 command\n"
        "buffer 0 `x`: 4000 bytes, contents, expected as float32\n"
        "buffer 1 `y`: 4000 bytes\n"
        "slot 0 `n`: a number of type u32, 1 command\n"
        "slot 1: memory of 80 bytes or more, 1 command\n"
        f"code object 2 `code`: gfx942, 1 kernel, sha256 {hash[:16]}\n"
    )


def test_the_same_facts_are_json(capture, capsys):
    file, hash = capture
    assert main(["inspect", "--json", str(file)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["commands"], facts["layers"], facts["launches"], facts["others"]) == (3, 2, {"saxpy": 2}, {"fill": 1})
    assert facts["slots"] == [
        {"index": 0, "name": "n", "type": "u32", "least_bytes": None, "commands": 1},
        {"index": 1, "name": None, "type": None, "least_bytes": 80, "commands": 1},
    ]
    assert facts["code_objects"] == [
        {"id": 2, "label": "code", "target": "gfx942", "sha256": hash, "kernels": 1, "constants": {}}
    ]


def test_a_broken_capture_is_not_sound(capture, capsys):
    file, _ = capture
    file.write_bytes(file.read_bytes()[:-7])
    assert main(["inspect", "--json", str(file)]) == 1
    assert json.loads(capsys.readouterr().out)["sound"] is False
    assert main(["inspect", str(file)]) == 1


def test_what_only_a_code_object_has_is_refused(capture, capsys):
    file, _ = capture
    assert main(["inspect", "--target", "gfx942", str(file)]) == 2
    assert capsys.readouterr().err == (
        "hipgraph-cb inspect: a capture file has no instructions of its own and no target\n"
        "  found: --target\n"
        "  next: leave it out, or give the code object\n"
    )
