"""Run a piece of Python in a process of its own, and look at how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

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


def interrupt_when_waiting(library: Any) -> None:
    """In a child: press Ctrl-C as soon as a call of the virtual library waits."""

    def press() -> None:
        while not library.machine.calls.sleepers:
            time.sleep(0)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def interrupt_after(call: Any, times: int) -> Any:
    """In a child: a function that does what `call` does, and presses Ctrl-C when it has been called so often."""
    calls = iter(range(times))

    def counted(*arguments: Any) -> Any:
        if next(calls, None) is None:
            os.kill(os.getpid(), signal.SIGINT)
        return call(*arguments)

    return counted


def result_of(finished: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """Exit status, output and error output, stripped: to be compared whole."""
    return finished.returncode, finished.stdout.strip(), finished.stderr.strip()
