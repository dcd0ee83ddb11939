"""Run tests on one of AMD's runtimes, in as many processes as it takes, and say how each ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from support.amd_packages import AmdRuntime
from support.child import ROOT, environment


def outcomes(runtime: AmdRuntime, tests: Sequence[str], folder: Path) -> dict[str, tuple[str, str]]:
    """Test -> `passed`, `failed`, `skipped` or `crashed`, and its message.

    Raises:
        RuntimeError: a process ended before it ran a test.
    """
    log = folder / "outcomes.jsonl"
    log.touch()
    found: dict[str, tuple[str, str]] = {}
    while True:
        status, text = _run(runtime, tests, log)
        before = len(found)
        found = _read(log)
        was_cut = ("crashed", "") in found.values()  # a test that takes too long ends the process with 1 too
        if status in (0, 1, 5) and not was_cut:  # pytest ran to its end: all well, failures, no test left
            return found
        if len(found) == before:
            raise RuntimeError(f"a process of AMD's {runtime.version} ended with {status} before a test ran:\n{text}")
        last = list(found)[-1]
        if found[last][0] == "crashed":
            found[last] = "crashed", f"exit status {status}\n{text}"
            with log.open("a") as entries:
                entries.write(json.dumps(["crashed", last, found[last][1]]) + "\n")


def _run(runtime: AmdRuntime, tests: Sequence[str], log: Path) -> tuple[int, str]:
    folders = [ROOT, ROOT / "tests", sysconfig.get_path("purelib")]
    variables = {
        "PYTHONHOME": sys.base_prefix,
        "HIPGRAPH_CB_VIRTUAL": "gfx942",
        "HIPGRAPH_CB_AMD_HIP": str(runtime.library),
        "HIPGRAPH_CB_AMD_LOG": str(log),
        "AMD_LOG_LEVEL": "0",
    }
    environ = environment(**variables) | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [*runtime.python(), "-m", "pytest", "-q", "-p", "support.amd_plugin", "-p", "no:cacheprovider"]
    command += ["-m", "not long", *tests]
    finished = subprocess.run(command, env=environ, capture_output=True, text=True, cwd=ROOT, check=False)
    return finished.returncode, finished.stderr[:1500] + finished.stdout[-1500:]


def _read(log: Path) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for outcome, test, *message in map(json.loads, log.read_text().splitlines()):
        if outcome == "start":
            found[test] = "crashed", ""
        elif found.get(test, ("crashed",))[0] in ("crashed", "passed"):  # a failure of the teardown counts
            found[test] = outcome, *message
    return found
