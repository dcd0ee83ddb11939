"""AMD's own HIP runtimes as Debian builds them, with the loader and the C library that they need, in the user's cache.

AMD's two libraries are pinned by version and hash, since they are the judge; what they stand on is taken as the suite
has it. 65 MB are fetched for a version, and 260 MB kept.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from support.debian import download, run

_BASE = (
    "libz3-4 libxml2-16 libedit2 libbsd0 libmd0 libffi8 libtinfo6 libzstd1 zlib1g libnuma1 libstdc++6 libgcc-s1 libc6"
)


class AmdRuntime(NamedTuple):
    """`pinned`: package=version -> SHA-256 of its archive. `soname`: of the HIP library."""

    version: str
    suites: tuple[str, ...]
    pinned: dict[str, str]
    others: str
    soname: str

    @property
    def folder(self) -> Path:
        """Where it is unpacked; fetched if it is not there, and the test is left out when it can't be had."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hipgraph_cb" / "rocm"
        name = hashlib.sha256("".join(self.pinned.values()).encode()).hexdigest()[:12]
        folder = cache / f"{self.version}-{name}"
        if not folder.exists():
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=cache) as scratch:
                self._fetch(Path(scratch)).rename(folder)
        return folder

    @property
    def library(self) -> Path:
        return self.folder / "usr" / "lib" / "x86_64-linux-gnu" / self.soname

    def python(self) -> list[str]:
        """The command that starts this Python on the loader of AMD's suite, whose C library is newer."""
        libraries = [self.library.parent, Path(sys.base_prefix) / "lib", "/usr/lib/x86_64-linux-gnu"]
        return [
            str(self.folder / "usr" / "lib64" / "ld-linux-x86-64.so.2"),
            "--argv0",
            sys.executable,
            "--library-path",
            os.pathsep.join(map(str, libraries)),
            str(Path(sys.executable).resolve()),
        ]

    def _fetch(self, scratch: Path) -> Path:
        try:
            archives = download(self.suites, [*self.pinned, *self.others.split()], scratch)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"AMD's runtime {self.version} can't be had: {error.stderr.strip()[-500:]}")
        _check(archives, self.pinned)
        root = scratch / "root"
        for archive in archives:
            run(["dpkg-deb", "-x", str(archive), str(root)])
        return root


def _check(archives: Sequence[Path], pinned: dict[str, str]) -> None:
    for package, expected in pinned.items():
        (archive,) = (path for path in archives if path.name.startswith(package.split("=")[0] + "_"))
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != expected:
            pytest.fail(f"{archive.name} is another file than the one that was pinned: {found}, not {expected}")


RUNTIMES = {
    "6.4": AmdRuntime(
        "6.4.3",
        ("sid",),
        {
            "libamdhip64-6=6.4.3-5": "0c90c3f0a1f02ab5525a11c5b1879f1cb05bee9c7a2a79aa36863f57c85f7177",
            "libamd-comgr3=7.0.2+dfsg-3": "5e18fa40a84922b5b1ff9815e775ff633b0f7ca6925bea39855ab906c7e08de4",
        },
        f"libllvm21 {_BASE}",
        "libamdhip64.so.6",
    ),
    "7.2": AmdRuntime(
        "7.2.4",
        ("sid", "experimental"),
        {
            "libamdhip64-7=7.2.4-1~exp2": "265743c8647c0200b014062d3fdcea617c1b7c87a214f666a86dc1da8dd53192",
            "libamd-comgr3=7.2.4+dfsg-1~exp1": "798c4b99a029dfc1c6e7b8eea794723308211d72d4e1364c0635118999eec089",
        },
        f"libllvm22 {_BASE}",
        "libamdhip64.so.7",
    ),
}
"""By the profile that follows each."""
