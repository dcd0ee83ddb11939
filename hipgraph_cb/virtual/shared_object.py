"""Write an ELF shared object for x86-64 Linux whose functions jump through slots. No compiler is involved.

Each exported function is one `jmp *slot(%rip)`. The slots are in writable memory; at load time the dynamic loader
points every slot at a native fallback in the same file, which returns a constant. So a call is answered at any
moment: before the slots are wired to Python, after the interpreter has gone, and in between.

The file has two loadable segments (headers, tables and code; dynamic table and slots), a SysV hash table and, where
an export names a version, symbol versions: a client that was linked against versioned symbols refuses a library
without them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hipgraph_cb.abi import elf

SLOTS_SYMBOL = "hipgraph_cb_slots"
PAGE = 0x1000
STUB_SIZE = 8
FALLBACK_SIZE = 16

_READ_EXECUTE, _READ_WRITE = elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W
_GLOBAL_FUNCTION, _GLOBAL_OBJECT = elf.STB_GLOBAL | elf.STT_FUNC, elf.STB_GLOBAL | elf.STT_OBJECT
_SEGMENTS = 4
_VERSION_GLOBAL = 1
_DEFINED = 1  # any section index but 0: the file has no section headers


@dataclass(frozen=True)
class ExportedFunction:
    """One function of the shared object.

    Attributes:
        name: its symbol.
        version: its symbol version, or None.
        fallback: what it returns while its slot is not wired: a 32-bit integer, or the address of this C string; bytes
            are machine code of its own (at most 16).
    """

    name: str
    version: str | None = None
    fallback: int | str | bytes = 0


def build_image(soname: str, functions: Sequence[ExportedFunction], extra_versions: Iterable[str] = ()) -> bytes:
    """The bytes of a shared object called `soname`; slot i of the symbol `hipgraph_cb_slots` belongs to function i.

    Args:
        extra_versions: version names to define although no function carries them.
    """
    versions = list(dict.fromkeys([f.version for f in functions if f.version is not None] + list(extra_versions)))
    strings = _Strings()
    tables = _Tables(soname, functions, versions, strings)
    place = _Placement(len(functions), tables, strings, _fallback_strings(functions))
    return _assemble(soname, functions, versions, strings, tables, place)


class _Strings:
    """The dynamic string table; equal strings share an offset."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self._offsets: dict[str, int] = {}

    def offset(self, text: str) -> int:
        if text not in self._offsets:
            self._offsets[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._offsets[text]


class _Tables:
    """The tables whose size does not depend on addresses: hash, symbol versions, version definitions."""

    def __init__(
        self, soname: str, functions: Sequence[ExportedFunction], versions: Sequence[str], strings: _Strings
    ) -> None:
        names = [function.name for function in functions] + [SLOTS_SYMBOL]
        for name in [soname, *names]:
            strings.offset(name)
        self.symbol_count = 1 + len(names)
        self.hash = _hash_table(names)
        index = {version: number for number, version in enumerate(versions, _VERSION_GLOBAL + 1)}
        numbers = [0, *(index.get(function.version or "", _VERSION_GLOBAL) for function in functions), _VERSION_GLOBAL]
        self.version_symbols = struct.pack(f"<{len(numbers)}H", *numbers) if versions else b""
        self.version_definitions = _version_definitions([soname, *versions], strings) if versions else b""


class _Placement:
    """The offset of each part; file offset and virtual address are the same number."""

    def __init__(self, count: int, tables: _Tables, strings: _Strings, fallback_strings: bytes) -> None:
        self._end = elf.HEADER.size + _SEGMENTS * elf.PROGRAM_HEADER.size
        self.hash = self._next(len(tables.hash))
        self.symbols = self._next(tables.symbol_count * elf.SYMBOL.size)
        self.version_symbols = self._next(len(tables.version_symbols))
        self.version_definitions = self._next(len(tables.version_definitions))
        self.relocations = self._next(count * elf.RELOCATION.size)
        self.strings = self._next(len(strings.data))
        self.fallback_strings = self._next(len(fallback_strings))
        self.stubs = self._next(count * STUB_SIZE)
        self.fallbacks = self._next(count * FALLBACK_SIZE)
        self.end_of_code = self._end
        self.dynamic = -(-self._end // PAGE) * PAGE
        self.slots = self.dynamic + 16 * elf.DYNAMIC_ENTRY.size
        self.end = self.slots + 8 * count

    def _next(self, size: int) -> int:
        start = -(-self._end // 16) * 16
        self._end = start + size
        return start


def _assemble(
    soname: str,
    functions: Sequence[ExportedFunction],
    versions: Sequence[str],
    strings: _Strings,
    tables: _Tables,
    place: _Placement,
) -> bytes:
    image = bytearray(place.end)
    for offset, data in (
        (0, _headers(place)),
        (place.hash, tables.hash),
        (place.symbols, _symbols(functions, strings, place)),
        (place.version_symbols, tables.version_symbols),
        (place.version_definitions, tables.version_definitions),
        (place.relocations, _relocations(len(functions), place)),
        (place.strings, bytes(strings.data)),
        (place.fallback_strings, _fallback_strings(functions)),
        (place.stubs, _stubs(len(functions), place)),
        (place.fallbacks, _fallbacks(functions, place)),
        (place.dynamic, _dynamic(soname, len(functions), len(versions), strings, place)),
    ):
        image[offset : offset + len(data)] = data
    return bytes(image)


def elf_hash(name: str) -> int:
    """The hash of the System V ABI, used by DT_HASH and by version definitions."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value & 0xFFFFFFFF


def _hash_table(names: Sequence[str]) -> bytes:
    bucket_count = max(1, len(names))
    buckets = [0] * bucket_count
    chains = [0] * (len(names) + 1)
    for index, name in enumerate(names, 1):
        bucket = elf_hash(name) % bucket_count
        chains[index], buckets[bucket] = buckets[bucket], index
    return struct.pack(f"<{2 + len(buckets) + len(chains)}I", len(buckets), len(chains), *buckets, *chains)


def _version_definitions(names: Sequence[str], strings: _Strings) -> bytes:
    """Elf64_Verdef with one Elf64_Verdaux each; the first names the file itself and is flagged as the base."""
    records = bytearray()
    for index, name in enumerate(names, _VERSION_GLOBAL):
        is_base, is_last = index == _VERSION_GLOBAL, index == len(names)
        records += struct.pack("<HHHHIII", 1, int(is_base), index, 1, elf_hash(name), 20, 0 if is_last else 28)
        records += struct.pack("<II", strings.offset(name), 0)
    return bytes(records)


def _headers(place: _Placement) -> bytes:
    identity = elf.MAGIC + elf.IDENT_64_BIT_LITTLE_ENDIAN + b"\x01"
    sizes = elf.HEADER.size, elf.PROGRAM_HEADER.size, _SEGMENTS, elf.SECTION_HEADER.size
    header = elf.HEADER.pack(identity, elf.ET_DYN, elf.EM_X86_64, 1, 0, elf.HEADER.size, 0, 0, *sizes, 0, 0)
    writable = place.end - place.dynamic
    segments = (
        (elf.PT_LOAD, _READ_EXECUTE, 0, place.end_of_code, PAGE),
        (elf.PT_LOAD, _READ_WRITE, place.dynamic, writable, PAGE),
        (elf.PT_DYNAMIC, _READ_WRITE, place.dynamic, place.slots - place.dynamic, 8),
        (elf.PT_GNU_STACK, _READ_WRITE, 0, 0, 16),
    )
    for kind, flags, start, size, alignment in segments:
        header += elf.PROGRAM_HEADER.pack(kind, flags, start, start, start, size, size, alignment)
    return header


def _symbols(functions: Sequence[ExportedFunction], strings: _Strings, place: _Placement) -> bytes:
    table = bytearray(elf.SYMBOL.size)
    for index, function in enumerate(functions):
        address = place.stubs + STUB_SIZE * index
        name = strings.offset(function.name)
        table += elf.SYMBOL.pack(name, _GLOBAL_FUNCTION, 0, _DEFINED, address, STUB_SIZE)
    slots = strings.offset(SLOTS_SYMBOL)
    table += elf.SYMBOL.pack(slots, _GLOBAL_OBJECT, 0, _DEFINED, place.slots, 8 * len(functions))
    return bytes(table)


def _relocations(count: int, place: _Placement) -> bytes:
    return b"".join(
        elf.RELOCATION.pack(place.slots + 8 * index, elf.R_X86_64_RELATIVE, place.fallbacks + FALLBACK_SIZE * index)
        for index in range(count)
    )


def _stubs(count: int, place: _Placement) -> bytes:
    """`jmp *slot(%rip)`, padded with int3."""
    code = bytearray()
    for index in range(count):
        next_instruction = place.stubs + STUB_SIZE * index + 6
        code += b"\xff\x25" + struct.pack("<i", place.slots + 8 * index - next_instruction) + b"\xcc\xcc"
    return bytes(code)


def _fallback_strings(functions: Sequence[ExportedFunction]) -> bytes:
    return b"".join(f.fallback.encode() + b"\0" for f in functions if isinstance(f.fallback, str))


def _fallbacks(functions: Sequence[ExportedFunction], place: _Placement) -> bytes:
    """`mov $code, %eax; ret`, or `lea string(%rip), %rax; ret`, or what is given."""
    code = bytearray()
    text = place.fallback_strings
    for index, function in enumerate(functions):
        if isinstance(function.fallback, bytes):
            entry = function.fallback
        elif isinstance(function.fallback, str):
            next_instruction = place.fallbacks + FALLBACK_SIZE * index + 7
            entry = b"\x48\x8d\x05" + struct.pack("<i", text - next_instruction) + b"\xc3"
            text += len(function.fallback.encode()) + 1
        else:
            entry = b"\xb8" + struct.pack("<I", function.fallback & 0xFFFFFFFF) + b"\xc3"
        code += entry.ljust(FALLBACK_SIZE, b"\xcc")
    return bytes(code)


def _dynamic(soname: str, count: int, version_count: int, strings: _Strings, place: _Placement) -> bytes:
    rows = [
        (elf.DT_SONAME, strings.offset(soname)),
        (elf.DT_HASH, place.hash),
        (elf.DT_STRTAB, place.strings),
        (elf.DT_STRSZ, len(strings.data)),
        (elf.DT_SYMTAB, place.symbols),
        (elf.DT_SYMENT, elf.SYMBOL.size),
        (elf.DT_RELA, place.relocations),
        (elf.DT_RELASZ, count * elf.RELOCATION.size),
        (elf.DT_RELAENT, elf.RELOCATION.size),
        (elf.DT_RELACOUNT, count),
    ]
    if version_count:
        rows += [
            (elf.DT_VERSYM, place.version_symbols),
            (elf.DT_VERDEF, place.version_definitions),
            (elf.DT_VERDEFNUM, version_count + 1),
        ]
    rows.append((0, 0))
    return b"".join(elf.DYNAMIC_ENTRY.pack(tag, value) for tag, value in rows)
