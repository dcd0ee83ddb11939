"""The text of source lines, where the files are on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from hipgraph_cb.code_object.debug_info.debug_info import Frame
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.files import open_file
from hipgraph_cb.visible import visible

LARGEST_SOURCE = 16 << 20
LONGEST_LINE = 120


def described(frames: tuple[Frame, ...]) -> Iterator[tuple[str, str]]:
    """What each frame is, and its place with the text of its line: the instruction's own first, then outwards."""
    for index, frame in enumerate(frames):
        text = source_line(frame.file, frame.line)
        place = visible(str(frame))
        yield "inlined at" if index else "source", place if text is None else f"{place}: {text}"


def source_line(path: str, line: int) -> str | None:
    """A line without its margin; None where there is no such file or line. The path is out of a code object."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    if line < 1 or status.st_size > LARGEST_SOURCE:
        return None
    lines = _lines(path, status.st_mtime_ns, status.st_size)
    if line > len(lines):
        return None
    text = visible(lines[line - 1].strip())
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}..."


@lru_cache(maxsize=8)
def _lines(path: str, _changed: int, _size: int) -> list[str]:
    """The lines of a file as it is now; none where it cannot be read."""
    try:
        with open_file(Path(path), "source") as file:
            return file.read(LARGEST_SOURCE).decode("utf-8", "replace").splitlines()
    except (HipGraphError, OSError):
        return []
