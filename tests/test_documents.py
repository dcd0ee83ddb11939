"""Every Python block of the README and the docs runs, in the order of the page and in a process of its own.

A block of text right behind one is what it prints.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.child import HANGING

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.M | re.S)
OPTIONAL = "triton"


def blocks(page: Path) -> list[tuple[str, str]]:
    """The code and what it prints, which is empty where the page does not say."""
    return [(code, printed) for code, printed in BLOCK.findall(page.read_text()) if f"import {OPTIONAL}" not in code]


def neutral(text: str) -> str:
    """Without the addresses, which differ from process to process."""
    return re.sub(r"0x7[0-9a-f]{11}", "ADDRESS", text)


def run_block(code: str, folder: Path) -> str:
    """What it prints. A file, because some compilers want to read the source of a function; what it writes stays in
    the folder."""
    file = folder / "block.py"
    file.write_text(code)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(file)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGING,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(
    ("page", "number"),
    [(page, number) for page in PAGES for number in range(len(blocks(page)))],
    ids=lambda value: value.stem if isinstance(value, Path) else None,
)
def test_every_python_block_runs_and_prints_what_the_page_says(page: Path, number: int, tmp_path: Path) -> None:
    code, printed = blocks(page)[number]
    found = run_block(code, tmp_path)
    assert not printed or neutral(found) == neutral(printed)


def test_the_pages_have_blocks_to_run() -> None:
    assert sum(map(len, map(blocks, PAGES))) >= 5


@pytest.mark.producers
def test_the_blocks_that_need_triton_run_where_it_is_installed(tmp_path: Path) -> None:
    if importlib.util.find_spec(OPTIONAL) is None:
        pytest.skip("triton is not installed: see `make test-producers`")
    (code,) = [code for page in PAGES for code, _ in BLOCK.findall(page.read_text()) if f"import {OPTIONAL}" in code]
    run_block(code, tmp_path)
