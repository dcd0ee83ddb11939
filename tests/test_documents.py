"""Every Python block of the README and the docs runs, in the order of the page and in a process of its own."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
OPTIONAL = "triton"


def blocks(page: Path) -> list[str]:
    return [block for block in BLOCK.findall(page.read_text()) if f"import {OPTIONAL}" not in block]


def run_block(code: str, folder: Path) -> None:
    """A file, because some compilers want to read the source of a function; what it writes stays in the folder."""
    file = folder / "block.py"
    file.write_text(code)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(file)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stderr}"


@pytest.mark.parametrize(
    ("page", "number"),
    [(page, number) for page in PAGES for number in range(len(blocks(page)))],
    ids=lambda value: value.stem if isinstance(value, Path) else None,
)
def test_every_python_block_of_a_page_runs(page: Path, number: int, tmp_path: Path) -> None:
    run_block(blocks(page)[number], tmp_path)


def test_the_pages_have_blocks_to_run() -> None:
    assert sum(map(len, map(blocks, PAGES))) >= 5


@pytest.mark.producers
def test_the_blocks_that_need_triton_run_where_it_is_installed(tmp_path: Path) -> None:
    if importlib.util.find_spec(OPTIONAL) is None:
        pytest.skip("triton is not installed: see `make test-producers`")
    (code,) = [code for page in PAGES for code in BLOCK.findall(page.read_text()) if f"import {OPTIONAL}" in code]
    run_block(code, tmp_path)
