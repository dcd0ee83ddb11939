"""Mutants of code objects and of the files that carry them: each change hits a field that some reader follows."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
from support.containers import BUNDLE_MAGIC

Field = tuple[int, int]
"""Offset and size in bytes."""
_EDGES = [0, 1, 2, 3, 7, 8, 63, 64, 127, 128, 255, 256, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF]
_EDGES += [1 << 32, (1 << 32) + 8, 1 << 47, (1 << 63) - 1, 1 << 63, (1 << 64) - 4096, (1 << 64) - 8, (1 << 64) - 1]
_LEAVES: list[Any] = [0, -1, 1 << 32, 1 << 63, "", "\udcff", None, True, 1.5, b"\xff", [], {}, [[]], "x" * 10_000]
_LEAVES += ["by_value", "global_buffer", "hidden_none", "dynamic_shared_pointer", 4, 8, 64, 1 << 20]


def mutant(data: bytes, chance: random.Random) -> bytes:
    """One to four changes of a file."""
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 4])):
        if changed:
            chance.choice(_CHANGES)(changed, chance)
    return bytes(changed)


def _flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 4, 16])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def _repeat(data: bytearray, chance: random.Random) -> None:
    start, size = chance.randrange(len(data)), chance.choice([1, 8, 64, 4096])
    data[start:start] = data[start : start + size]


def _drop(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    del data[start : start + chance.choice([1, 4, 64])]


def _field(data: bytearray, chance: random.Random) -> None:
    """An edge value, or another field's value, in a field of whatever the file is or holds."""
    fields = list(_fields(bytes(data)))
    if not fields:
        _flip(data, chance)
        return
    offset, size = chance.choice(fields)
    if offset + size > len(data):
        return
    value = chance.choice(
        [chance.choice(_EDGES), len(data) + chance.choice([-8, -1, 0, 1]), chance.randrange(len(data))]
    )
    if chance.random() < 0.2:
        other, other_size = chance.choice(fields)
        value = int.from_bytes(data[other : other + other_size], "little")
    data[offset : offset + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


def _metadata(data: bytearray, chance: random.Random) -> None:
    """Another tree in the first metadata note, which moves behind the file when it grows."""
    for row, offset, size in _note_rows(bytes(data)):
        name_size, length, kind = struct.unpack_from("<III", data, offset)
        start = offset + 12 + (name_size + 3 & ~3)
        try:
            tree = msgpack.unpackb(bytes(data[start : start + length]), strict_map_key=False)
            raw = msgpack.packb(_other(tree, chance), unicode_errors="surrogateescape")
        except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException):
            continue
        note = struct.pack("<III", 7, len(raw), kind) + b"AMDGPU\0\0" + raw + bytes(-len(raw) % 4)
        if len(note) > size:
            offset = len(data) + -len(data) % 8
            data += bytes(offset - len(data)) + note
        else:
            data[offset : offset + len(note)] = note
        struct.pack_into("<QQQQQ", data, row + 8, offset, offset, offset, len(note), len(note))
        return


def _other(tree: Any, chance: random.Random) -> Any:
    if isinstance(tree, dict) and tree and chance.random() < 0.9:
        key = chance.choice(list(tree))
        if chance.random() < 0.15:
            return {each: value for each, value in tree.items() if each != key}
        return tree | {key: _other(tree[key], chance)}
    if isinstance(tree, list) and tree and chance.random() < 0.85:
        index = chance.randrange(len(tree))
        if chance.random() < 0.2:
            return tree * chance.choice([0, 2, 20])
        return [*tree[:index], _other(tree[index], chance), *tree[index + 1 :]]
    return chance.choice(_LEAVES)


_CHANGES: list[Callable[[bytearray, random.Random], None]] = [_flip, _cut, _repeat, _drop, _metadata]
_CHANGES += [_field] * 8


def _fields(data: bytes) -> Iterator[Field]:
    """The fields of the container, and of the first ELF files in it."""
    if data[:24] == BUNDLE_MAGIC:
        yield from _bundle_fields(data, 0)
    elif data[:4] == b"CCOB":
        yield from ((4, 2), (6, 2), (8, 4), (12, 4), (8, 8), (16, 8))
    elif data[:4] in (b"AMD1", b"HIP1"):
        yield from ((4, 4), (8, 8), *((offset, 4) for offset in range(64, min(len(data), 600), 4)))
    start = data.find(b"\x7fELF")
    for _ in range(3):
        if start < 0:
            return
        yield from ((start + offset, size) for offset, size in _elf_fields(data[start:]))
        bundle = data.find(BUNDLE_MAGIC, start)
        if bundle > 0:
            yield from _bundle_fields(data, bundle)
        start = data.find(b"\x7fELF", start + 1)


def _bundle_fields(data: bytes, base: int) -> Iterator[Field]:
    yield base + 24, 8
    position = base + 32
    for _ in range(4):
        if position + 24 > len(data):
            return
        yield from ((position, 8), (position + 8, 8), (position + 16, 8))
        position += 24 + min(int.from_bytes(data[position + 16 : position + 24], "little"), 256)


def _elf_fields(data: bytes) -> Iterator[Field]:
    yield from ((4, 1), (7, 1), (8, 1), (16, 2), (18, 2), (32, 8), (40, 8), (48, 4), (54, 2), (56, 2), (58, 2), (60, 2))
    if len(data) < 64:
        return
    programs, sections = struct.unpack_from("<QQ", data, 32)
    for row in range(programs, programs + 56 * min(int.from_bytes(data[56:58], "little"), 12), 56):
        if row + 56 > len(data):
            return
        yield from ((row, 4), (row + 4, 4), *((row + at, 8) for at in (8, 16, 32, 40)))
        kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", data, row)
        if kind == 2:
            yield from ((offset + at, 8) for at in range(0, min(size, 320), 8))
        elif kind == 4:
            yield from ((offset + at, 4) for at in (0, 4, 8))
    for row in range(sections, sections + 64 * min(int.from_bytes(data[60:62], "little"), 24), 64):
        if row + 64 > len(data):
            return
        yield from ((row, 4), (row + 4, 4), (row + 24, 8), (row + 32, 8), (row + 40, 4))
        kind, _, _, offset, size = struct.unpack_from("<IQQQQ", data, row + 4)
        if kind in (2, 11):
            yield from ((offset + at, width) for at in range(0, min(size, 720), 24) for width in (4,))
            yield from ((offset + at + 8, 8) for at in range(0, min(size, 720), 24))


def _note_rows(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Row, offset and size of every note segment of the file."""
    if data[:4] != b"\x7fELF" or len(data) < 64:
        return
    (programs,) = struct.unpack_from("<Q", data, 32)
    for row in range(programs, programs + 56 * min(int.from_bytes(data[56:58], "little"), 12), 56):
        if row + 56 <= len(data):
            kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", data, row)
            if kind == 4 and 20 <= size <= len(data) - offset:
                yield row, offset, size
