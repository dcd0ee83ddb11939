"""Programs that nobody here wrote, run with `hipgraph-cb run` as they are. `make test-clients` installs them."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.child import HANGING, environment

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def run_client(record_property: Callable[[str, object], None]) -> Callable[..., list[str]]:
    """Run a program of tests/clients/programs; returns the lines that it printed.

    Args:
        package: the client, left out by name where it is not installed.
        does: what the program does with it, for the table of clients.
        needs: what that took beside `hipgraph-cb run`.
    """

    def run(package: str, program: str, *words: str, does: str, needs: str = "", **variables: str) -> list[str]:
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"{package} is not installed: see `make test-clients`")
        for name, value in (("client", f"{package} {version}"), ("does", does), ("needs", needs)):
            record_property(name, value)
        command = [sys.executable, "-m", "hipgraph_cb", "run", "--", sys.executable, PROGRAMS / program, *words]
        finished = subprocess.run(
            command, env=environment(**variables), capture_output=True, text=True, timeout=HANGING, check=False
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout.splitlines()

    return run
