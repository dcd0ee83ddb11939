"""Content by its hash: what a manifest refers to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from hipgraph_cb.errors import InvalidArgumentError, NotFoundError


class Blobs:
    """Blobs of one file, by SHA-256 in hexadecimal; equal content is there once.

    Attributes:
        contents: all of them.
    """

    def __init__(self, contents: Mapping[str, bytes] | None = None) -> None:
        self.contents: dict[str, bytes] = dict(contents or {})
        self._unused = set(self.contents)

    def add(self, data: bytes) -> str:
        """Keep some content; returns its name."""
        digest = hashlib.sha256(data).hexdigest()
        self.contents[digest] = data
        return digest

    def get(self, digest: object) -> bytes:
        """The content of that name.

        Raises:
            NotFoundError: the file has no such blob.
        """
        data = self.contents.get(digest) if isinstance(digest, str) else None
        if data is None:
            raise NotFoundError("the manifest names a blob that the file does not have", found=repr(digest)[:80])
        self._unused.discard(str(digest))
        return data

    def check_all_used(self) -> None:
        """Refuse a file with content that nothing refers to."""
        if self._unused:
            raise InvalidArgumentError("the file has blobs that its manifest does not name", found=min(self._unused))
