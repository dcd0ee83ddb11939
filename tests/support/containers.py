"""Builds the files that carry code objects: wrappers, offload bundles, host files with a fat binary section."""

from __future__ import annotations

import hashlib
import struct
import sys
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import flatbuffers

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
HOST_ENTRY = "host-x86_64-unknown-linux--"


def wrapper_header(identifier: bytes, content_size: int, version: int = 0) -> bytes:
    return struct.pack("<4sIQ", identifier, version, content_size) + bytes(48)


@dataclass
class Export:
    """One export of a wrapper; None leaves the field out. `bindings`: how many, or the flags of each; `debug`: (name,
    (file, line), [(stage, (file, line))])."""

    name: str | None
    workgroup_size: tuple[int, int, int] | None = (64, 1, 1)
    constants: int = 0
    bindings: int | tuple[int, ...] = 0
    module: int = 0
    block_shared_memory: int = 0
    debug: tuple[str, tuple[str, int] | None, list[tuple[str, tuple[str, int] | None]]] | None = None


@dataclass
class _Slots:
    root: tuple[int, int, int, int]  # slots in all, exports, modules, source files
    export: Mapping[str, int] = field(default_factory=dict)


_AMD1 = _Slots((4, 1, 2, 3), {"name": 0, "workgroup_size": 1, "constants": 2, "bindings": 3, "debug": 4})
_HIP1 = _Slots(
    (3, 0, 1, 2),
    {
        "module": 0,
        "name": 1,
        "workgroup_size": 2,
        "block_shared_memory": 3,
        "constants": 4,
        "bindings": 5,
        "debug": 6,
    },
)


def wrapped(
    identifier: bytes,
    exports: Iterable[Export],
    modules: Iterable[bytes],
    isa: str | None = None,
    repeat: int = 1,
    sources: Mapping[str, bytes] = MappingProxyType({}),
) -> bytes:
    """A whole AMD1 or HIP1 file, built with the FlatBuffers library; `repeat` lists the same modules again."""
    content = flatbuffer(identifier, exports, modules, isa, repeat, sources)
    return wrapper_header(identifier, len(content)) + content


def flatbuffer(
    identifier: bytes,
    exports: Iterable[Export],
    modules: Iterable[bytes],
    isa: str | None = None,
    repeat: int = 1,
    sources: Mapping[str, bytes] = MappingProxyType({}),
) -> bytes:
    slots = _AMD1 if identifier == b"AMD1" else _HIP1
    builder = flatbuffers.Builder(1024)
    module_tables = [_table(builder, 1, {0: builder.CreateString(image)}) for image in modules]
    export_tables = [_export(builder, export, slots.export) for export in exports]
    source_tables = [
        _table(builder, 2, {0: builder.CreateString(path), 1: builder.CreateByteVector(content)})
        for path, content in sources.items()
    ]
    count, exports_slot, modules_slot, sources_slot = slots.root
    offsets = {
        exports_slot: _vector(builder, export_tables),
        modules_slot: _vector(builder, module_tables * repeat),
    }
    if source_tables:
        offsets[sources_slot] = _vector(builder, source_tables)
    if isa is not None:
        offsets[0] = builder.CreateString(isa)
    builder.Finish(_table(builder, count, offsets), file_identifier=identifier)
    return bytes(builder.Output())


def _export(builder: Any, export: Export, slots: Mapping[str, int]) -> int:
    offsets = {}
    if export.name is not None:
        offsets[slots["name"]] = builder.CreateString(export.name)
    if export.bindings:
        flags = (0,) * export.bindings if isinstance(export.bindings, int) else export.bindings
        builder.StartVector(8, len(flags), 8)
        for value in reversed(flags):
            builder.PrependUint64(value)
        offsets[slots["bindings"]] = builder.EndVector()
    if export.debug is not None:
        offsets[slots["debug"]] = _debug(builder, export.debug)
    builder.StartObject(len(slots))
    for slot, offset in offsets.items():
        builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
    builder.PrependUint32Slot(slots["constants"], export.constants, 0)
    if "module" in slots:
        builder.PrependUint32Slot(slots["module"], export.module, 0)
        builder.PrependUint32Slot(slots["block_shared_memory"], export.block_shared_memory, 0)
    if export.workgroup_size is not None:
        builder.Prep(4, 12)
        for size in reversed(export.workgroup_size):
            builder.PrependUint32(size)
        builder.PrependStructSlot(slots["workgroup_size"], builder.Offset(), 0)
    return int(builder.EndObject())


def _debug(builder: Any, debug: Any) -> int:
    name, location, stages = debug
    rows = []
    for stage, stage_location in stages:
        offsets = {0: builder.CreateString(stage)}
        if stage_location is not None:
            offsets[1] = _location(builder, stage_location)
        rows.append(_table(builder, 2, offsets))
    offsets = {0: builder.CreateString(name), 2: _vector(builder, rows)}
    if location is not None:
        offsets[1] = _location(builder, location)
    return _table(builder, 3, offsets)


def _location(builder: Any, location: tuple[str, int]) -> int:
    file, line = location
    name = builder.CreateString(file)
    builder.StartObject(2)
    builder.PrependUOffsetTRelativeSlot(0, name, 0)
    builder.PrependInt32Slot(1, line, 0)
    return int(builder.EndObject())


def _table(builder: Any, count: int, offsets: Mapping[int, int]) -> int:
    builder.StartObject(count)
    for slot, offset in offsets.items():
        builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
    return int(builder.EndObject())


def _vector(builder: Any, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def bundle(*entries: tuple[str, bytes], alignment: int = 4096) -> bytes:
    """A plain offload bundle; each entry is (ID, bytes)."""
    header_size = 32 + sum(24 + len(name) for name, _ in entries)
    header, body = BUNDLE_MAGIC + struct.pack("<Q", len(entries)), b""
    start = header_size + -header_size % alignment
    for name, data in entries:
        body += bytes(-len(body) % alignment)
        header += struct.pack("<QQQ", start + len(body), len(data), len(name)) + name.encode()
        body += data
    return header.ljust(start, b"\0") + body


def hip_entry(target: str) -> str:
    return f"hipv4-amdgcn-amd-amdhsa--{target}"


def compressed(plain: bytes, *, version: int = 2, method: int = 0, packed: bytes | None = None, **fields: int) -> bytes:
    """A compressed bundle; keywords `total` and `unpacked` override what the header says."""
    body = packed if packed is not None else zstd.compress(plain) if method == 1 else zlib.compress(plain)
    digest = hashlib.md5(plain, usedforsecurity=False).digest()[:8]
    size = {1: 20, 2: 24, 3: 32}.get(version, 24)
    total, unpacked = fields.get("total", size + len(body)), fields.get("unpacked", len(plain))
    sizes = (
        struct.pack("<I", unpacked) if version == 1 else struct.pack("<QQ" if version == 3 else "<II", total, unpacked)
    )
    return b"CCOB" + struct.pack("<HH", version, method) + sizes + digest + body


def host_file(section: bytes, *, name: bytes = b".hip_fatbin", machine: int = 62) -> bytes:
    """A little-endian 64-bit ELF file for a host, with one section beside its section names."""
    names = b"\0" + name + b"\0.shstrtab\0"
    section_at = 4096
    names_at = section_at + len(section)
    table_at = names_at + len(names) + -(names_at + len(names)) % 8
    rows = bytes(64)
    rows += struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, section_at, len(section), 0, 0, 4096, 0)
    rows += struct.pack("<IIQQQQIIQQ", 2 + len(name), 3, 0, 0, names_at, len(names), 0, 0, 1, 0)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, table_at, 0, 64, 56, 0, 64, 3, 2)
    data = header.ljust(section_at, b"\0") + section + names
    return data.ljust(table_at, b"\0") + rows
