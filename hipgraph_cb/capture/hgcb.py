"""Capture files: a recording, what it needs, and optionally what its buffers held. See docs/capture_format.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.capture import archive
from hipgraph_cb.capture.capture import Capture
from hipgraph_cb.capture.document import inside
from hipgraph_cb.capture.manifest import decode, encode
from hipgraph_cb.capture.memory import given_contents, given_expected
from hipgraph_cb.errors import FailedPreconditionError
from hipgraph_cb.files import file_path
from hipgraph_cb.recording.formats import FileFormat
from hipgraph_cb.recording.recording import Recording

if TYPE_CHECKING:
    import os


def save(
    recording: Recording,
    path: str | os.PathLike[str],
    *,
    contents: Any = None,
    expected: Any = None,
    allow_empty: bool = False,
) -> None:
    """Write a capture file. See `Recording.save`."""
    target = file_path(path, "save")
    if not len(recording) and not allow_empty:
        raise FailedPreconditionError(
            "save: the recording has no commands",
            where=f"saving {target.name}",
            next_step="look for zero lengths and counts, which record nothing, or pass allow_empty=True",
        )
    capture = Capture(recording, given_contents(recording, contents), given_expected(recording, expected))
    with inside(f"saving {target.name}"):
        manifest, blobs = encode(capture)
        archive.write_archive(target, manifest, blobs)


def load(path: str | os.PathLike[str]) -> Capture:
    """Read a capture file. See `Recording.load`."""
    source = file_path(path, "load")
    with inside(str(source)):
        return decode(*archive.read_archive(source))


FORMAT = FileFormat("hgcb", save, load)
