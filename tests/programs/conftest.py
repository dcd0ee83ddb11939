"""Small programs in C, compiled here, and an environment in which they see virtual GPUs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.child import HANGING, ROOT
from support.stand_in import stand_in, stand_in_for_hip, stand_in_for_hsa
from support.tools import require_tool

from hipgraph_cb.programs.run import RunOptions, prepared

SOURCES = ROOT / "tests" / "fixtures" / "programs"


@pytest.fixture(scope="session")
def environment() -> Iterator[dict[str, str]]:
    """Two virtual GPUs."""
    with prepared(RunOptions(targets="gfx942,gfx942")) as variables:
        yield {name: value for name, value in variables.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="session")
def library_folder(environment: dict[str, str]) -> Path:
    return Path(environment["HIPGRAPH_CB_LIBRARIES"])


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The path of a program of tests/fixtures/programs, compiled with options and linked against AMD's names."""
    folder = tmp_path_factory.mktemp("programs")
    declared = re.findall(
        r"\b(hip[A-Z]\w+|hsa_\w+|nccl[A-Z]\w+)\(", "".join(path.read_text() for path in SOURCES.iterdir())
    )

    def compile_(name: str, *options: str) -> Path:
        require_tool("clang-19")
        program = folder / name
        if not program.exists():
            hip = stand_in_for_hip(folder, sorted({name for name in declared if name.startswith("hip")}))
            hsa = stand_in_for_hsa(folder, sorted({name for name in declared if name.startswith("hsa")}))
            functions = sorted({name for name in declared if name.startswith("nccl")})
            rccl = stand_in(folder, "librccl.so.1", {"": functions})
            command = [
                "clang-19",
                "-O1",
                "-Wall",
                "-Werror",
                "-Wno-unused-function",
                SOURCES / f"{name}.c",
                "-o",
                program,
            ]
            subprocess.run([*command, *options, "-Wl,--as-needed", hip, hsa, rccl, "-ldl", "-lpthread"], check=True)
        return program

    return compile_


@pytest.fixture
def run(environment: dict[str, str]) -> Callable[..., tuple[int, str, str]]:
    """Run a program among the virtual GPUs: exit status, output, error output."""

    def run_(*command: object, **variables: str) -> tuple[int, str, str]:
        finished = subprocess.run(
            [str(word) for word in command],
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=HANGING,
            check=False,
        )
        return finished.returncode, finished.stdout.strip(), finished.stderr.strip()

    return run_
