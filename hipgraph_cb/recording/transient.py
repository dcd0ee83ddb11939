"""Memory that a recording has for itself, as its commands are given it."""

from __future__ import annotations

from typing import NamedTuple

from hipgraph_cb.errors import OutOfRangeError
from hipgraph_cb.recording.validation import integer


class TransientView(NamedTuple):
    """A part of a transient buffer."""

    buffer: Transient
    offset: int
    length: int


class Transient:
    """Memory that exists within a recording. It can be given where a buffer can, in the command buffer that made it.

    Attributes:
        size: bytes.
        label: the name that messages and exports show, or None.
        device_number: which device of a group has it; 0 for a single device.
    """

    is_transient = True
    offset = 0

    def __init__(self, maker: object, size: int, label: str | None, device_number: int = 0) -> None:
        self._maker = maker
        self.size = size
        self.label = label
        self.device_number = device_number

    @property
    def buffer(self) -> Transient:
        """Itself."""
        return self

    @property
    def length(self) -> int:
        """Bytes; the same as `size`."""
        return self.size

    def view(self, offset: int = 0, length: int | None = None) -> TransientView:
        """The bytes from `offset` on; a length of None is all that is left.

        Raises:
            OutOfRangeError: the part is not within the buffer.
        """
        start = integer(offset, "offset")
        count = max(self.size - start, 0) if length is None else integer(length, "length")
        if start + count > self.size:
            raise OutOfRangeError(
                "view: the range is outside",
                where=repr(self),
                found=f"offset {start}, length {count}",
                allowed=f"bytes 0 to {self.size}",
            )
        return TransientView(self, start, count)

    def is_of(self, maker: object) -> bool:
        """Whether this command buffer made it."""
        return self._maker is maker

    def __repr__(self) -> str:
        return f"<transient buffer{'' if self.label is None else f' {self.label!r}'} of {self.size} bytes>"
