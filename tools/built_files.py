"""The files here that a compiler made. Each is named in the `provenance.json` beside it, with the command line that
makes it from its source, the compiler's version and its sha256. A file of another compiler has an origin instead.

    python tools/built_files.py build   # make each file again, in place, and write down what came out
    python tools/built_files.py check   # make each file again elsewhere, and compare
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[1]
SOURCES = ("hipgraph_cb", "tests")
MANIFEST = "provenance.json"
TOOLS = ("clang-19", "ld.lld-19")
T = TypeVar("T")
MISSING = "make fixtures needs clang-19 and lld-19 (Debian: apt-get install clang-19 lld-19)"


def manifests(root: Path = ROOT) -> list[Path]:
    return sorted(path for name in SOURCES for path in (root / name).rglob(MANIFEST))


def read(manifest: Path) -> dict[str, dict[str, str]]:
    entries: dict[str, dict[str, str]] = json.loads(manifest.read_text())
    return entries


def write(manifest: Path, entries: dict[str, dict[str, str]]) -> None:
    manifest.write_text(json.dumps(entries, indent=1) + "\n")


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def compiler_version(program: str) -> str:
    output = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    return output.splitlines()[0]


def built_here(entries: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {name: entry for name, entry in entries.items() if "command" in entry}


def make(folder: Path, entries: dict[str, dict[str, str]]) -> None:
    """Run the command lines in `folder`, in their order, with an environment that is the same everywhere."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0"}
    for name, entry in entries.items():
        (folder / name).unlink(missing_ok=True)
        done = subprocess.run(
            shlex.split(entry["command"]), cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{folder / name}: {entry['command']}\n{done.stderr}")
        (folder / name).chmod(0o644)


def rebuild(manifest: Path) -> None:
    """Make the files of one folder again, and write the compiler's version and what came out beside them."""
    entries = read(manifest)
    make(manifest.parent, built_here(entries))
    for name, entry in built_here(entries).items():
        entry["compiler"] = compiler_version(shlex.split(entry["command"])[0])
        entry["sha256"] = sha256(manifest.parent / name)
    write(manifest, entries)


def differences(manifest: Path) -> Iterator[str]:
    """What the files of one folder are not, made again from a copy of the folder."""
    entries = built_here(read(manifest))
    for name, entry in entries.items():
        if (found := compiler_version(shlex.split(entry["command"])[0])) != entry["compiler"]:
            made_by = entry["compiler"]
            yield f"{manifest.parent / name}: made by {made_by}, and here is {found}: bytes cannot be compared"
            return
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "copy"
        shutil.copytree(manifest.parent, copy, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
        make(copy, entries)
        for name in entries:
            if (copy / name).read_bytes() != (manifest.parent / name).read_bytes():
                yield f"{manifest.parent / name}: the command line in {MANIFEST} makes other bytes; run `make fixtures`"


def every(work: Callable[[Path], T]) -> list[T]:
    """`work` for each folder, several at a time."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, manifests()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("build", "check"))
    action = parser.parse_args().action
    if not all(map(shutil.which, TOOLS)):
        print(f"{MISSING}; the prebuilt files stay as they are", file=sys.stderr)
        return 1 if action == "build" or os.environ.get("CI") else 0
    if action == "build":
        every(rebuild)
        return 0
    found = [line for lines in every(lambda manifest: list(differences(manifest))) for line in lines]
    print("\n".join(found) or "every built file comes from its source")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
