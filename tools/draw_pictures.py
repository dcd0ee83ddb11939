"""Draws the pictures of the documents: the page of the recording in docs/debugging.md, as Chromium shows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
SIZE = "1000,400"


def main() -> None:
    (code,) = [block for block in BLOCK.findall((DOCS / "debugging.md").read_text()) if "to_html" in block]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"HIPGRAPH_CB_VIRTUAL": "gfx942"}
        subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True)
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
        command += [f"--user-data-dir={folder}/profile", f"--window-size={SIZE}", "--virtual-time-budget=2000"]
        command += [f"--screenshot={DOCS / 'images' / 'graph.png'}", (Path(folder) / "step.html").as_uri() + "#c2"]
        subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()
