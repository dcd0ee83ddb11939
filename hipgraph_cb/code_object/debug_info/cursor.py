"""Numbers and texts from the bytes of one section, with every offset checked, and a budget for all of it."""

from __future__ import annotations

from hipgraph_cb.errors import InvalidArgumentError, ResourceExhaustedError

MOST_LEB_BYTES = 10
"""Of a number of variable length; 64 bits take as many."""
FREE_STEPS, STEPS_FOR_A_BYTE, MOST_STEPS = 4096, 2, 1 << 25


class Budget:
    """How many steps one reading may take: in proportion to its bytes, so that small files are quick to read."""

    def __init__(self, size: int) -> None:
        self.limit = min(FREE_STEPS + STEPS_FOR_A_BYTE * size, MOST_STEPS)
        self._left = self.limit

    def spend(self, steps: int = 1) -> None:
        """Take steps.

        Raises:
            ResourceExhaustedError: there are none left.
        """
        self._left -= steps
        if self._left < 0:
            raise ResourceExhaustedError(
                "the debug information takes too long to read",
                found=f"more than {self.limit} steps",
                allowed=f"{STEPS_FOR_A_BYTE} for each byte, and {FREE_STEPS}",
                next_step="the file was edited; build it again",
            )


class Cursor:
    """Reads one part of a section from front to back.

    Attributes:
        data: the whole section.
        at: where it reads next; `end` is where it may not.
    """

    __slots__ = ("at", "data", "end", "name")

    def __init__(self, name: str, data: bytes, at: int, end: int | None = None) -> None:
        self.name = name
        self.data = data
        self.at = at
        self.end = len(data) if end is None else min(end, len(data))
        if not 0 <= at <= self.end:
            raise self.malformed(f"an offset of {at}, in {self.end} bytes")

    def skip(self, size: int) -> int:
        """Go `size` bytes on; returns where they start."""
        at = self.at
        if not 0 <= size <= self.end - at:
            raise self.malformed(f"{size} bytes, where {self.end - at} are left")
        self.at = at + size
        return at

    def number(self, size: int) -> int:
        """An unsigned number of `size` bytes."""
        at = self.at
        end = at + size
        if end > self.end:
            raise self.malformed(f"a number of {size} bytes, where {self.end - at} are left")
        self.at = end
        return int.from_bytes(self.data[at:end], "little")

    def uleb(self) -> int:
        """An unsigned number of variable length."""
        at, data = self.at, self.data
        if at < self.end and data[at] < 0x80:  # nearly always
            self.at = at + 1
            return data[at]
        return self._leb()[0]

    def sleb(self) -> int:
        """A signed number of variable length."""
        value, bits = self._leb()
        return value - (1 << bits) if value >> (bits - 1) else value

    def _leb(self) -> tuple[int, int]:
        value, data = 0, self.data
        for index, byte in enumerate(data[self.at : min(self.at + MOST_LEB_BYTES, self.end)]):
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                self.at += index + 1
                return value, 7 * (index + 1)
        raise self.malformed("a number without an end")

    def text(self) -> int:
        """Skip a text that ends with a zero; returns where it starts."""
        at = self.at
        end = self.data.find(b"\0", at, self.end)
        if end < 0:
            raise self.malformed("a text without an end")
        self.at = end + 1
        return at

    def malformed(self, found: str) -> InvalidArgumentError:
        """The error for what cannot be at this place."""
        return malformed(f"{self.name} offset {getattr(self, 'at', 0):#x}", found)


def malformed(where: str, found: str) -> InvalidArgumentError:
    """The error for debug information that contradicts itself or DWARF."""
    return InvalidArgumentError(
        "the debug information is malformed",
        where=where,
        found=found,
        allowed="DWARF of version 2 to 5",
        next_step="build the code object again; it can be used without debug information",
    )
