"""Run a piece of Python in a process of its own, and look at how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

HANGING = 600
"""Seconds after which a child that hangs is ended; no child that works is near it, however busy the machine."""
ROOT = Path(__file__).resolve().parents[2]


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without ROCm's and our own variables, plus `variables`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ROCM_", "HIPGRAPH_CB_"))}
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    return {**kept, **variables}


def run(code: str, *, timeout: float = HANGING, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `code` to its end; the result has `.returncode`, `.stdout` and `.stderr`."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_and_interrupt(code: str, *, timeout: float = HANGING, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `code`, send SIGINT a moment after it has printed "ready", and wait for its end."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", textwrap.dedent(code)],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        first = process.stdout.readline() if process.stdout else ""
        if first.strip() == "ready":
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, first + stdout, stderr)


def result_of(finished: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """Exit status, output and error output, stripped: to be compared whole."""
    return finished.returncode, finished.stdout.strip(), finished.stderr.strip()
