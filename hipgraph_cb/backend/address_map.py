"""Which buffer of a device an address in a runtime's report is in: runtimes know addresses, not labels."""

from __future__ import annotations

import re
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hipgraph_cb.runtime.buffer import Buffer

Report = Callable[[], "str | None"]

_MOST_BUFFERS = 4096
_FAR = 1 << 20  # bytes from the nearest buffer at which naming it would mislead
_ADDRESS_LINE = re.compile(r"^( *)address: (0x[0-9a-f]+)$", re.M)


class _Known(NamedTuple):
    start: int
    end: int
    label: str | None
    buffer: weakref.ref[Buffer]

    @property
    def is_open(self) -> bool:
        buffer = self.buffer()
        return buffer is not None and not buffer.closed

    def distance(self, address: int) -> int:
        """Bytes between the address and the buffer; 0 inside."""
        return max(self.start - address, address - self.end + 1, 0)

    def describe(self, address: int) -> str:
        name = "a buffer without a label" if self.label is None else f"`{self.label}`"
        whole = f"{name}, {self.end - self.start} bytes"
        if address >= self.end:
            place = f"{address - self.end} bytes past the end of {whole}"
        elif address < self.start:
            place = f"{self.start - address} bytes before {whole}"
        else:
            place = f"{address - self.start} bytes into {whole}"
        return place if self.is_open else f"{place}, which was closed"


class AddressMap:
    """The latest buffers of a device, closed ones too: a use after free is reported with the label."""

    def __init__(self) -> None:
        self._known: deque[_Known] = deque(maxlen=_MOST_BUFFERS)

    def note(self, buffer: Buffer) -> None:
        """Remember a buffer that was just made."""
        start = buffer.address
        self._known.append(_Known(start, start + buffer.size, buffer.label, weakref.ref(buffer)))

    def describe(self, address: int) -> str | None:
        """Which buffer holds the address, or else the nearest one; None if none is near.

        Open buffers come first, then those made last.
        """
        near = [known for known in reversed(tuple(self._known)) if known.distance(address) < _FAR]
        if not near:
            return None
        nearest = min(near, key=lambda known: (known.distance(address) > 0, not known.is_open, known.distance(address)))
        return nearest.describe(address)

    def explained(self, report: Report | None) -> Report | None:
        """`report` with a line behind each address in or near one of these buffers."""
        if report is None:
            return None

        def explain() -> str | None:
            text = report()
            return text if text is None else _ADDRESS_LINE.sub(self._with_place, text)

        return explain

    def _with_place(self, found: re.Match[str]) -> str:
        place = self.describe(int(found[2], 16))
        return found[0] if place is None else f"{found[0]}\n{found[1]}in this device's buffers: {place}"
