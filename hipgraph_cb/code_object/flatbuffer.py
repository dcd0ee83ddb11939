"""A FlatBuffer read with every offset checked: nothing in the bytes is trusted before it is followed.

Layout facts: the FlatBuffers "Internals" page (tables, vtables, vectors, strings). Fields are named by their slot.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from hipgraph_cb.errors import InvalidArgumentError

_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_VTABLE_HEADER_SIZE = 4


class Reader:
    """The bytes of one FlatBuffer. `base` is their offset in the file, for messages.

    Offsets may alias, so a small file can describe much more text than it has bytes; `text_left` stops that.
    """

    def __init__(self, data: memoryview, base: int) -> None:
        self.data = data
        self.base = base
        self.text_left = len(data)

    def root(self, identifier: bytes) -> Table:
        """The root table. Raises InvalidArgumentError, also when the file identifier is another one."""
        self.require(4, 4, "the file identifier")
        if self.data[4:8] != identifier:
            raise self.error("the file identifier is wrong", 4, repr(bytes(self.data[4:8])), repr(identifier))
        return Table(self, self.follow(0, "the root table"))

    def require(self, position: int, size: int, what: str, alignment: int = 1) -> None:
        """Raises InvalidArgumentError unless there are `size` bytes at `position`, and it is aligned."""
        if position + size > len(self.data):
            raise self.error(f"{what} runs past the end", position, f"{size} bytes", f"{len(self.data)} bytes in all")
        if position % alignment:
            raise self.error(f"{what} is misaligned", position, f"offset {position}", f"a multiple of {alignment}")

    def follow(self, position: int, what: str) -> int:
        """Where the unsigned offset at `position` points."""
        self.require(position, 4, f"the offset of {what}", 4)
        target = position + int(_U32.unpack_from(self.data, position)[0])
        self.require(target, 4, what, 4)
        return target

    def vector(self, position: int, element_size: int, what: str) -> tuple[int, int]:
        """Start and length of the vector that the offset at `position` points to."""
        start = self.follow(position, what)
        count = int(_U32.unpack_from(self.data, start)[0])
        self.require(start + 4, count * element_size, what)
        return start + 4, count

    def spend(self, size: int, position: int) -> None:
        """Count bytes that are kept. Raises InvalidArgumentError where there are more than the file has."""
        self.text_left -= size
        if self.text_left < 0:
            raise self.error(
                "its strings overlap", position, f"more than {len(self.data)} bytes of text", "separate strings"
            )

    def error(self, why: str, position: int, found: str, allowed: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"malformed FlatBuffer: {why}",
            where=f"file offset {self.base + position}",
            found=found,
            allowed=allowed,
            next_step="the file is truncated or was edited; build it again",
        )


@dataclass(frozen=True)
class Table:
    """One table. Every getter takes the slot of the field and a name for messages."""

    reader: Reader
    position: int

    def field(self, slot: int, size: int, what: str, alignment: int = 4) -> int | None:
        """The position of the inline value of a field; None if the table leaves it out."""
        data, reader = self.reader.data, self.reader
        reader.require(self.position, 4, "a table", 4)
        vtable = self.position - int(_I32.unpack_from(data, self.position)[0])
        if vtable < 0:
            raise reader.error("a vtable is before the start", self.position, f"offset {vtable}", "0 or more")
        reader.require(vtable, _VTABLE_HEADER_SIZE, "a vtable", 2)
        vtable_size = int(_U16.unpack_from(data, vtable)[0])
        table_size = int(_U16.unpack_from(data, vtable + 2)[0])
        if vtable_size < _VTABLE_HEADER_SIZE or vtable_size % 2:
            raise reader.error(
                "a vtable has no valid size", vtable, f"{vtable_size} bytes", "an even size of 4 or more"
            )
        reader.require(vtable, vtable_size, "a vtable")
        reader.require(self.position, table_size, "a table")
        entry = _VTABLE_HEADER_SIZE + 2 * slot
        offset = int(_U16.unpack_from(data, vtable + entry)[0]) if entry + 2 <= vtable_size else 0
        if not offset:
            return None
        if offset < 4 or offset + size > table_size:
            raise reader.error(
                f"{what} is outside its table", vtable + entry, f"offset {offset}", f"{table_size} bytes"
            )
        reader.require(self.position + offset, size, what, alignment)
        return self.position + offset

    def u32(self, slot: int, what: str) -> int:
        """An unsigned number; 0 when it is left out."""
        position = self.field(slot, 4, what)
        return 0 if position is None else int(_U32.unpack_from(self.reader.data, position)[0])

    def i32(self, slot: int, what: str) -> int:
        """A signed number; 0 when it is left out."""
        position = self.field(slot, 4, what)
        return 0 if position is None else int(_I32.unpack_from(self.reader.data, position)[0])

    def triple(self, slot: int, what: str) -> tuple[int, int, int] | None:
        """A struct of three unsigned numbers."""
        position = self.field(slot, 12, what)
        if position is None:
            return None
        x, y, z = struct.unpack_from("<3I", self.reader.data, position)
        return x, y, z

    def table(self, slot: int, what: str) -> Table | None:
        position = self.field(slot, 4, what)
        return None if position is None else Table(self.reader, self.reader.follow(position, what))

    def u64s(self, slot: int, what: str) -> tuple[int, ...]:
        """A vector of unsigned numbers of 64 bits; empty when it is left out."""
        position = self.field(slot, 4, what)
        if position is None:
            return ()
        start, count = self.reader.vector(position, 8, what)
        self.reader.spend(8 * count, start)
        return struct.unpack_from(f"<{count}Q", self.reader.data, start)

    def octets(self, slot: int, what: str) -> memoryview:
        """A vector of bytes; empty when it is left out."""
        position = self.field(slot, 4, what)
        if position is None:
            return self.reader.data[:0]
        start, count = self.reader.vector(position, 1, what)
        self.reader.spend(count, start)
        return self.reader.data[start : start + count]

    def tables(self, slot: int, what: str) -> Iterator[Table]:
        """The tables of a vector, one after the other."""
        position = self.field(slot, 4, what)
        if position is None:
            return
        start, count = self.reader.vector(position, 4, what)
        for index in range(count):
            yield Table(self.reader, self.reader.follow(start + 4 * index, f"{what}[{index}]"))

    def blob(self, slot: int, what: str) -> tuple[int, memoryview]:
        """Offset in the buffer and bytes of a string, which must end with a NUL; (0, no bytes) when it is left out."""
        position = self.field(slot, 4, what)
        if position is None:
            return 0, self.reader.data[:0]
        start, count = self.reader.vector(position, 1, what)
        self.reader.require(start + count, 1, f"the end of {what}")
        if self.reader.data[start + count]:
            found = f"{self.reader.data[start + count]:#04x}"
            raise self.reader.error(f"{what} does not end with NUL", start + count, found, "0x00")
        self.reader.spend(count, start)
        return start, self.reader.data[start : start + count]

    def text(self, slot: int, what: str) -> str:
        """A string, decoded with escapes where it is not UTF-8; empty when it is left out."""
        return bytes(self.blob(slot, what)[1]).decode("utf-8", "backslashreplace")
