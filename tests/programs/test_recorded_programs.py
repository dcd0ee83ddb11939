"""`hipgraph-cb record`: what any program does becomes a capture file, however the program ends."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest
from support.child import HANGING, ROOT, environment

from hipgraph_cb import load_recording, open_device
from hipgraph_cb.capture.hgcb import load
from hipgraph_cb.cli import main

SAXPY = ROOT / "hipgraph_cb" / "samples" / "saxpy.gfx942.hsaco"
MULTIPLY_ADD, ADD = bytes.fromhex("04080a76"), bytes.fromhex("04080a02")
"""v_fmac_f32 v5, s4, v4, and v_add_f32 in its place, as llvm-mc encodes them."""
STEPS = """
import ctypes, os, signal, sys
import numpy as np
from hip import hip

def done(result):
    assert int(result[0]) == 0, result[0]
    return result[1] if len(result) == 2 else result[1:]

n = 256
x, y = done(hip.hipMalloc(4 * n)), done(hip.hipMalloc(4 * n))
done(hip.hipMemcpy(x, np.arange(n, dtype=np.float32), 4 * n, hip.hipMemcpyKind.hipMemcpyHostToDevice))
done(hip.hipMemset(y, 0, 4 * n))
module = done(hip.hipModuleLoadData(open(sys.argv[1], "rb").read()))
saxpy = done(hip.hipModuleGetFunction(module, b"saxpy"))
for step in range(3):
    arguments = (y, x, ctypes.c_float(step), ctypes.c_uint(n))
    done(hip.hipModuleLaunchKernel(saxpy, 4, 1, 1, 64, 1, 1, 0, None, None, arguments))
"""
RESULT = """
result = np.empty(n, np.float32)
done(hip.hipMemcpy(result, y, 4 * n, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
print(result[2], flush=True)
"""
NUMBERS = np.arange(256, dtype=np.float32)


def record(file, *words, **variables):
    command = [sys.executable, "-m", "hipgraph_cb", "record", "-o", file, *words]
    return subprocess.run(
        [str(word) for word in command],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=HANGING,
        check=False,
    )


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """The recording of a whole program, and what the recorder said."""
    file = tmp_path_factory.mktemp("recorded") / "steps.hgcb"
    return file, record(file, "--", sys.executable, "-c", STEPS + RESULT, SAXPY)


def test_a_program_is_recorded_and_verified_in_another_process(steps, capsys):
    file, finished = steps
    assert (finished.returncode, finished.stdout) == (0, "6.0\n"), finished.stderr
    name = sys.executable.rpartition("/")[2]
    assert finished.stderr.splitlines()[-1] == f"hipgraph-cb: {file} has 6 commands of {name}"
    with open_device() as device, load_recording(file, device) as program:
        program.replay()
        device.synchronize()
        assert (program.recording.resources["read 1"].to_host("f4") == 3 * NUMBERS).all()
    for backend in ("hip", "hsa"):
        assert main(["replay", "--verify", "--backend", backend, str(file)]) == 0
    capsys.readouterr()


def test_a_kernel_that_was_broken_on_purpose_is_found_in_a_recording(steps, tmp_path, capsys):
    file, _ = steps
    broken = tmp_path / "broken.hsaco"
    code = SAXPY.read_bytes()
    assert code.count(MULTIPLY_ADD) == 1
    broken.write_bytes(code.replace(MULTIPLY_ADD, ADD))
    assert main(["replay", "--against", "hip", "--replace-kernel", f"saxpy={broken}", str(file)]) == 1
    assert "command 2" in capsys.readouterr().out


@pytest.mark.parametrize("end", ["os._exit(7)", "os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(7)"])
def test_a_program_that_ends_early_leaves_what_was_over(tmp_path, end):
    file = tmp_path / "steps.hgcb"
    code = f"{STEPS}\ndone(hip.hipDeviceSynchronize())\n{end}"
    finished = record(file, "--", sys.executable, "-c", code, SAXPY)
    assert finished.returncode == (-signal.SIGKILL if "SIGKILL" in end else 7), finished.stderr
    assert [type(each).__name__ for each in load(file).recording] == ["Update", "Fill", *["Dispatch"] * 3]


def test_a_stretch_of_a_program_begins_with_what_memory_held_then(tmp_path):
    file = tmp_path / "steps.hgcb"
    code = STEPS + RESULT
    finished = record(file, "--from", 3, "--count", 2, "--", sys.executable, "-c", code, SAXPY)
    assert finished.returncode == 0, finished.stderr
    capture = load(file)
    labels = {id: entry.label for id, entry in capture.recording.resources.buffers.items()}
    contents = {labels[id]: np.frombuffer(data, np.float32) for id, data in capture.contents.items()}
    expected = {labels[id]: np.frombuffer(each.data, np.float32) for id, each in capture.expected.items()}
    assert [type(each).__name__ for each in capture.recording] == ["Dispatch", "Dispatch"]
    assert (contents["device memory 0"] == 0).all()
    assert (contents["device memory 1"] == NUMBERS).all()
    assert (expected["device memory 0"] == 3 * NUMBERS).all()


def test_only_what_is_enqueued_within_a_range_is_recorded(tmp_path):
    file = tmp_path / "steps.hgcb"
    ranged = STEPS.replace(
        "for step in range(3):\n",
        "roctx = ctypes.CDLL('libroctx64.so')\nfor step in range(3):\n    roctx.roctxRangePushA(b'step %d' % step)\n",
    ).replace("None, None, arguments))\n", "None, None, arguments))\n    roctx.roctxRangePop()\n")
    finished = record(file, "--range", "step 1", "--", sys.executable, "-c", ranged + RESULT, SAXPY)
    assert finished.returncode == 0, finished.stderr
    recording = load(file).recording
    assert [type(each).__name__ for each in recording] == ["Dispatch"]
    assert recording.group_paths == (("step 1",),)


def test_a_program_in_c_with_threads_is_recorded(tmp_path, compiled, capsys):
    file = tmp_path / "linked.hgcb"
    finished = record(file, "--target", "gfx942,gfx942", "--", compiled("linked"), SAXPY)
    assert finished.returncode == 0, finished.stderr
    assert main(["replay", "--verify", str(file)]) == 0
    capsys.readouterr()


def test_each_process_of_a_program_gets_a_file(tmp_path):
    script = tmp_path / "steps.py"
    script.write_text(STEPS)
    command = f"{sys.executable} {script} {SAXPY}; {sys.executable} {script} {SAXPY}"
    finished = record(tmp_path / "steps.hgcb", "--", "sh", "-c", command)
    assert finished.returncode == 0, finished.stderr
    assert [len(load(tmp_path / name).recording) for name in ("steps.hgcb", "steps-2.hgcb")] == [5, 5]


def test_a_program_without_work_is_reported(tmp_path):
    finished = record(tmp_path / "nothing.hgcb", "--", "true")
    assert finished.returncode == 1
    assert finished.stderr.splitlines()[-1] == (
        "hipgraph-cb record: the program has launched, copied and filled nothing in that stretch"
    )
