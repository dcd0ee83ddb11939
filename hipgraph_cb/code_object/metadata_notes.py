"""The metadata notes of a code object: where they are, and what they say together.

A compiler writes one. A link of many objects keeps one of each, and then a kernel is in any of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hipgraph_cb.abi import elf
from hipgraph_cb.code_object.metadata import Metadata, parse_metadata
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, NotFoundError

_RECORD = struct.Struct("<III")


class Note(NamedTuple):
    """The descriptor of one note of owner AMDGPU and type 32; `offset` in the file."""

    offset: int
    data: bytes

    @property
    def place(self) -> str:
        return f"metadata note at file offset {self.offset}"


def find_notes(data: bytes, segments: Sequence[tuple[int, int]]) -> tuple[Note, ...]:
    """The metadata notes in the note segments, each given by its file offset and size, in file order.

    Raises:
        InvalidArgumentError: a note runs past its segment, or the segments overlap so that they are more than the file.
        NotFoundError: there is no metadata note.
    """
    if sum(size for _, size in segments) > len(data):
        raise InvalidArgumentError(
            "the note segments overlap",
            found=f"{sum(size for _, size in segments)} bytes in {len(segments)} segments",
            allowed=f"at most the {len(data)} bytes of the file",
            next_step="the file was edited; build it again",
        )
    notes = {note.offset: note for offset, size in segments for note in _records(data, offset, offset + size)}
    if not notes:
        raise NotFoundError(
            "the code object has no AMDGPU metadata note",
            found=f"{len(segments)} note segments",
            allowed="a note of owner AMDGPU and type 32 (NT_AMDGPU_METADATA)",
            next_step="link with ld.lld, and keep the notes when stripping",
        )
    return tuple(notes.values())


def _records(data: bytes, position: int, end: int) -> Iterator[Note]:
    """The metadata notes of one segment; names and descriptors start at multiples of 4 from its start."""
    while end - position >= _RECORD.size:
        name_size, size, kind = _RECORD.unpack_from(data, position)
        name = position + _RECORD.size
        start = name + (name_size + 3 & ~3)
        if name + name_size > end or start + size > end:
            raise InvalidArgumentError(
                "a note runs past its segment",
                where=f"file offset {position}",
                found=f"name of {name_size} bytes, descriptor of {size} bytes",
                allowed=f"{end - position} bytes in all",
            )
        if kind == elf.NT_AMDGPU_METADATA and data[name : name + name_size] in (b"AMDGPU\0", b"AMDGPU"):
            yield Note(start, data[start : start + size])
        position = start + (size + 3 & ~3)


def read_notes(notes: Sequence[Note]) -> Metadata:
    """All kernels of all notes, in file order.

    Raises:
        InvalidArgumentError: a note is malformed, or two state different versions or printf formats.
    """
    if len(notes) == 1:
        return _read(notes[0], "")
    parts = [_read(note, f"{note.place}, ") for note in notes]
    stated = [(note, part.version, part.printf) for note, part in zip(notes, parts, strict=True)]
    _check_same("amdhsa.version", [(note, version) for note, version, _ in stated])
    _check_same("amdhsa.printf", [(note, printf) for note, _, printf in stated if printf is not None])
    return Metadata(
        tuple(target for part in parts for target in part.targets),
        tuple(kernel for part in parts for kernel in part.kernels),
        {name: error for part in parts for name, error in part.refused.items()},
        {name: symbol for part in parts for name, symbol in part.symbols.items()},
    )


def _check_same(key: str, values: Sequence[tuple[Note, object]]) -> None:
    for note, value in values[1:]:
        first, expected = values[0]
        if value != expected:
            raise InvalidArgumentError(
                f"two metadata notes disagree in {key}",
                where=note.place,
                found=repr(value)[:200],
                allowed=f"{expected!r:.200}, as in the {first.place}",
                next_step="build the linked objects with one compiler and the same options",
            )


def _read(note: Note, prefix: str) -> Metadata:
    try:
        return parse_metadata(note.data, prefix)
    except HipGraphError as error:
        raise error.located(note.place) from None
