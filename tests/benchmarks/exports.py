"""Drawing a recording of 10 000 commands in layers of 16, and opening the page in a browser where there is one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.recording import Recording
from tests.benchmarks.timing import Figure, median_seconds
from tests.support.browser import BROWSER, FLAGS

COMMANDS, WIDTH = 10_000, 16


def figures() -> list[Figure]:
    recording = _recording()
    page = recording.to_html()
    rows = [
        Figure(f"{COMMANDS} commands to DOT", median_seconds(recording.to_dot), hold="1 s"),
        Figure(f"{COMMANDS} commands to Mermaid", median_seconds(recording.to_mermaid)),
        Figure(f"{COMMANDS} commands to HTML, {len(page) >> 10} KiB", median_seconds(recording.to_html)),
    ]
    if shutil.which(BROWSER):
        rows.append(Figure("that page opened in headless Chromium", _opening_seconds(page), hold="3 s"))
    return rows


def _recording() -> Recording:
    from tests.support.fakes import FakeBuffer, saxpy

    x, y, kernel = FakeBuffer(1 << 20, "x"), FakeBuffer(1 << 20, "y"), saxpy()
    with CommandBuffer(label="large") as cb:
        for index in range(COMMANDS):
            if index % WIDTH == 0:
                cb.execution_barrier()
            place = y.view(64 * (index % WIDTH), 64)
            cb.dispatch(kernel, 4, 64, args=[place, x, 2.5, index])
    return cb.recording


def _opening_seconds(page: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page)
        command = [BROWSER, *FLAGS, f"--user-data-dir={folder}/profile", "--dump-dom", file.as_uri()]
        return median_seconds(lambda: subprocess.run(command, check=True, capture_output=True), runs=3)
