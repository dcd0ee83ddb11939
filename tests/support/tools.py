"""Independent programs that results are compared with."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def run_tool(*command: str) -> str:
    """What a tool of LLVM 19 prints.

    Continuous integration installs the tools and fails without them; on a machine of a user who lacks them, the
    comparison is left out by name.
    """
    require_tool(command[0])
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def require_tool(name: str, packages: str = "clang-19 lld-19 llvm-19") -> None:
    """Leave the test out when `name` is not installed; fail in continuous integration."""
    if shutil.which(name) is not None:
        return
    message = f"{name} is not installed (Debian: apt-get install {packages})"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
