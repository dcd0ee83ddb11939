"""Builds tiny AMD GPU code objects: every byte of them is stated by the test that wants them.

File offsets and virtual addresses are the same, so a number in an error message can be found in the builder's output.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

import msgpack

GFX942_FLAGS = 0x4C | 0x100 | 0x400  # xnack and sramecc "any"
CODE_OBJECT_V5 = 3  # EI_ABIVERSION
TARGET = "amdgcn-amd-amdhsa--gfx942"
HEADER_SIZE, PROGRAM_HEADER_SIZE = 64, 56
LOAD, DYNAMIC, NOTE = 1, 2, 4
S_ENDPGM = struct.pack("<I", 0xBF810000)


def header(
    *,
    flags: int = GFX942_FLAGS,
    abi_version: int = CODE_OBJECT_V5,
    elf_class: int = 2,
    encoding: int = 1,
    ident_version: int = 1,
    os_abi: int = 64,
    kind: int = 3,
    machine: int = 224,
    object_version: int = 1,
    program_headers: int = 0,
    program_header_size: int = PROGRAM_HEADER_SIZE,
    program_header_offset: int = HEADER_SIZE,
) -> bytes:
    """The 64 bytes of an ELF header, right for gfx942 unless stated otherwise."""
    ident = b"\x7fELF" + bytes([elf_class, encoding, ident_version, os_abi, abi_version]) + bytes(7)
    rest = struct.pack(
        "<HHIQQQIHHHHHH",
        *(kind, machine, object_version, 0, program_header_offset, 0, flags, HEADER_SIZE),
        *(program_header_size, program_headers, 0, 0, 0),
    )
    return ident + rest


def program_header(kind: int, offset: int, size: int, flags: int = 4) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, offset, offset, offset, size, size, 4)


def note_record(descriptor: bytes, *, name: bytes = b"AMDGPU\0", kind: int = 32) -> bytes:
    return struct.pack("<III", len(name), len(descriptor), kind) + _padded(name) + _padded(descriptor)


def notes_only(*notes: bytes, program_header_size: int = PROGRAM_HEADER_SIZE, **fields: int) -> bytes:
    """A code object that holds note segments, one for each of `notes`, and nothing else."""
    start = HEADER_SIZE + program_header_size * len(notes)
    table, blob = b"", b""
    for note in notes:
        row = program_header(NOTE, start + len(blob), len(note))
        table += row.ljust(program_header_size, b"\0")[:program_header_size]
        blob += note
    top = header(program_headers=len(notes), program_header_size=program_header_size, **fields)
    return top + table + blob


def argument(offset: int, size: int, value_kind: str = "by_value", **keys: Any) -> dict[str, Any]:
    """The metadata of one argument; keyword `type_name` is the key `.type_name`."""
    return {".offset": offset, ".size": size, ".value_kind": value_kind, **_dotted(keys)}


def pointer(offset: int, **keys: Any) -> dict[str, Any]:
    return argument(offset, 8, "global_buffer", address_space="global", **keys)


def kernel(name: str, arguments: Iterable[Mapping[str, Any]] = (), **keys: Any) -> dict[str, Any]:
    """The metadata of one kernel. The kernarg segment ends with the last argument unless stated otherwise."""
    rows = [dict(row) for row in arguments]
    row = {
        ".name": name,
        ".symbol": f"{name}.kd",
        ".kernarg_segment_size": max((row[".offset"] + row[".size"] for row in rows), default=0),
        ".kernarg_segment_align": 8,
        ".group_segment_fixed_size": 0,
        ".private_segment_fixed_size": 0,
        ".wavefront_size": 64,
        ".max_flat_workgroup_size": 1024,
        ".args": rows,
    }
    return row | _dotted(keys)


def document(*kernels: Mapping[str, Any], target: str | None = TARGET) -> dict[str, Any]:
    root: dict[str, Any] = {"amdhsa.version": [1, 2], "amdhsa.kernels": list(kernels)}
    return root if target is None else root | {"amdhsa.target": target}


def metadata_note(root: Any) -> bytes:
    """The note record that holds `root` as MessagePack."""
    return note_record(msgpack.packb(root))


def packed_map(pairs: Iterable[tuple[Any, Any]]) -> bytes:
    """A MessagePack map that may repeat a key, which a Python dict cannot."""
    rows = list(pairs)
    return bytes([0x80 | len(rows)]) + b"".join(msgpack.packb(key) + msgpack.packb(value) for key, value in rows)


def descriptor(row: Mapping[str, Any], entry_offset: int, **fields: int) -> bytes:
    """The 64-byte kernel descriptor that agrees with the metadata `row`; keywords override a field."""
    values = {
        "group": row[".group_segment_fixed_size"],
        "private": row[".private_segment_fixed_size"],
        "kernarg": row[".kernarg_segment_size"],
        "entry": entry_offset,
        "properties": 0x400 if row.get(".wavefront_size") == 32 else 0,
    } | fields
    sizes = struct.pack("<III4xq", values["group"], values["private"], values["kernarg"], values["entry"])
    return sizes + bytes(20) + struct.pack("<IIIHHI", 0, 0, 0, values["properties"], 0, 0)


def code_object(
    *kernels: Mapping[str, Any],
    root: Mapping[str, Any] | None = None,
    descriptors: Mapping[str, Mapping[str, int]] | None = None,
    symbols: Iterable[str] | None = None,
    **fields: int,
) -> bytes:
    """A whole code object: note, symbols, descriptors and one `s_endpgm` for each kernel.

    `root` replaces the metadata document; `descriptors` overrides fields of a kernel's descriptor, by kernel name;
    `symbols` names the descriptor symbols in order, where they are not those of the metadata.
    """
    rows = list(kernels)
    note = metadata_note(document(*rows) if root is None else root)
    names = list(symbols) if symbols is not None else [row[".symbol"] for row in rows]
    note_at = HEADER_SIZE + 4 * PROGRAM_HEADER_SIZE
    table_at = _aligned(note_at + len(note), 64)
    code_at = _aligned(table_at + 64 * len(rows), 256)
    table = b""
    for index, row in enumerate(rows):
        entry = code_at + 256 * index - (table_at + 64 * index)
        table += descriptor(row, entry, **(descriptors or {}).get(row[".name"], {}))
    code = S_ENDPGM.ljust(256, b"\0") * len(rows)
    dynamic_at = code_at + len(code)
    dynamic, tables = _dynamic(dynamic_at, [(name, table_at + 64 * index) for index, name in enumerate(names)])
    end = dynamic_at + len(dynamic) + len(tables)
    headers = (
        program_header(LOAD, 0, end, 5)
        + program_header(NOTE, note_at, len(note))
        + program_header(DYNAMIC, dynamic_at, len(dynamic))
        + program_header(LOAD, end, 0)
    )
    data = header(program_headers=4, **fields) + headers + note
    data = data.ljust(table_at, b"\0") + table
    return data.ljust(code_at, b"\0") + code + dynamic + tables


def _dynamic(start: int, symbols: list[tuple[str, int]]) -> tuple[bytes, bytes]:
    strings = b"\0"
    rows = bytes(24)
    for name, address in symbols:
        rows += struct.pack("<IBBHQQ", len(strings), 0x11, 3, 1, address, 64)
        strings += name.encode("utf-8", "surrogateescape") + b"\0"
    count = len(symbols) + 1
    hashes = struct.pack("<II", 1, count) + struct.pack("<I", 0) + bytes(4 * count)
    size = 16 * 6
    rows_at = start + size
    hash_at, strings_at = rows_at + len(rows), rows_at + len(rows) + len(hashes)
    entries = ((4, hash_at), (5, strings_at), (6, rows_at), (10, len(strings)), (11, 24), (0, 0))
    return b"".join(struct.pack("<QQ", *entry) for entry in entries), rows + hashes + strings


def _dotted(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {f".{name}": value for name, value in keys.items()}


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _aligned(value: int, alignment: int) -> int:
    return value + -value % alignment
