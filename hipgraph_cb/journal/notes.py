"""The notes of a journal, and the journal as a file: one note behind the other, each complete or not there.

A program that crashes leaves the notes of everything that was over; what is cut off at the end is not read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hipgraph_cb.errors import IncompatibleError
from hipgraph_cb.files import open_file

MAGIC = b"hipgraph_cb journal 1\n"
_LENGTH = struct.Struct("<Q")
Waits = tuple[int, ...]
"""The commands that a command waits for, by their numbers: commands are numbered in the order of their notes."""


class Code(NamedTuple):
    """A code object that a dispatch uses."""

    number: int
    data: bytes


class Memory(NamedTuple):
    """An allocation, from the first command on that uses it. `contents`: what it held then; None where that command
    writes all of it."""

    number: int
    size: int
    label: str
    contents: bytes | None


class Dispatch(NamedTuple):
    """A launch of a kernel. `pointers`: offset in the block -> (memory, offset there); null pointers are not among
    them."""

    code: int
    kernel: str
    workgroups: tuple[int, int, int]
    size: tuple[int, int, int]
    dynamic_lds: int
    block: bytes
    pointers: dict[int, tuple[int, int]]
    waits: Waits


class Update(NamedTuple):
    """Bytes of the program that were written to memory."""

    memory: int
    offset: int
    data: bytes
    waits: Waits


class Copy(NamedTuple):
    """`height` rows of `width` bytes, copied on the device."""

    source: int
    source_offset: int
    source_pitch: int
    target: int
    target_offset: int
    target_pitch: int
    width: int
    height: int
    waits: Waits


class Fill(NamedTuple):
    """`height` rows of `width` bytes, filled with a pattern."""

    memory: int
    offset: int
    pitch: int
    width: int
    height: int
    pattern: bytes
    waits: Waits


class Read(NamedTuple):
    """Bytes that the program copied out of memory: what a replay should find there."""

    memory: int
    offset: int
    data: bytes
    waits: Waits


class Final(NamedTuple):
    """What an allocation held at the end."""

    memory: int
    contents: bytes


class Ranges(NamedTuple):
    """The ranges of ROCTX in which the commands that follow were enqueued, outermost first."""

    labels: tuple[str, ...]


class Lost(NamedTuple):
    """Something that a recording cannot keep."""

    what: str


Note = Code | Memory | Dispatch | Update | Copy | Fill | Read | Final | Ranges | Lost
_KINDS: tuple[type[Any], ...] = (Code, Memory, Dispatch, Update, Copy, Fill, Read, Final, Lost, Ranges)
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}


COMMANDS = (Dispatch, Update, Copy, Fill, Read)


class Journal:
    """A file that notes are added to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("xb", buffering=0)
        self._file.write(MAGIC)

    def add(self, note: Note) -> None:
        import msgpack

        data = msgpack.packb((_NUMBERS[type(note)], *note))
        self._file.write(_LENGTH.pack(len(data)) + data)

    def close(self) -> None:
        self._file.close()


def read_journal(path: Path) -> Iterator[Note]:
    """The notes that are complete.

    Raises:
        IncompatibleError: the file is no journal of this version.
        FileError: it cannot be read.
    """
    import msgpack

    with open_file(path, "record") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise IncompatibleError("record: no journal of this version", where=str(path))
        while len(head := file.read(_LENGTH.size)) == _LENGTH.size:
            (length,) = _LENGTH.unpack(head)
            data = file.read(length)
            if len(data) < length:
                return
            number, *fields = msgpack.unpackb(data, use_list=False, strict_map_key=False)
            yield _KINDS[number](*fields)


def has_commands(path: Path) -> bool:
    """Whether there is anything to record."""
    return any(isinstance(note, (*COMMANDS, Lost)) for note in read_journal(path))
