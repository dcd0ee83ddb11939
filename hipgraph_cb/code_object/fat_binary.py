"""HIP fat binaries: a host program or library that carries offload bundles in its `.hip_fatbin` section."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from hipgraph_cb.abi import elf
from hipgraph_cb.code_object.code_object import truncated
from hipgraph_cb.code_object.offload_bundle import (
    BUNDLE_MAGIC,
    COMPRESSED_MAGIC,
    BundleEntry,
    UnpackingBudget,
    read_bundle,
)
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError

SECTION_NAME = b".hip_fatbin"
REGISTRATION_MAGIC, REGISTRATION_VERSION = 0x48495046, 1
_ANY_MAGIC = re.compile(BUNDLE_MAGIC + b"|" + COMPRESSED_MAGIC)
_REGISTRATION = struct.Struct("<IIQQ")
# Compilers pad bundles to pages; far more of them are an attempt at wasting time.
_FEW_BUNDLES, _LEAST_BUNDLE = 64, 512


def is_host_elf(data: bytes | memoryview) -> bool:
    """A little-endian 64-bit ELF file for another machine than an AMD GPU."""
    return (
        data[:6] == elf.MAGIC + elf.IDENT_64_BIT_LITTLE_ENDIAN
        and len(data) >= elf.HEADER.size
        and int.from_bytes(data[18:20], "little") != elf.EM_AMDGPU
    )


def registered_address(wrapper: bytes) -> int:
    """The address of the bundle in a `__hipRegisterFatBinary` wrapper: magic, version, address, unused.

    Raises:
        InvalidArgumentError: the 24 bytes are not such a wrapper.
    """
    fields = _REGISTRATION.unpack_from(wrapper) if len(wrapper) >= _REGISTRATION.size else (0, 0, 0, 0)
    if fields[:2] != (REGISTRATION_MAGIC, REGISTRATION_VERSION):
        raise InvalidArgumentError(
            "not a fat binary registration",
            found=f"magic {fields[0]:#x}, version {fields[1]} in {len(wrapper)} bytes",
            allowed=f"magic {REGISTRATION_MAGIC:#x}, version {REGISTRATION_VERSION}",
        )
    return int(fields[2])


def read_fat_binary(data: bytes | memoryview) -> list[tuple[int, tuple[BundleEntry, ...]]]:
    """File offset and entries of every bundle in the `.hip_fatbin` section.

    Raises:
        NotFoundError: the file has no such section, or no bundle in it.
        InvalidArgumentError, OutOfRangeError, UnimplementedError: the section headers or a bundle are malformed.
        ResourceExhaustedError: the compressed bundles unpack to more than the file's budget.
    """
    view, budget = memoryview(data), UnpackingBudget(len(data))
    start, size = _find_section(view)
    section = view[: start + size]
    bundles: list[tuple[int, tuple[BundleEntry, ...]]] = []
    # Bundles are padded to pages, so the next one is where its magic is.
    found = _ANY_MAGIC.search(section, start)
    while found is not None:
        position = found.start()
        if len(bundles) == _FEW_BUNDLES + size // _LEAST_BUNDLE:
            raise InvalidArgumentError(
                "the .hip_fatbin section holds too many bundles",
                where=f"file offset {position}",
                found=f"more than {len(bundles)} in {size} bytes",
                allowed=f"{_FEW_BUNDLES}, and one for each {_LEAST_BUNDLE} bytes",
                next_step="the file was edited; build it again",
            )
        entries, length = read_bundle(section[position:], position, budget)
        bundles.append((position, entries))
        found = _ANY_MAGIC.search(section, position + length)
    if not bundles:
        raise NotFoundError("the .hip_fatbin section holds no offload bundle", where=f"file offset {start}")
    return bundles


def _find_section(data: memoryview) -> tuple[int, int]:
    rows = list(_sections(data))
    names_index = int.from_bytes(data[62:64], "little")
    names = data[:0]
    if names_index < len(rows):
        names_at, names_size = rows[names_index][4:6]
        names = data[names_at : names_at + names_size]
    for name, kind, _, _, offset, size, *_ in rows:
        if kind != elf.SHT_NOBITS and names[name : name + len(SECTION_NAME) + 1] == SECTION_NAME + b"\0":
            if offset + size > len(data):
                raise truncated("the .hip_fatbin section", offset, size, len(data))
            return offset, size
    raise NotFoundError(
        "this host file carries no GPU code",
        found=f"{len(rows)} sections, none of them .hip_fatbin",
        allowed="an AMD GPU code object, or a host file built from HIP sources",
        next_step="give the code object itself: clang --offload-device-only, or hipcc --genco",
    )


def _sections(data: memoryview) -> Iterator[tuple[int, ...]]:
    table = int.from_bytes(data[40:48], "little")
    stride, count = struct.unpack_from("<HH", data, 58)
    if not table or not count:
        return
    if stride < elf.SECTION_HEADER.size:
        raise InvalidArgumentError(
            "section headers are too small",
            where="file offset 58",
            found=f"{stride} bytes each",
            allowed=f">= {elf.SECTION_HEADER.size}",
        )
    if table + stride * count > len(data):
        raise truncated("the section header table", table, stride * count, len(data))
    for index in range(count):
        yield elf.SECTION_HEADER.unpack_from(data, table + index * stride)
