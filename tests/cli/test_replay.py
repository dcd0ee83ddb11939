"""`hipgraph-cb replay`: what a capture file leaves, and where two replays differ."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.patched import ended_at_once

from hipgraph_cb import Slot, open_device
from hipgraph_cb.capture.expected import Expected
from hipgraph_cb.cli import main

FIXTURES = Path(__file__).parent.parent / "fixtures"
KERNELS = FIXTURES / "conformance" / "conformance.gfx942.hsaco"
INPUT = np.array([1, 2, 3, 4], np.int32)


@pytest.fixture(scope="module")
def device():
    with open_device() as device:
        yield device


def record(device):
    """b = -a; then c = 2 * b beside d = c's neighbour; with its buffers."""
    kernels = device.load(KERNELS)
    a = device.from_host(INPUT, label="a")
    b, c, d = (device.from_host(np.zeros(4, np.int32), label=name) for name in "bcd")
    with device.command_buffer(label="chain") as cb:
        cb.dispatch(kernels["negate"], 1, args=[a, b], label="first")
        cb.execution_barrier()
        cb.fill_buffer(d, 9)
        cb.dispatch(kernels["twice"], 1, args=[b, c], label="second")
    return cb.recording, cb


@pytest.fixture
def file(device, tmp_path):
    recording, cb = record(device)
    before = recording.snapshot()
    cb.replay()
    expected = {name: recording.resources[name].to_host(np.int32) for name in "abcd"}
    assert expected["c"].tolist() == [-2, -4, -6, -8]
    path = tmp_path / "chain.hgcb"
    recording.save(path, contents=before, expected=expected)
    return path


@pytest.fixture
def broken(tmp_path):
    """`twice` does nothing."""
    path = tmp_path / "broken.hsaco"
    path.write_bytes(ended_at_once(KERNELS.read_bytes(), "twice"))
    return path


def run(capsys, *words):
    status = main(["replay", *map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_replay_is_good_when_nothing_is_asked_of_it(file, capsys):
    assert main(["replay", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        f"{file}: <Recording 'chain': 3 commands, 2 layers, 4 buffers, 1 executable, 0 slots>, "
        "written by hipgraph_cb 0.1.0"
    )
    assert lines[2] == "replayed 1 time"


def test_verify_finds_what_the_file_expects_in_every_replay(file, capsys):
    status, report = run(capsys, file, "--verify", "--times", "3", "--time")
    assert (status, report["agrees"], report["verified"], report["replays"]) == (0, True, 4, 3)
    assert report["differences"] == []
    assert 0 < report["seconds"]["best"] <= report["seconds"]["median"]
    assert main(["replay", str(file), "--verify"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "4 buffers hold what the file expects"


def test_verify_names_the_buffer_the_offset_and_both_values(file, broken, capsys):
    status, report = run(capsys, file, "--verify", "--replace-kernel", f"twice={broken}")
    assert (status, report["agrees"]) == (1, False)
    (row,) = report["differences"]
    assert (row["buffer"], row["offset"], row["found"], row["expected"]) == ("`c`", 0, "0", "-2")
    assert row["text"] == "byte 0 (int32 0): 0 instead of -2; 4 of 4 elements differ"
    (change,) = report["replaced"]["twice"]
    assert change.startswith("code: ")


def test_verify_without_expected_contents_cannot(device, tmp_path, capsys):
    record(device)[0].save(tmp_path / "bare.hgcb")
    assert main(["replay", str(tmp_path / "bare.hgcb"), "--verify"]) == 2
    assert "the file does not say what to expect" in capsys.readouterr().err


def test_tolerances_are_those_of_the_declared_type(device, tmp_path, capsys):
    x = device.from_host(np.array([1, 100], np.float32), label="x")
    with device.command_buffer() as cb:
        cb.fill_buffer(x, np.float32(1), length=4)
    for name, wanted, status in (
        ("close", np.array([1 + 1e-6, 100 + 1e-4], np.float32), 0),
        ("far", np.array([1, 100.1], np.float32), 1),
        ("allowed", Expected.of(np.array([1, 101], np.float32), rtol=0.02), 0),
        ("bytes", np.array([1 + 1e-6, 100], np.float32).tobytes(), 1),
    ):
        cb.recording.save(tmp_path / name, contents=True, expected={"x": wanted})
        assert main(["replay", str(tmp_path / name), "--verify"]) == status, name
    capsys.readouterr()


def test_against_the_same_backend_everything_is_equal(file, capsys):
    status, report = run(capsys, file, "--against", "hip")
    assert (status, report["divergence"], report["against"]["backend"]) == (0, None, "hip")


def test_against_finds_the_first_command_after_which_a_replaced_kernel_differs(file, broken, capsys):
    words = [str(file), "--against", "hip", "--replace-kernel", f"twice={broken}"]
    status, report = run(capsys, *words)
    assert status == 1
    found = report["divergence"]
    assert (found["command"], found["where"]) == (2, "command 2 'second' in 'chain'")
    assert (found["buffer"], found["offset"], found["found"], found["expected"]) == ("`c`", 0, "0", "-2")
    assert main(["replay", *words]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "the first difference is after command 2 'second' in 'chain': dispatch twice",
        "  in `c`: byte 0 (int32 0): 0 instead of -2; 4 of 4 elements differ",
    ]


def test_a_replacement_with_another_signature_is_refused_with_the_difference(file, tmp_path, capsys):
    data = KERNELS.read_bytes()
    other = tmp_path / "other.hsaco"
    other.write_bytes(data.replace(b".type_name\xa4int*", b".type_name\xa4uin*"))
    assert other.read_bytes() != data
    assert main(["replay", str(file), "--replace-kernel", f"twice={other}"]) == 2
    error = capsys.readouterr().err
    assert "the replacement of kernel 'twice' has another signature" in error
    assert "-  arg0: int* (pointer, 8 bytes at offset 0)\n" in error
    assert "+  arg0: uin* (pointer, 8 bytes at offset 0)\n" in error


def test_a_kernel_without_a_dispatch_cannot_be_replaced(file, broken, capsys):
    assert main(["replay", str(file), "--replace-kernel", f"thrice={broken}"]) == 2
    assert "allowed: negate, twice" in capsys.readouterr().err


def test_slots_take_their_contents_from_files(device, tmp_path, capsys):
    y = device.from_host(bytes(8), label="y")
    with device.command_buffer(binding_capacity=1) as cb:
        cb.copy_buffer(Slot(0, 4, 8), y)
    path, data = tmp_path / "slots.hgcb", tmp_path / "slot"
    cb.recording.save(path, expected={"y": bytes(range(4, 12))})
    data.write_bytes(bytes(range(16)))
    assert main(["replay", str(path), "--verify"]) == 2
    assert "give them: --bind 0=FILE, or save the recording with contents={Slot(0): ...}" in capsys.readouterr().err
    assert main(["replay", str(path), "--verify", "--bind", f"0={data}"]) == 0
    data.write_bytes(bytes(16))
    assert main(["replay", str(path), "--verify", "--bind", f"0={data}"]) == 1
    data.write_bytes(bytes(4))
    assert main(["replay", str(path), "--bind", f"0={data}"]) == 2
    capsys.readouterr()


def test_slots_for_numbers_take_their_values_by_name_or_from_the_file(device, tmp_path, capsys):
    kernels = device.load(KERNELS)
    x, y = device.from_host(np.array([1, 2, 3, 4], np.uint32), label="x"), device.from_host(bytes(16), label="y")
    with device.command_buffer(binding_capacity=3) as cb:
        scale, add = Slot(0, type="u32", name="scale"), Slot(1, type="u32")
        cb.dispatch(kernels["scale_and_offset"], 1, args=[x, y, scale, add], label="scaled")
    path = tmp_path / "numbers.hgcb"
    contents = {"x": np.array([1, 2, 3, 4], np.uint32), Slot(1): np.uint32(5)}
    cb.recording.save(path, contents=contents, expected={"y": np.array([15, 25, 35, 45], np.uint32)})
    assert main(["replay", str(path), "--verify"]) == 2
    assert capsys.readouterr().err == (
        "hipgraph-cb replay: nothing is bound to slot 0 `scale`\n"
        "  where: first used by command 0 'scaled', as argument arg2: uint\n"
        "  allowed: a number of type u32\n"
        "  next: give it: --bind scale=VALUE\n"
    )
    assert main(["replay", str(path), "--verify", "--bind", "scale=10"]) == 0
    assert main(["replay", str(path), "--verify", "--bind", "0=0xa", "--bind", "1=6"]) == 1
    for wrong in ("scale=ten", "scale=-1", "nobody=1", "2=1"):
        assert main(["replay", str(path), "--bind", wrong]) == 2
    capsys.readouterr()


def test_check_names_the_first_command_that_wrote_nan(device, tmp_path, capsys):
    kernels = device.load(KERNELS)
    x = device.from_host(np.array([0, 1, 2, 3], np.float32), label="x")
    for name, scale in (("good", 1.0), ("bad", np.float32(np.inf))):
        with device.command_buffer(label=name) as cb:
            cb.dispatch(kernels["saxpby"], 1, 64, args=[x, x, x, scale, 4], label="scale")
        cb.recording.save(tmp_path / name, contents=True)
    assert main(["replay", str(tmp_path / "good"), "--check", "nan"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no command wrote NaN through a pointer to floats"
    assert main(["replay", str(tmp_path / "bad"), "--check", "nan"]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "the first to fail is command 0 'scale' in 'bad'",
        "  NaN in 1 of 4 elements, first in element 0, in arg0: float* = `x`[0:16]",
    ]


@pytest.mark.parametrize("words", [["missing.hgcb"], [__file__]])
def test_what_cannot_be_replayed_is_status_2_without_a_traceback(words, capsys):
    assert main(["replay", *words]) == 2
    assert capsys.readouterr().err.startswith("hipgraph-cb replay: ")


@pytest.mark.parametrize("words", [["--bind", "x="], ["--bind", "1"], ["--times", "0"], ["--replace-kernel", "x"]])
def test_a_malformed_option_is_a_usage_error(words, file, capsys):
    with pytest.raises(SystemExit) as raised:
        main(["replay", str(file), *words])
    assert raised.value.code == 2
    capsys.readouterr()
