"""The container of a capture file: a ZIP archive in the one form that this module writes.

Entries are stored, not compressed: equal content gives equal bytes whatever the zlib, and what a file says it holds is
in it, so it cannot grow while it is read. The reader takes nothing on trust. It reads names, sizes and checksums from
the directory, works out what the writer would have written for them, and refuses a file that has anything else. So
there is one entry for a name, and no room for gaps, overlaps, comments, extra fields, encryption or other paths.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hipgraph_cb.errors import (
    DataLossError,
    InvalidArgumentError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
)
from hipgraph_cb.files import open_file, write_file

MANIFEST = "manifest.json"
BLOBS = "blobs/"

LARGEST_FILE = (1 << 32) - 1
"""Bytes: beyond, a ZIP archive needs 64-bit fields, which this form does not have."""
MOST_ENTRIES = (1 << 16) - 2

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION = 10  # of the ZIP specification: stored files
_MADE_BY = 3 << 8 | 20  # on Unix, so that the attributes below are a mode
_DATE = 0x21  # 1 January 1980, the first day that the format knows
_MODE = 0o100644 << 16
_MOST_DIRECTORY = (MOST_ENTRIES + 1) * (_CENTRAL.size + 80)


class _Entry(NamedTuple):
    name: str
    crc: int
    size: int

    def local(self) -> bytes:
        """What is in front of the content."""
        name = self.name.encode("ascii")
        head = _LOCAL.pack(b"PK\3\4", _VERSION, 0, 0, 0, _DATE, self.crc, self.size, self.size, len(name), 0)
        return head + name

    def central(self, offset: int) -> bytes:
        """The line of the directory for an entry whose local header is at `offset`."""
        name = self.name.encode("ascii")
        versions = (_MADE_BY, _VERSION)
        sizes = (self.crc, self.size, self.size, len(name))
        return _CENTRAL.pack(b"PK\1\2", *versions, 0, 0, 0, _DATE, *sizes, 0, 0, 0, 0, _MODE, offset) + name


def write_archive(path: Path, manifest: bytes, blobs: Mapping[str, bytes]) -> None:
    """Write a capture file; anyone who opens `path` sees the old file or the whole new one.

    Args:
        blobs: content by its SHA-256 in hexadecimal.

    Raises:
        ResourceExhaustedError: more than the form can hold.
        FileError: the file cannot be written.
    """
    parts = list(_image(manifest, blobs))
    size = sum(map(len, parts))
    for what, found, allowed, unit in (
        ("set of blobs", len(blobs), MOST_ENTRIES, "blobs"),
        ("file", size, LARGEST_FILE, "bytes"),
    ):
        if found > allowed:
            raise ResourceExhaustedError(
                f"the {what} is too large for a capture file",
                found=f"{found} {unit}",
                allowed=f"{allowed} {unit}",
                next_step="save less: fewer contents, or a part of the recording",
            )
    write_file(path, parts, "save")


def _image(manifest: bytes, blobs: Mapping[str, bytes]) -> Iterator[bytes]:
    """The parts of the file in order."""
    offset, directory = 0, []
    for name, data in [(MANIFEST, manifest), *((BLOBS + digest, blobs[digest]) for digest in sorted(blobs))]:
        # A size that has no place in the header is refused before anything is written.
        entry = _Entry(name, zlib.crc32(data), min(len(data), LARGEST_FILE))
        directory.append(entry.central(min(offset, LARGEST_FILE)))
        head = entry.local()
        offset += len(head) + len(data)
        yield head
        yield data
    yield from directory
    yield _end(len(directory), sum(map(len, directory)), min(offset, LARGEST_FILE))


def _end(count: int, size: int, offset: int) -> bytes:
    count = min(count, 0xFFFF)
    return _END.pack(b"PK\5\6", 0, 0, count, count, size, offset, 0)


def read_archive(path: Path) -> tuple[bytes, dict[str, bytes]]:
    """The manifest, and the blobs by their SHA-256, each checked against it.

    Time and memory are bounded by the size of the file.

    Raises:
        MissingFileError: there is no such file.
        FileError: it cannot be read.
        InvalidArgumentError: no capture file, or one in another form than `write_archive` writes.
        DataLossError: content that is not what its checksum says.
    """
    with open_file(path, "load") as file:
        return parse_archive(file, os.fstat(file.fileno()).st_size)


def parse_archive(file: BinaryIO, size: int) -> tuple[bytes, dict[str, bytes]]:
    """`read_archive` of an open file of `size` bytes."""
    entries = _read_directory(file, size)
    file.seek(0)
    contents = [_read_content(file, entry) for entry in entries]
    return contents[0], {
        entry.name.removeprefix(BLOBS): data for entry, data in zip(entries[1:], contents[1:], strict=True)
    }


def _read_directory(file: BinaryIO, size: int) -> list[_Entry]:
    if size < _END.size:
        raise _no_capture(f"{size} bytes")
    if size > LARGEST_FILE:
        raise OutOfRangeError("the file is too large for a capture", found=f"{size} bytes", allowed=f"{LARGEST_FILE}")
    file.seek(size - _END.size)
    end = file.read(_END.size)
    if end[:4] != b"PK\5\6":
        raise _no_capture("no end of a ZIP archive at its end")
    _, _, _, count, _, length, offset, _ = _END.unpack(end)
    if end != _end(count, length, offset) or offset + length + _END.size != size or length > _MOST_DIRECTORY:
        raise _other_form("the end of the archive", end)
    file.seek(offset)
    directory = file.read(length)
    entries: list[_Entry] = []
    at = position = 0
    for _ in range(count):
        entry = _read_entry(directory, at, position)
        at += _CENTRAL.size + len(entry.name)
        position += _LOCAL.size + len(entry.name) + entry.size
        entries.append(entry)
        if position > offset:
            break
    if at != length or position != offset:
        raise _other_form("the directory", directory[at : at + 16])
    _check_names([entry.name for entry in entries])
    return entries


def _read_entry(directory: bytes, at: int, position: int) -> _Entry:
    where = f"directory entry at byte {at}"
    if at + _CENTRAL.size > len(directory):
        raise _other_form(where, directory[at:])
    fields = _CENTRAL.unpack_from(directory, at)
    flags, method, crc, size, length = fields[3], fields[4], fields[7], fields[9], fields[10]
    name = directory[at + _CENTRAL.size : at + _CENTRAL.size + length]
    if flags & 1 or method:
        raise UnimplementedError(
            "the entries of a capture file are stored as they are",
            where=where,
            found="an encrypted entry" if flags & 1 else f"an entry compressed by method {method}",
            allowed="entries that are neither compressed nor encrypted",
            next_step="use the file as `save` wrote it, not one packed again by another tool",
        )
    if not name.isascii():
        raise _other_form(where, name)
    entry = _Entry(name.decode("ascii"), crc, size)
    if directory[at : at + _CENTRAL.size + length] != entry.central(position):
        raise _other_form(where, directory[at : at + 46])
    return entry


def _check_names(names: list[str]) -> None:
    """The manifest, then blobs, each once and in order, and nothing else."""
    digests = [name.removeprefix(BLOBS) for name in names[1:]]
    strange = [name for name, digest in zip(names[1:], digests, strict=True) if not is_digest(digest) or name == digest]
    if names[:1] != [MANIFEST] or strange:
        raise InvalidArgumentError(
            "a capture file has an entry of another name",
            found=repr((strange or names or ["no entry"])[0][:80]),
            allowed=f"{MANIFEST} first, then {BLOBS} with SHA-256 digests",
        )
    unordered = [second for first, second in pairwise(digests) if first >= second]
    if unordered:
        raise InvalidArgumentError(
            "a capture file has an entry twice or out of order", found=BLOBS + unordered[0], allowed="ascending names"
        )


def is_digest(text: str) -> bool:
    """Whether this is a SHA-256 in lower-case hexadecimal."""
    return len(text) == 64 and not text.strip("0123456789abcdef")


def _read_content(file: BinaryIO, entry: _Entry) -> bytes:
    head = entry.local()
    found = file.read(len(head))
    if found != head:
        raise _other_form(f"the local header of {entry.name}", found)
    data = file.read(entry.size)
    if len(data) != entry.size or zlib.crc32(data) != entry.crc:
        raise DataLossError(f"the content of {entry.name} is damaged", found="another CRC-32 than its header says")
    if entry.name != MANIFEST and hashlib.sha256(data).hexdigest() != entry.name.removeprefix(BLOBS):
        raise DataLossError(f"the content of {entry.name} is damaged", found="another SHA-256 than its name says")
    return data


def _no_capture(found: str) -> InvalidArgumentError:
    return InvalidArgumentError("this is no capture file", found=found, allowed="what Recording.save writes")


def _other_form(where: str, found: bytes) -> InvalidArgumentError:
    return InvalidArgumentError(
        "the archive is not in the form of a capture file",
        where=where,
        found=found[:64].hex(" ") or "nothing",
        allowed="the fields that Recording.save writes",
        next_step="the file was damaged, or packed by another tool",
    )
