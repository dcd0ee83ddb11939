"""A page opened in headless Chromium, and what its document looks like afterwards."""

from __future__ import annotations

import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

from support.child import HANGING
from support.tools import require_tool

BROWSER = "chromium"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--no-first-run",
    "--window-size=1400,900",
)


def document_of(page: Path, *, then: str = "", fragment: str = "") -> str:
    """The document as text, after the page's own script and `then`, a script that runs behind it.

    Needs Chromium (Debian: apt-get install chromium).
    """
    require_tool(BROWSER, "chromium")
    opened = page.with_suffix(".opened.html")
    opened.write_text(page.read_text(encoding="utf-8").replace("</body>", f"<script>{then}</script></body>"))
    profile = f"--user-data-dir={page.parent / 'profile'}"
    command = [
        BROWSER,
        *FLAGS,
        "--disable-background-networking",
        profile,
        "--dump-dom",
        f"{opened.as_uri()}{fragment}",
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=HANGING).stdout


@cache
def _profile() -> TemporaryDirectory[str]:
    """One profile for all pages of this process: making it is what takes most of the time."""
    return TemporaryDirectory(prefix="chromium-profile-", ignore_cleanup_errors=True)


class TextOf(HTMLParser):
    """The text inside the element with an id.

    Attributes:
        text: what `feed` found.
    """

    def __init__(self, identifier: str) -> None:
        super().__init__()
        self.text = ""
        self._identifier = identifier
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._depth or ("id", self._identifier) in attrs:
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        if self._depth:
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.text += data + "\n"


def text_of(document: str, identifier: str) -> str:
    parser = TextOf(identifier)
    parser.feed(document)
    return parser.text
