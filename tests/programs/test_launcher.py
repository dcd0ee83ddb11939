"""`hipgraph-cb run`: what it hands to a program, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.child import HANGING, environment

from hipgraph_cb.errors import UnavailableError
from hipgraph_cb.programs import interpreter

COMMAND = [sys.executable, "-m", "hipgraph_cb", "run"]
LINE = "hipgraph-cb: no real GPU is used: kernels of {} run on the CPU, as virtual GPU {}"


def launch(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], env=environment(**variables), capture_output=True, text=True, timeout=HANGING, check=False
    )


def test_options_become_variables_and_the_folder_goes_with_the_program(tmp_path):
    variables = "$HIPGRAPH_CB_VIRTUAL $HIPGRAPH_CB_VIRTUAL_SEED $HIPGRAPH_CB_SCHEDULE $HIPGRAPH_CB_TRACE"
    script = f"echo {variables}; ls -d $ROCM_PATH; exit 9"
    options = ["--target", "gfx942, gfx1100", "--seed", "7", "--schedule", "random", "--trace", "trace.jsonl"]
    finished = launch(*options, "--", "sh", "-c", script, TMPDIR=str(tmp_path))
    reported, folder = finished.stdout.splitlines()
    assert finished.returncode == 9
    assert reported == f"gfx942,gfx1100 7 random {Path.cwd() / 'trace.jsonl'}"
    assert Path(folder).parent == tmp_path
    assert list(tmp_path.iterdir()) == []
    assert finished.stderr.strip() == LINE.format("sh", "gfx942, gfx1100, waves in random order")


def test_a_program_that_a_signal_ended_ends_the_launcher_by_it():
    assert launch("--", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM


def test_signals_are_passed_on_to_the_program():
    script = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.01; done"
    with subprocess.Popen(
        [*COMMAND, "--", "sh", "-c", script],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == "ready\n"
        os.kill(launcher.pid, signal.SIGTERM)
        assert launcher.communicate(timeout=HANGING)[0] == "caught\n"
    assert launcher.returncode == 5


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "hipgraph-cb run: no program is named\n  next: hipgraph-cb run -- PROGRAM ARGS..."),
        (
            ["--", "/no/such/program"],
            LINE.format("/no/such/program", "gfx942")
            + "\nhipgraph-cb run: the program cannot be started\n  found: /no/such/program: No such file or directory",
        ),
        (
            ["--target", "gfx1", "--", "true"],
            "hipgraph-cb run: target ID 'gfx1' is not valid\n  found: processor 'gfx1'\n"
            "  allowed: [amdgcn-amd-amdhsa--]PROCESSOR[:sramecc+|-][:xnack+|-], such as gfx942:sramecc+:xnack-",
        ),
    ],
    ids=["no program", "missing program", "unknown target"],
)
def test_what_cannot_run_is_refused(words, message):
    finished = launch(*words)
    assert (finished.returncode, finished.stderr.strip()) == (2, message)


def test_a_python_without_a_shared_library_is_refused(monkeypatch):
    monkeypatch.setattr(interpreter, "_candidates", lambda: iter([Path("/nowhere")]))
    with pytest.raises(UnavailableError) as caught:
        interpreter.this_interpreter()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert str(caught.value).splitlines()[0] == "this Python cannot be started in other programs"
    assert f"apt-get install libpython{version}" in str(caught.value)
