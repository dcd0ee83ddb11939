"""Clang offload bundles: several code objects in one file, plain or compressed.

Facts: LLVM's ClangOffloadBundler document (bundle layout, entry IDs, compressed bundle header).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError, UnimplementedError

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
MAX_UNPACKED = 1 << 30
_ENTRY = struct.Struct("<QQQ")
_MAX_ID = 4096
# Header of a compressed bundle by its version: bytes in all, and the format of (total, unpacked) behind the method.
_HEADERS = {1: (20, "<I"), 2: (24, "<II"), 3: (32, "<QQ")}
_ZLIB, _ZSTD = 0, 1


@dataclass(frozen=True)
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


def is_bundle(data: bytes) -> bool:
    return data.startswith((BUNDLE_MAGIC, COMPRESSED_MAGIC))


def read_bundle(data: bytes, base: int = 0) -> tuple[tuple[BundleEntry, ...], int]:
    """The entries of the bundle at the start of `data`, and how many bytes it takes there.

    `base` is its offset in the file, for messages. A compressed bundle is unpacked first.

    Raises:
        InvalidArgumentError, OutOfRangeError: the bundle is malformed or cut off.
        UnimplementedError: a compression that cannot be undone here; the message says what to install.
    """
    if not data.startswith(COMPRESSED_MAGIC):
        entries = tuple(_entries(data, base))
        return entries, max((entry.offset + len(entry.data) for entry in entries), default=len(BUNDLE_MAGIC) + 8)
    plain, size = _unpack(data, base)
    if not plain.startswith(BUNDLE_MAGIC):
        raise _malformed("what was compressed is no bundle", base, repr(plain[:24]), repr(BUNDLE_MAGIC))
    try:
        return tuple(_entries(plain, 0)), size
    except HipGraphError as error:
        raise error.located(f"unpacked from file offset {base}") from None


def _entries(data: bytes, base: int) -> Iterator[BundleEntry]:
    position = len(BUNDLE_MAGIC) + 8
    if len(data) < position:
        raise _cut("the bundle header", base, len(data), position)
    count = int.from_bytes(data[position - 8 : position], "little")
    for index in range(count):
        if position + _ENTRY.size > len(data):
            raise _cut(f"entry {index} of {count} in the bundle header", base + position, len(data), position + 24)
        offset, size, name_size = _ENTRY.unpack_from(data, position)
        name_at = position + _ENTRY.size
        position = name_at + name_size
        if name_size > _MAX_ID or position > len(data):
            found = f"{name_size} bytes"
            raise _malformed("an entry's ID is too long", base + name_at, found, f"at most {_MAX_ID}, in the file")
        if offset + size > len(data):
            raise _cut(f"entry {index} of the bundle", base + offset, len(data), offset + size)
        name = data[name_at:position].decode("utf-8", "backslashreplace")
        yield BundleEntry(name, offset, memoryview(data)[offset : offset + size])


def _unpack(data: bytes, base: int) -> tuple[bytes, int]:
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
    if unpacked > MAX_UNPACKED:
        raise _malformed("the unpacked bundle is too large", base + 8, f"{unpacked} bytes", f"at most {MAX_UNPACKED}")
    plain = _decompress(method, data[header_size:size], unpacked, base)
    if len(plain) != unpacked:
        found = f"{len(plain)} bytes" + (" or more" if len(plain) > unpacked else "")
        raise _malformed("the unpacked bundle has another size than stated", base + 8, found, f"{unpacked} bytes")
    return plain, size


def _decompress(method: int, packed: bytes, unpacked: int, base: int) -> bytes:
    """At most one byte more than `unpacked`, so that a wrong size is seen and memory stays bounded by what is real."""
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


def _decompress_zstd(packed: bytes, unpacked: int, base: int) -> bytes:
    decompressor, failure = _zstd(base)
    try:
        plain: bytes = decompressor(packed, unpacked + 1)
    except failure as error:
        raise _malformed("zstd cannot unpack the bundle", base, str(error), "zstd data") from error
    return plain


def _zstd(base: int) -> tuple[Any, type[Exception]]:
    """A bounded `decompress(data, limit)` and what it raises, from the standard library (3.14) or `zstandard`."""
    try:
        library = import_module("compression.zstd")
        return lambda packed, limit: library.ZstdDecompressor().decompress(packed, limit), library.ZstdError
    except ImportError:
        pass
    try:
        package = import_module("zstandard")
    except ImportError as error:
        raise UnimplementedError(
            "this is an offload bundle compressed with zstd, which this Python cannot unpack",
            where=f"file offset {base}",
            next_step='pip install "hipgraph_cb[zstd]", or build with -no-offload-compress',
        ) from error
    return lambda packed, limit: package.ZstdDecompressor().stream_reader(packed).read(limit), package.ZstdError


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
        f"{what} lies past the end",
        where=f"file offset {offset}",
        found=f"{found} bytes",
        allowed=f"at least {needed}",
        next_step="the file is truncated; build or copy it again",
    )
