"""What a process runs at the first call of a virtual library on disk, in its own Python or in one started for it.

`start.c` executes the text of this file, since the Python of the process may not know this package: nothing but the
standard library is imported until the package can be found. The names STARTING are given by who executes it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TypedDict

OLDEST_PYTHON = (3, 10)


class Starting(TypedDict):
    """What the launcher knew.

    Attributes:
        kind: "hip", "hsa", "rccl" or "roctx", the library that was called.
        folder: where the libraries are.
        packages: package -> the folder that it is imported from.
        version: of the Python that these are for.
    """

    kind: str
    folder: str
    packages: dict[str, str]
    version: tuple[int, int]


class PackageFinder(importlib.abc.MetaPathFinder):
    """Finds a few packages and nothing else, where the Python of the process does not have them itself."""

    def __init__(self, packages: dict[str, str]) -> None:
        self.packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top, _, rest = fullname.partition(".")
        if top not in self.packages or (rest and path is None):
            return None
        folders = [self.packages[top]]
        if rest:
            folders = [str(Path(self.packages[top], *fullname.split(".")[:-1]))]
        return importlib.machinery.PathFinder.find_spec(fullname, folders)


def start(starting: Starting) -> None:
    """Fill the slots of the libraries in the process; where that fails, say why: native code answers then."""
    try:
        _check_version(starting)
        sys.meta_path.append(PackageFinder(_usable(starting)))
        from hipgraph_cb.programs.inside import fill

        fill(starting["kind"], starting["folder"])
    except Exception as error:  # noqa: BLE001 - the caller is C code, which cannot take an exception
        _complain(error)


def _check_version(starting: Starting) -> None:
    if sys.version_info < OLDEST_PYTHON:
        found, oldest = ".".join(map(str, sys.version_info[:3])), ".".join(map(str, OLDEST_PYTHON))
        raise ImportError(f"this program runs in Python {found}, and hipgraph_cb needs {oldest} or newer")


def _usable(starting: Starting) -> dict[str, str]:
    """Packages with machine code are for one version of Python."""
    is_same = sys.version_info[:2] == tuple(starting["version"])
    return starting["packages"] if is_same else {"hipgraph_cb": starting["packages"]["hipgraph_cb"]}


def _complain(error: Exception) -> None:
    text = f"hipgraph_cb: the virtual GPU cannot start: {type(error).__name__}: {error}"
    if isinstance(error, ImportError):
        text += f" (in the Python of this program, {sys.executable or sys.prefix}: install hipgraph_cb there)"
    os.write(2, f"{text}\n".encode(errors="backslashreplace"))


if "STARTING" in globals():
    start(globals()["STARTING"])
