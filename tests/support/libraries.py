"""Real libraries of kernels, fetched once by the machine's own package clients and kept outside the tree.

Versions are pinned, so that a result means the same next month; a version that is no longer published is an error, and
then the pin has to move. About 410 MB are fetched in all, and 230 MB kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from support.debian import download

SUFFIXES = (".co", ".hsaco")


class Package(NamedTuple):
    """`source`: a suite of Debian, or `pip`; `processors`: those whose code objects are kept, by their file names."""

    source: str
    name: str
    version: str
    processors: tuple[str, ...]


ROCBLAS = Package("experimental", "librocblas5", "7.2.4-1~exp1", ("gfx90a", "gfx942"))
HIPSPARSELT = Package("experimental", "libhipsparselt0", "7.2.4+ds-1~exp1", ("gfx942", "gfx950"))
AITER = Package("pip", "amd-aiter", "0.1.7.post2.dev18", ("gfx942",))
PACKAGES = (ROCBLAS, HIPSPARSELT, AITER)


def code_objects(package: Package) -> list[Path]:
    """The files of a package that hold code objects, fetched if they are not in the cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hipgraph_cb" / "libraries"
    folder = cache / f"{package.name}_{package.version}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            parts = Path(scratch) / "parts"
            parts.mkdir()
            (_from_pip if package.source == "pip" else _from_apt)(package, Path(scratch), parts)
            parts.rename(folder)
    return sorted(file for file in folder.rglob("*") if file.suffix in SUFFIXES)


def _from_apt(package: Package, scratch: Path, parts: Path) -> None:
    (archive,) = download([package.source], [f"{package.name}={package.version}"], scratch)
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as stream:
        wanted = [f"*{processor}*{suffix}" for processor in package.processors for suffix in SUFFIXES]
        subprocess.run(["tar", "-x", "-C", parts, "--wildcards", *wanted], check=True, stdin=stream.stdout)


def _from_pip(package: Package, scratch: Path, parts: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command = [*pip, "--only-binary=:all:", "-d", scratch, f"{package.name}=={package.version}"]
    subprocess.run(command, check=True)
    (archive,) = scratch.glob("*.whl")
    with zipfile.ZipFile(archive) as wheel:
        for name in wheel.namelist():
            if any(processor in name for processor in package.processors):
                wheel.extract(name, parts)
