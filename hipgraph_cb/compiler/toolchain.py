"""The compiler of the machine: AMD's, or clang 19 and newer, which build code objects without any part of ROCm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from hipgraph_cb.errors import UnavailableError

COMPILER_VARIABLE = "HIPGRAPH_CB_COMPILER"
OLDEST = 19
NEWEST_NAMED = 24
"""clang-19, clang-20 and so on are looked for up to this one."""


class Toolchain(NamedTuple):
    """A compiler.

    Attributes:
        compiler: the program.
        identity: changes with the program.
        rocm: where AMD's headers and device library are installed, or None.
    """

    compiler: Path
    identity: str
    rocm: Path | None


def find_toolchain() -> Toolchain:
    """The compiler that HIPGRAPH_CB_COMPILER names, else AMD's, else the newest clang.

    Raises:
        UnavailableError: there is none, or the one that is named is none.
    """
    rocm = _rocm()
    named = os.environ.get(COMPILER_VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise UnavailableError(
                f"compile: the compiler that {COMPILER_VARIABLE} names is not there", found=named, allowed="a program"
            )
        return _toolchain(Path(found), rocm)
    for path in _candidates(rocm):
        if _version(path) >= OLDEST:
            return _toolchain(path, rocm)
    raise UnavailableError(
        "compile: no compiler for AMD GPUs was found",
        allowed=f"amdclang of ROCm, or clang {OLDEST} or newer with lld",
        next_step=f"install clang-{OLDEST} and lld-{OLDEST}, or name a compiler in {COMPILER_VARIABLE}",
    )


def _candidates(rocm: Path | None) -> Iterator[Path]:
    names = ["amdclang++", *(f"clang-{version}" for version in range(NEWEST_NAMED, OLDEST - 1, -1)), "clang"]
    if rocm is not None and (rocm / "llvm/bin/clang").exists():
        yield rocm / "llvm/bin/clang"
    yield from (Path(found) for found in map(shutil.which, names) if found is not None)


def _rocm() -> Path | None:
    root = Path(os.environ.get("ROCM_PATH") or "/opt/rocm")
    parts = ("include/hip/hip_runtime.h", "amdgcn/bitcode")
    return root if all((root / part).exists() for part in parts) else None


def _toolchain(path: Path, rocm: Path | None) -> Toolchain:
    status = path.resolve().stat()
    return Toolchain(path, f"{path.resolve()} {status.st_size} {status.st_mtime_ns}", rocm)


@lru_cache(maxsize=64)
def _version(path: Path) -> int:
    """The major version of a clang; 0 for what is none."""
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r"clang version (\d+)", answer)
    return int(found[1]) if found else 0
