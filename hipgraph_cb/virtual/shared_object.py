"""Write an ELF shared object for x86-64 Linux whose functions jump through slots. No compiler is involved.

Each exported function is one `jmp *slot(%rip)`. The slots are in writable memory; at load time the dynamic loader
points every slot at a native fallback in the same file, which returns a constant. So a call is answered at any
moment: before the slots are wired to Python, after the interpreter has gone, and in between. With a `FirstCall` the
slots lead at first to a function of another library, which fills them: for libraries that are files.

The file has two loadable segments (headers, tables and code; dynamic table, what it says about itself, slots), a SysV
hash table and, where an export names a version, symbol versions: a client that was linked against versioned symbols
refuses a library without them.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hipgraph_cb.abi import elf
from hipgraph_cb.virtual import entries
from hipgraph_cb.virtual.entries import ENTRY_SIZE, STUB_SIZE, Fallback

LIBRARY_SYMBOL = "hipgraph_cb_library"
"""What the file says about itself, in fields of eight bytes: the addresses of the slots, their number, the addresses
of the starters and of the fallbacks, those of the three texts of `FirstCall`, and `names_digest`."""
LIBRARY_FIELDS = 8
PAGE = 0x1000

_READ_EXECUTE, _READ_WRITE = elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W
_GLOBAL_FUNCTION, _GLOBAL_OBJECT = elf.STB_GLOBAL | elf.STT_FUNC, elf.STB_GLOBAL | elf.STT_OBJECT
_SEGMENTS = 4
_DYNAMIC_ENTRIES = 20  # more than are used
_VERSION_GLOBAL = 1
_UNDEFINED, _DEFINED = 0, 1  # any section index but 0: the file has no section headers


@dataclass(frozen=True)
class ExportedFunction:
    """One function of the shared object.

    Attributes:
        name: its symbol.
        version: its symbol version, or None.
        fallback: what it returns while its slot is not wired.
    """

    name: str
    version: str | None = None
    fallback: Fallback = 0


@dataclass(frozen=True)
class FirstCall:
    """Where the first call of a library goes whose slots nobody has filled.

    Attributes:
        library: the SONAME of the library that fills them; it is looked for in the folder of the file.
        function: its function. It finds the number of the slot on the stack, and `hipgraph_cb_library` in %r11.
        texts: for that function: the path of libpython, the name of the Python program, and a script.
    """

    library: str
    function: str
    texts: tuple[str, str, str]


def build_image(
    soname: str,
    functions: Sequence[ExportedFunction],
    extra_versions: Iterable[str] = (),
    first_call: FirstCall | None = None,
) -> bytes:
    """The bytes of a shared object called `soname`; slot i belongs to function i.

    Args:
        extra_versions: version names to define although no function carries them.
        first_call: who fills the slots; without it they lead to the fallbacks.
    """
    versions = list(dict.fromkeys([f.version for f in functions if f.version is not None] + list(extra_versions)))
    strings = _Strings()
    tables = _Tables(soname, functions, versions, strings, first_call)
    return _assemble(functions, tables, _Placement(functions, tables, strings, first_call), strings, first_call)


def names_digest(functions: Iterable[ExportedFunction]) -> int:
    """Tells whether two libraries have the same functions in the same slots."""
    names = "\n".join(function.name for function in functions)
    return int.from_bytes(hashlib.sha256(names.encode()).digest()[:8], "little")


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
    """The tables whose size does not depend on addresses: hash, symbol versions, version definitions, names."""

    def __init__(
        self,
        soname: str,
        functions: Sequence[ExportedFunction],
        versions: Sequence[str],
        strings: _Strings,
        first_call: FirstCall | None,
    ) -> None:
        imported = [] if first_call is None else [first_call.function]
        names = [function.name for function in functions] + [LIBRARY_SYMBOL]
        for name in [*names, *imported]:
            strings.offset(name)
        self.symbol_count = 1 + len(names) + len(imported)
        self.hash = _hash_table(names, self.symbol_count)
        index = {version: number for number, version in enumerate(versions, _VERSION_GLOBAL + 1)}
        numbers = [0, *(index.get(function.version or "", _VERSION_GLOBAL) for function in functions)]
        numbers += [_VERSION_GLOBAL] * (self.symbol_count - len(numbers))
        self.version_symbols = struct.pack(f"<{len(numbers)}H", *numbers) if versions else b""
        self.version_definitions = _version_definitions([soname, *versions], strings) if versions else b""
        self.version_count = len(versions)
        self.named = [(elf.DT_SONAME, strings.offset(soname))]
        if first_call is not None:
            self.named += [(elf.DT_NEEDED, strings.offset(first_call.library))]
            self.named += [(elf.DT_RUNPATH, strings.offset("$ORIGIN"))]


class _Placement:
    """The offset of each part; file offset and virtual address are the same number."""

    def __init__(
        self,
        functions: Sequence[ExportedFunction],
        tables: _Tables,
        strings: _Strings,
        first_call: FirstCall | None,
    ) -> None:
        count, lazy = len(functions), 0 if first_call is None else len(functions)
        self.lazy_count = lazy
        self._end = elf.HEADER.size + _SEGMENTS * elf.PROGRAM_HEADER.size
        self.hash = self._next(len(tables.hash))
        self.symbols = self._next(tables.symbol_count * elf.SYMBOL.size)
        self.version_symbols = self._next(len(tables.version_symbols))
        self.version_definitions = self._next(len(tables.version_definitions))
        self.relocation_count = count + LIBRARY_FIELDS - 2  # its number of slots and its digest are no addresses
        self.relocations = self._next((self.relocation_count + 1) * elf.RELOCATION.size)
        self.strings = self._next(len(strings.data))
        self.texts = self._next(len(_texts(first_call)))
        self.fallback_strings = self._next(len(entries.fallback_strings(f.fallback for f in functions)))
        self.stubs = self._next(count * STUB_SIZE)
        self.starters = self._next(lazy * ENTRY_SIZE)
        self.entry = self._next(ENTRY_SIZE)
        self.fallbacks = self._next(count * ENTRY_SIZE)
        self.end_of_code = self._end
        self.dynamic = -(-self._end // PAGE) * PAGE
        self.library = self.dynamic + _DYNAMIC_ENTRIES * elf.DYNAMIC_ENTRY.size
        self.first_call = self.library + 8 * LIBRARY_FIELDS
        self.slots = self.first_call + 8
        self.end = self.slots + 8 * count

    def _next(self, size: int) -> int:
        start = -(-self._end // 16) * 16
        self._end = start + size
        return start


def _assemble(
    functions: Sequence[ExportedFunction],
    tables: _Tables,
    place: _Placement,
    strings: _Strings,
    first_call: FirstCall | None,
) -> bytes:
    image = bytearray(place.end)
    count, given = len(functions), [function.fallback for function in functions]
    for offset, data in (
        (0, _headers(place)),
        (place.hash, tables.hash),
        (place.symbols, _symbols(functions, strings, place, first_call)),
        (place.version_symbols, tables.version_symbols),
        (place.version_definitions, tables.version_definitions),
        (place.relocations, _relocations(functions, tables, place, first_call)),
        (place.strings, bytes(strings.data)),
        (place.texts, _texts(first_call)),
        (place.fallback_strings, entries.fallback_strings(given)),
        (place.stubs, entries.stubs(place.stubs, place.slots, count)),
        (place.starters, entries.starters(place.starters, place.entry, place.lazy_count)),
        (place.entry, entries.entry(place.entry, place.library, place.first_call)),
        (place.fallbacks, entries.fallbacks(given, place.fallbacks, place.fallback_strings)),
        (place.dynamic, _dynamic(tables, strings, place)),
        (place.library, _library_numbers(functions)),
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


def _hash_table(names: Sequence[str], symbol_count: int) -> bytes:
    """Of the defined symbols, which come first."""
    bucket_count = max(1, len(names))
    buckets = [0] * bucket_count
    chains = [0] * symbol_count
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
        (elf.PT_DYNAMIC, _READ_WRITE, place.dynamic, place.library - place.dynamic, 8),
        (elf.PT_GNU_STACK, _READ_WRITE, 0, 0, 16),
    )
    for kind, flags, start, size, alignment in segments:
        header += elf.PROGRAM_HEADER.pack(kind, flags, start, start, start, size, size, alignment)
    return header


def _symbols(
    functions: Sequence[ExportedFunction], strings: _Strings, place: _Placement, first_call: FirstCall | None
) -> bytes:
    table = bytearray(elf.SYMBOL.size)
    for index, function in enumerate(functions):
        address = place.stubs + STUB_SIZE * index
        name = strings.offset(function.name)
        table += elf.SYMBOL.pack(name, _GLOBAL_FUNCTION, 0, _DEFINED, address, STUB_SIZE)
    library = strings.offset(LIBRARY_SYMBOL)
    table += elf.SYMBOL.pack(library, _GLOBAL_OBJECT, 0, _DEFINED, place.library, 8 * LIBRARY_FIELDS)
    if first_call is not None:
        table += elf.SYMBOL.pack(strings.offset(first_call.function), _GLOBAL_FUNCTION, 0, _UNDEFINED, 0, 0)
    return bytes(table)


def _relocations(
    functions: Sequence[ExportedFunction], tables: _Tables, place: _Placement, first_call: FirstCall | None
) -> bytes:
    targets = place.fallbacks if first_call is None else place.starters
    relative = [(place.slots + 8 * index, targets + ENTRY_SIZE * index) for index in range(len(functions))]
    texts, text = [], place.texts
    for length in [0] * 3 if first_call is None else [len(text.encode()) + 1 for text in first_call.texts]:
        texts.append(text)
        text += length
    fields = {0: place.slots, 2: place.starters, 3: place.fallbacks, **dict(enumerate(texts, 4))}
    relative += [(place.library + 8 * field, address) for field, address in fields.items()]
    table = b"".join(elf.RELOCATION.pack(where, elf.R_X86_64_RELATIVE, address) for where, address in relative)
    if first_call is None:
        return table
    imported = (tables.symbol_count - 1) << 32 | elf.R_X86_64_64
    return table + elf.RELOCATION.pack(place.first_call, imported, 0)


def _library_numbers(functions: Sequence[ExportedFunction]) -> bytes:
    """The fields of `hipgraph_cb_library` that are no addresses."""
    return struct.pack("<8xQ40xQ", len(functions), names_digest(functions))


def _texts(first_call: FirstCall | None) -> bytes:
    return b"" if first_call is None else b"".join(text.encode() + b"\0" for text in first_call.texts)


def _dynamic(tables: _Tables, strings: _Strings, place: _Placement) -> bytes:
    has_import = place.lazy_count > 0
    rows = [
        *tables.named,
        (elf.DT_HASH, place.hash),
        (elf.DT_STRTAB, place.strings),
        (elf.DT_STRSZ, len(strings.data)),
        (elf.DT_SYMTAB, place.symbols),
        (elf.DT_SYMENT, elf.SYMBOL.size),
        (elf.DT_RELA, place.relocations),
        (elf.DT_RELASZ, (place.relocation_count + has_import) * elf.RELOCATION.size),
        (elf.DT_RELAENT, elf.RELOCATION.size),
        (elf.DT_RELACOUNT, place.relocation_count),
    ]
    if tables.version_count:
        rows += [
            (elf.DT_VERSYM, place.version_symbols),
            (elf.DT_VERDEF, place.version_definitions),
            (elf.DT_VERDEFNUM, tables.version_count + 1),
        ]
    rows.append((0, 0))
    return b"".join(elf.DYNAMIC_ENTRY.pack(tag, value) for tag, value in rows)
