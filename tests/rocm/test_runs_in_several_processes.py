"""What ends a process of AMD's runtime costs one test, and the tests behind it are run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import amd_suite
from support.amd_packages import RUNTIMES


@pytest.mark.parametrize("status", [1, -6, 70], ids=["a test that took too long", "a crash", "a device that is broken"])
def test_the_tests_behind_one_that_ended_its_process_are_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int
) -> None:
    processes = iter(
        [(status, [("start", "a"), ("passed", "a", ""), ("start", "b")]), (0, [("start", "c"), ("passed", "c", "")])]
    )

    def run(runtime: object, tests: object, log: Path) -> tuple[int, str]:
        ended, entries = next(processes)
        with log.open("a") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)
        return ended, "the last lines"

    monkeypatch.setattr(amd_suite, "_run", run)
    assert amd_suite.outcomes(RUNTIMES["6.4"], [], tmp_path) == {
        "a": ("passed", ""),
        "b": ("crashed", f"exit status {status}\nthe last lines"),
        "c": ("passed", ""),
    }
