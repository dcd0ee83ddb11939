"""Clang offload bundles: several code objects in one file, plain or compressed.

Facts: LLVM's ClangOffloadBundler document (bundle layout, entry IDs, compressed bundle header).
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from hipgraph_cb.errors import (
    HipGraphError,
    InvalidArgumentError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
)

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
HEADER_SIZE = len(BUNDLE_MAGIC) + 8
MOST_ENTRIES = 4096
_ENTRY = struct.Struct("<QQQ")
_MAX_ID = 4096
_MOST_SHARED = 16
# Header of a compressed bundle by its version: bytes in all, and the format of (total, unpacked) behind the method.
_HEADERS = {1: (20, "<I"), 2: (24, "<II"), 3: (32, "<QQ")}
_ZLIB, _ZSTD = 0, 1
_MOST_FRAMES = 4096


class UnpackingBudget:
    """How many bytes the compressed bundles of one file may still unpack to: a small file must not fill the memory."""

    FLOOR, FACTOR = 64 << 20, 16

    def __init__(self, file_size: int) -> None:
        self.allowed = self.left = self.FLOOR + self.FACTOR * file_size

    def take(self, size: int, offset: int) -> None:
        """Raises ResourceExhaustedError when `size` bytes are more than is left; `offset` is the bundle's."""
        if size > self.left:
            raise ResourceExhaustedError(
                "the compressed bundles of the file unpack to too much",
                where=f"file offset {offset}",
                found=f"{size} bytes more, after {self.allowed - self.left}",
                allowed=f"{self.allowed} bytes in all, {self.FACTOR} times the file and {self.FLOOR >> 20} MiB",
                next_step="unpack the bundle with clang-offload-bundler, and give the code object",
            )
        self.left -= size


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """One entry. `identifier` is such as `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`; `offset` is within the bundle."""

    identifier: str
    offset: int
    data: memoryview

    @property
    def kind(self) -> str:
        """`host`, `hip`, `hipv4` or `openmp`."""
        return self.identifier.partition("-")[0]

    @property
    def target(self) -> str | None:
        """The target that the identifier states; None for the host."""
        return stated_target(self.identifier)


def stated_target(triple: str) -> str | None:
    """The target in a triple: behind `amdhsa-` and the environment, which is empty or `unknown` (newer compilers)."""
    _, found, rest = triple.partition("-amdhsa-")
    return rest.partition("-")[2] or None if found else None


def is_bundle(data: bytes | memoryview) -> bool:
    return data[: len(BUNDLE_MAGIC)] == BUNDLE_MAGIC or data[: len(COMPRESSED_MAGIC)] == COMPRESSED_MAGIC


def read_bundle(
    data: bytes | memoryview, base: int = 0, budget: UnpackingBudget | None = None
) -> tuple[tuple[BundleEntry, ...], int]:
    """The entries of the bundle at the start of `data`, and how many bytes it takes there.

    `base` is its offset in the file, for messages. A compressed bundle is unpacked first, within `budget`: that of a
    file of these bytes, where none is given. Nothing else is copied.

    Raises:
        InvalidArgumentError, OutOfRangeError: the bundle is malformed or cut off.
        ResourceExhaustedError: it unpacks to more than the budget.
        UnimplementedError: a compression that is not known.
    """
    view = memoryview(data)
    if view[: len(COMPRESSED_MAGIC)] != COMPRESSED_MAGIC:
        return _read_plain(view, base)
    plain, size = _unpack(view, base, budget or UnpackingBudget(len(view)))
    if not plain.startswith(BUNDLE_MAGIC):
        raise _malformed("the unpacked data is not a bundle", base, repr(plain[:24]), repr(BUNDLE_MAGIC))
    try:
        return _read_plain(memoryview(plain), 0)[0], size
    except HipGraphError as error:
        raise error.located(f"unpacked from file offset {base}") from None


def _read_plain(data: memoryview, base: int) -> tuple[tuple[BundleEntry, ...], int]:
    """The bundle ends with its last entry, or with its header. Entries may share bytes, but not without bound."""
    entries, header_size = [], HEADER_SIZE
    for entry, end in _entries(data, base):
        entries.append(entry)
        header_size = end
    size = max([header_size, *(entry.offset + len(entry.data) for entry in entries)])
    total = sum(len(entry.data) for entry in entries)
    if total > _MOST_SHARED * size:
        found, allowed = f"entries of {total} bytes in all", f"at most {_MOST_SHARED} times the {size} of the bundle"
        raise _malformed("its entries overlap", base, found, allowed)
    return tuple(entries), size


def _entries(data: memoryview, base: int) -> Iterator[tuple[BundleEntry, int]]:
    """Every entry, and where its row in the header ends."""
    position = HEADER_SIZE
    if len(data) < position:
        raise _cut("the bundle header", base, len(data), position)
    count = int.from_bytes(data[position - 8 : position], "little")
    for index in range(count):
        if position + _ENTRY.size > len(data):
            raise _cut(f"entry {index} of {count} in the bundle header", base + position, len(data), position + 24)
        if index == MOST_ENTRIES:
            raise _malformed("it has too many entries", base + position, str(count), f"at most {MOST_ENTRIES}")
        offset, size, name_size = _ENTRY.unpack_from(data, position)
        name_at = position + _ENTRY.size
        position = name_at + name_size
        if name_size > _MAX_ID or position > len(data):
            found = f"{name_size} bytes"
            raise _malformed("an entry's ID is too long", base + name_at, found, f"at most {_MAX_ID}, in the file")
        if offset + size > len(data):
            raise _cut(f"entry {index} of the bundle", base + offset, len(data), offset + size)
        name = bytes(data[name_at:position]).decode("utf-8", "backslashreplace")
        yield BundleEntry(name, offset, data[offset : offset + size]), position


def _unpack(data: memoryview, base: int, budget: UnpackingBudget) -> tuple[bytes, int]:
    """The plain bundle, and the bytes that the compressed one takes."""
    if len(data) < 8:
        raise _cut("the header of a compressed bundle", base, len(data), 8)
    version, method = struct.unpack_from("<HH", data, 4)
    if version not in _HEADERS:
        raise UnimplementedError(
            "the compressed bundle has a version that is not supported",
            where=f"file offset {base + 4}",
            found=f"version {version}",
            allowed="versions 1 to 3",
            next_step="build with -no-offload-compress",
        )
    header_size, form = _HEADERS[version]
    if len(data) < header_size:
        raise _cut("the header of a compressed bundle", base, len(data), header_size)
    *total, unpacked = struct.unpack_from(form, data, 8)
    size = total[0] if total else len(data)
    if not header_size <= size <= len(data):
        raise _cut("the compressed bundle", base, len(data), size)
    budget.take(unpacked, base)
    plain = _decompress(method, data[header_size:size], unpacked, base)
    if len(plain) != unpacked:
        found = f"{len(plain)} bytes" + (" or more" if len(plain) > unpacked else "")
        raise _malformed("the unpacked bundle has another size than stated", base + 8, found, f"{unpacked} bytes")
    return plain, size


def _decompress(method: int, packed: memoryview, unpacked: int, base: int) -> bytes:
    """At most one byte more than `unpacked`, so that a wrong size is found and memory stays bounded."""
    if method == _ZLIB:
        try:
            return zlib.decompressobj().decompress(packed, unpacked + 1)
        except zlib.error as error:
            raise _malformed("zlib cannot unpack the bundle", base, str(error), "zlib data") from error
    if method == _ZSTD:
        return _decompress_zstd(packed, unpacked, base)
    raise UnimplementedError(
        "the bundle is compressed in a way that is not supported",
        where=f"file offset {base + 6}",
        found=f"method {method}",
        allowed="0 (zlib) or 1 (zstd)",
        next_step="build with -no-offload-compress",
    )


def _decompress_zstd(packed: memoryview, unpacked: int, base: int) -> bytes:
    """Frame after frame, until there are as many bytes as are stated."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    parts: list[bytes] = []
    missing = unpacked
    try:
        while missing > 0 and len(packed) and len(parts) < _MOST_FRAMES:
            size = zstd.get_frame_size(packed)
            parts.append(zstd.ZstdDecompressor().decompress(packed[:size], missing + 1))
            missing -= len(parts[-1])
            packed = packed[size:]
    except zstd.ZstdError as error:
        raise _malformed("zstd cannot unpack the bundle", base, str(error), "zstd data") from error
    return b"".join(parts)


def _malformed(why: str, offset: int, found: str, allowed: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"malformed offload bundle: {why}",
        where=f"file offset {offset}",
        found=found,
        allowed=allowed,
        next_step="the file is truncated or was edited; build it again",
    )


def _cut(what: str, offset: int, found: int, needed: int) -> OutOfRangeError:
    return OutOfRangeError(
        f"{what} is past the end",
        where=f"file offset {offset}",
        found=f"{found} bytes",
        allowed=f"at least {needed}",
        next_step="the file is truncated; build or copy it again",
    )
