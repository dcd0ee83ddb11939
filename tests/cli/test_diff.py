"""`hipgraph-cb diff`: status 0 for the same work, 1 for other work, 2 for a file that is not a capture file."""

import json

import pytest
from support.fakes import FakeBuffer

from hipgraph_cb.cli import main
from hipgraph_cb.recording.command_buffer import CommandBuffer


def saved(path, pattern, label=None):
    x = FakeBuffer(64, "x")
    with CommandBuffer(label=label) as cb:
        cb.fill_buffer(x, pattern, label=label)
        cb.execution_barrier()
        cb.fill_buffer(x, 2)
    cb.recording.save(path)
    return str(path)


@pytest.fixture
def files(tmp_path):
    return saved(tmp_path / "a", 1), saved(tmp_path / "b", 1, "moved"), saved(tmp_path / "c", 3)


def test_the_same_work_is_status_0(files, capsys):
    assert main(["diff", files[0], files[1]]) == 0
    assert capsys.readouterr().out == f"{files[0]} and {files[1]} do the same work: 2 commands\n"


def test_other_work_is_status_1_and_listed(files, capsys):
    assert main(["diff", files[0], files[2]]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"--- {files[0]}",
        f"+++ {files[2]}",
        "commands",
        "  changed 0: fill `x`[0:64], 03 00 00 00",
        "    pattern: 01 00 00 00 -> 03 00 00 00",
    ]


def test_the_same_as_json(files, capsys):
    assert main(["diff", files[0], files[2], "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["same"] is False
    assert report["commands"] == [
        {
            "kind": "changed",
            "before": 0,
            "after": 0,
            "command": "fill `x`[0:64], 03 00 00 00",
            "details": ["pattern: 01 00 00 00 -> 03 00 00 00"],
        }
    ]
    assert report["barriers"] == report["executables"] == report["resources"] == []


def test_a_file_that_is_not_a_capture_is_status_2(files, capsys):
    assert main(["diff", files[0], __file__]) == 2
    assert "this is no capture file" in capsys.readouterr().err
