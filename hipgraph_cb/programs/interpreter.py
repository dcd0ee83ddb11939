"""The Python that a program without one is given: its shared library, its name, and where its packages are."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hipgraph_cb.errors import UnavailableError

PACKAGES = ("hipgraph_cb", "numpy", "msgpack", "backports.zstd")
"""What the virtual libraries import beside the standard library."""


@dataclass(frozen=True)
class Interpreter:
    """A Python that can be started in a process that has none.

    Attributes:
        libpython: its shared library.
        program: the executable whose standard library and version it has.
        folders: package -> the folder that it is imported from.
    """

    libpython: Path
    program: str
    folders: dict[str, str]


def this_interpreter() -> Interpreter:
    """The Python that runs this.

    Raises:
        UnavailableError: it has no shared library.
    """
    for path in _candidates():
        if path.is_file():
            return Interpreter(path, sys.executable, dict(_folders()))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    raise UnavailableError(
        "this Python cannot be started in other programs",
        where=sys.executable,
        found=f"no libpython{version}.so.1.0 in {sysconfig.get_config_var('LIBDIR')}",
        allowed="a Python with a shared library",
        next_step=f"install it (Debian: apt-get install libpython{version}), or build Python with --enable-shared",
    )


def _candidates() -> Iterator[Path]:
    name = f"libpython{sys.version_info.major}.{sys.version_info.minor}{sys.abiflags}.so.1.0"
    library, multiarch = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("MULTIARCH")
    yield Path(sys.base_prefix) / "lib" / name
    if library:
        yield Path(library) / name
        yield Path(library) / (multiarch or "") / name


def _folders() -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        top = package.split(".", maxsplit=1)[0]
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        if spec is not None and spec.origin is not None:
            depth = package.count(".") + 1
            yield top, str(Path(spec.origin).parents[depth])
