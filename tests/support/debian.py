"""Packages of Debian's suites, fetched by this machine's own apt-get, without root and without changes to it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.tools import require_tool

_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def download(suites: Sequence[str], packages: Sequence[str], scratch: Path) -> list[Path]:
    """Archives of packages (`name`, `name=version`), from the mirror that this machine uses, in a folder of its own."""
    require_tool("apt-get", "apt")
    form = ["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"]
    rows = [line.split() for line in run(form).splitlines()]
    mirror = next(uri for label, uri in (row for row in rows if len(row) == 2) if label == "Debian")
    sources = [f"deb [signed-by={_KEYRING}] {mirror} {suite} main\n" for suite in suites]
    (scratch / "sources.list").write_text("".join(sources))
    for folder in ("state/lists/partial", "cache/archives/partial", "archives"):
        (scratch / folder).mkdir(parents=True)
    options = {
        "Dir::State": scratch / "state",
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": scratch / "cache",
        "Dir::Etc::sourcelist": scratch / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-q", *(f"-o{key}={value}" for key, value in options.items())]
    run([*apt, "update"])
    run([*apt, "download", *packages], cwd=scratch / "archives")
    return sorted((scratch / "archives").glob("*.deb"))


def run(command: Sequence[str], cwd: Path | None = None) -> str:
    """What a command prints.

    Raises:
        subprocess.CalledProcessError: it failed; `stderr` says why.
    """
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd).stdout
