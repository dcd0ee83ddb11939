"""The `AMD1` and `HIP1` wrappers of the HAL compiler: a 64-byte header, then a FlatBuffer that holds code objects.

The wrapper states, for each export, what its caller may rely on: workgroup size, constants and bindings; and where in
the source it comes from.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntFlag
from typing import NamedTuple

from hipgraph_cb.code_object.flatbuffer import Reader, Table
from hipgraph_cb.errors import IncompatibleError, InvalidArgumentError, OutOfRangeError

HEADER_SIZE = 64
MAX_COUNT = 65535
MAX_NAME_LENGTH = 4096
_HEADER = struct.Struct("<4sIQ")


@dataclass(frozen=True)
class _Form:
    """Slots of the tables of one kind of wrapper, and whether its names are descriptor symbols."""

    exports: int
    modules: int
    name: int
    workgroup_size: int
    constants: int
    bindings: int
    debug: int
    module_ordinal: int | None
    deprecated_lds: int | None
    name_is_symbol: bool
    source_files: int


_FORMS = {
    b"AMD1": _Form(1, 2, 0, 1, 2, 3, 4, None, None, True, 3),
    b"HIP1": _Form(0, 1, 1, 2, 4, 5, 6, 0, 3, False, 2),
}


class BindingFlag(IntFlag):
    """What a wrapper says about a binding: the kernel only reads it; it may come from the binding table of a replay."""

    READ_ONLY = 1
    INDIRECT = 2


def flag_names(flags: int) -> tuple[str, ...]:
    """The names of the known flags among these."""
    return tuple(str(flag.name).lower().replace("_", "-") for flag in BindingFlag if flags & flag)


class SourceLocation(NamedTuple):
    """A line of a source file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class ExportDebug:
    """Where a kernel comes from. `stages`: the name of each stage of the compiler, and the place in what it wrote."""

    name: str
    location: SourceLocation | None
    stages: tuple[tuple[str, SourceLocation | None], ...]

    @property
    def shown(self) -> SourceLocation | None:
        """The place for people: of the first stage that has one, else of the source."""
        return next((location for _, location in self.stages if location is not None), self.location)


@dataclass(frozen=True)
class WrappedExport:
    """What a wrapper says about one kernel: `symbol` is its descriptor symbol, `name` the name for users."""

    name: str
    symbol: str
    workgroup_size: tuple[int, int, int]
    constant_count: int
    binding_flags: tuple[int, ...]
    module: int
    debug: ExportDebug | None = None

    @property
    def binding_count(self) -> int:
        return len(self.binding_flags)


class SourceFile(NamedTuple):
    """A source file that the producer put into the wrapper."""

    path: str
    content: bytes


@dataclass(frozen=True)
class Wrapper:
    """`modules`: file offset and bytes of each image. `isa` is the producer's note; the ELF flags decide."""

    identifier: str
    isa: str | None
    exports: tuple[WrappedExport, ...]
    modules: tuple[tuple[int, memoryview], ...]
    source_files: tuple[SourceFile, ...] = ()


def is_wrapper(data: bytes | memoryview) -> bool:
    return bytes(data[:4]) in _FORMS


def wrapper_size(header: bytes) -> int:
    """Bytes of the whole wrapper, from its first 64 bytes, for callers who have no length. Raises as read_wrapper."""
    return HEADER_SIZE + _content_size(header)


def read_wrapper(data: bytes | memoryview) -> Wrapper:
    """Read a wrapper whole; bytes after its stated size are ignored.

    Raises:
        InvalidArgumentError: header or FlatBuffer malformed, or an export that breaks a rule of its own.
        IncompatibleError: another wrapper version.
        OutOfRangeError: the bytes end before the stated size.
    """
    size = _content_size(data)
    if size > len(data) - HEADER_SIZE:
        raise OutOfRangeError(
            "the wrapper is truncated",
            where="file offset 8 (content size)",
            found=f"{len(data) - HEADER_SIZE} bytes after the header",
            allowed=f"at least {size}",
            next_step="the file is truncated; build or copy it again",
        )
    identifier = bytes(data[:4])
    form = _FORMS[identifier]
    root = Reader(memoryview(data)[HEADER_SIZE : HEADER_SIZE + size], HEADER_SIZE).root(identifier)
    modules = tuple(_module(table, index) for index, table in enumerate(root.tables(form.modules, "modules")))
    exports = tuple(
        _export(table, index, form, len(modules)) for index, table in enumerate(root.tables(form.exports, "exports"))
    )
    isa = root.text(0, "isa") if form.name_is_symbol else None
    sources = tuple(_source(table, row) for row, table in enumerate(root.tables(form.source_files, "source_files")))
    return Wrapper(identifier.decode(), isa, exports, modules, sources)


def _content_size(data: bytes | memoryview) -> int:
    if len(data) < HEADER_SIZE:
        raise InvalidArgumentError(
            "the wrapper is shorter than its header",
            found=f"{len(data)} bytes",
            allowed=f"at least {HEADER_SIZE}",
            next_step="the file is truncated; build or copy it again",
        )
    magic, version, size = _HEADER.unpack_from(data)
    if magic not in _FORMS:
        raise InvalidArgumentError("not a wrapper", where="file offset 0", found=repr(magic), allowed="AMD1 or HIP1")
    if size == 0:
        raise InvalidArgumentError("the wrapper is empty", where="file offset 8 (content size)", found="0 bytes")
    if version != 0:
        raise IncompatibleError(
            "the wrapper has a version that is not supported",
            where="file offset 4",
            found=f"version {version}",
            allowed="version 0",
        )
    return int(size)


def _module(table: Table, index: int) -> tuple[int, memoryview]:
    offset, image = table.blob(0, f"modules[{index}].image")
    if not image:
        raise _wrong("a module has no image", f"modules[{index}]", "no bytes", "a code object")
    return table.reader.base + offset, image


def _export(table: Table, index: int, form: _Form, module_count: int) -> WrappedExport:
    where = f"exports[{index}]"
    text = table.text(form.name, f"{where}.name")
    if not 0 < len(text) <= MAX_NAME_LENGTH:
        raise _wrong("an export has no usable name", where, f"{len(text)} characters", f"1 to {MAX_NAME_LENGTH}")
    size = table.triple(form.workgroup_size, f"{where}.workgroup_size")
    if size is None or 0 in size:
        found = "none" if size is None else "x".join(map(str, size))
        raise _wrong("an export has no workgroup size", where, found, "three numbers >= 1")
    constants = table.u32(form.constants, f"{where}.constant_count")
    bindings = table.u64s(form.bindings, f"{where}.binding_flags")
    if max(constants, len(bindings)) > MAX_COUNT:
        found = f"{constants} constants, {len(bindings)} bindings"
        raise _wrong("an export takes too many values", where, found, f"at most {MAX_COUNT} of each")
    module = 0 if form.module_ordinal is None else table.u32(form.module_ordinal, f"{where}.module_ordinal")
    if module >= module_count:
        raise _wrong("an export names a module that is not there", where, str(module), f"below {module_count}")
    _check_deprecated(table, form, where)
    debug = _debug(table.table(form.debug, f"{where}.debug_info"), f"{where}.debug_info")
    symbol = text if form.name_is_symbol else f"{text}.kd"
    return WrappedExport(symbol.removesuffix(".kd"), symbol, size, constants, bindings, module, debug)


def _source(table: Table, index: int) -> SourceFile:
    where = f"source_files[{index}]"
    return SourceFile(table.text(0, f"{where}.path"), bytes(table.octets(1, f"{where}.content")))


def _check_deprecated(table: Table, form: _Form, where: str) -> None:
    if form.deprecated_lds is None:
        return
    size = table.u32(form.deprecated_lds, f"{where}.block_shared_memory_size")
    if size:
        raise _wrong("block_shared_memory_size is no longer supported", where, str(size), "0")


def _debug(table: Table | None, where: str) -> ExportDebug | None:
    """A location that is present names a file, and a stage has a name."""
    if table is None:
        return None
    location = _location(table.table(1, f"{where}.location"), f"{where}.location")
    stages = []
    for index, stage in enumerate(table.tables(2, f"{where}.stage_locations")):
        path = f"{where}.stage_locations[{index}]"
        name = stage.text(0, f"{path}.stage")
        if not name:
            raise _wrong("a stage has no name", path, "no text", "a name")
        stages.append((name, _location(stage.table(1, f"{path}.location"), f"{path}.location")))
    return ExportDebug(table.text(0, f"{where}.name"), location, tuple(stages))


def _location(table: Table | None, path: str) -> SourceLocation | None:
    if table is None:
        return None
    file = table.text(0, f"{path}.filename")
    if not file:
        raise _wrong("a source location has no file name", path, "no text", "a file name")
    return SourceLocation(file, table.i32(1, f"{path}.line"))


def _wrong(what: str, where: str, found: str, allowed: str) -> InvalidArgumentError:
    return InvalidArgumentError(what, where=where, found=found, allowed=allowed)
