"""Puts a code object into device memory: segments, relocations, kernels, global variables.

The object has been verified; here its PT_LOAD segments get one allocation and its relocations are applied
(LLVM AMDGPU usage, "Relocation Records"). S = symbol address, A = addend, P = place.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import MappingProxyType

from hipgraph_cb.abi import elf
from hipgraph_cb.abi.kernel_descriptor import KernelDescriptor
from hipgraph_cb.code_object.code_object import CodeObject
from hipgraph_cb.code_object.debug_info.debug_info import Frame
from hipgraph_cb.code_object.symbols import Relocation
from hipgraph_cb.code_object.verify import VerifiedExecutable, VerifiedExport
from hipgraph_cb.errors import InvalidArgumentError, UnimplementedError
from hipgraph_cb.virtual.isa.targets.families import target_of
from hipgraph_cb.virtual.memory import Memory

PAGE = 4096


class UndefinedSymbol(InvalidArgumentError):  # noqa: N818
    """A code object leaves a symbol undefined, and the program does not define it."""


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel in device memory; `code_address` and `code_size` bound the executable segment that it is in.

    Attributes:
        code_object: the file that it is from.
    """

    name: str
    export: VerifiedExport
    descriptor: KernelDescriptor
    descriptor_address: int
    code_address: int
    code_size: int
    code_object: CodeObject = field(repr=False, compare=False)

    def frames_at(self, pc: int) -> tuple[Frame, ...]:
        """The source lines of an instruction, by its device address; empty where they are not known."""
        entry = self.descriptor_address + self.descriptor.kernel_code_entry_byte_offset
        return self.export.debug_info.frames(self.export.entry + pc - entry)


@dataclass(frozen=True)
class LoadedModule:
    """A code object in device memory. `globals` maps a name to its address and size in bytes."""

    memory: Memory
    address: int
    executable: VerifiedExecutable
    kernels: dict[str, LoadedKernel]
    globals: dict[str, tuple[int, int]]

    def unload(self) -> None:
        """Free the device memory of the module; its kernels may not run any more."""
        self.memory.free(self.address)


def load(
    memory: Memory,
    executable: VerifiedExecutable,
    label: str = "code object",
    defined: Mapping[str, int] = MappingProxyType({}),
) -> LoadedModule:
    """Place `executable` in `memory`.

    Args:
        defined: addresses of symbols that the code object leaves undefined.

    Raises:
        OutOfMemory: the device has no memory left.
        UnimplementedError: a relocation type that is not known.
        InvalidArgumentError: a relocation outside the segments.
        UndefinedSymbol: a relocation of a symbol that is neither in the code object nor in `defined`.
    """
    _prepare_to_execute(executable.target.processor)
    code_object = executable.code_object
    segments = code_object.loadable()
    extent = max((segment.address + segment.memory_size for segment in segments), default=0)
    address = memory.allocate(extent, alignment=PAGE, label=label)
    try:
        image = memory.bytes(address, extent)
        image[:] = 0
        for segment in segments:
            start, end = segment.file_offset, segment.file_offset + segment.file_size
            image[segment.address : segment.address + segment.file_size] = memoryview(code_object.data)[start:end]
        for relocation in code_object.relocations:
            _relocate(code_object, memory, address, extent, relocation, defined)
        kernels = {name: _loaded_kernel(code_object, address, export) for name, export in executable.exports.items()}
    except BaseException:
        memory.free(address)
        raise
    variables = {name: (address + symbol.value, symbol.size) for name, symbol in executable.globals.items()}
    return LoadedModule(memory, address, executable, kernels, variables)


@cache
def _prepare_to_execute(processor: str) -> None:
    """Import what executes kernels, which a program that only asks for devices does not need.

    Not by the worker: a library that waits for a kernel while it is being loaded keeps other threads from loading any,
    and below Python 3.12 an import in another thread can hide from the interpreter that Ctrl-C is what ends it.
    """
    import_module("hipgraph_cb.virtual.dispatch")
    target_of(processor)


def _loaded_kernel(code_object: CodeObject, base: int, export: VerifiedExport) -> LoadedKernel:
    descriptor_address = code_object.symbols[export.symbol].value
    entry = descriptor_address + export.descriptor.kernel_code_entry_byte_offset
    segment = code_object.segment_of(entry)
    if segment is None:
        raise InvalidArgumentError(f"kernel {export.name} has no code", found=f"entry {entry:#x}")
    return LoadedKernel(
        name=export.name,
        export=export,
        descriptor=export.descriptor,
        descriptor_address=base + descriptor_address,
        code_address=base + segment.address,
        code_size=segment.memory_size,
        code_object=code_object,
    )


def _relocate(
    code_object: CodeObject,
    memory: Memory,
    base: int,
    extent: int,
    relocation: Relocation,
    defined: Mapping[str, int],
) -> None:
    place = base + relocation.address
    if relocation.kind == elf.R_AMDGPU_RELATIVE64:
        value, size = base + relocation.addend, 8
    else:
        target = _symbol_address(code_object, relocation, base, defined) + relocation.addend
        value, size = _relocated(relocation, target, place)
    if relocation.address + size > extent:
        raise InvalidArgumentError(
            "a relocation is outside the loaded segments",
            where=f"relocation at {relocation.address:#x}",
            found=f"{size} bytes at {relocation.address:#x}",
            allowed=f"inside {extent} bytes",
        )
    encoded = struct.pack("<Q", value & 0xFFFFFFFFFFFFFFFF)[:size]
    memory.bytes(place, size)[:] = memoryview(encoded)


def _relocated(relocation: Relocation, target: int, place: int) -> tuple[int, int]:
    forms = {
        elf.R_AMDGPU_ABS64: (target, 8),
        elf.R_AMDGPU_REL64: (target - place, 8),
        elf.R_AMDGPU_ABS32: (target, 4),
        elf.R_AMDGPU_ABS32_LO: (target, 4),
        elf.R_AMDGPU_ABS32_HI: (target >> 32, 4),
        elf.R_AMDGPU_REL32: (target - place, 4),
        elf.R_AMDGPU_REL32_LO: (target - place, 4),
        elf.R_AMDGPU_REL32_HI: ((target - place) >> 32, 4),
    }
    if relocation.kind not in forms:
        raise UnimplementedError(
            "the code object has a relocation of an unknown type",
            where=f"relocation at {relocation.address:#x}",
            found=f"R_AMDGPU type {relocation.kind}",
            allowed=f"types {', '.join(map(str, sorted([*forms, elf.R_AMDGPU_RELATIVE64])))}",
        )
    return forms[relocation.kind]


def _symbol_address(code_object: CodeObject, relocation: Relocation, base: int, defined: Mapping[str, int]) -> int:
    table = code_object.symbol_table
    if relocation.symbol < len(table) and table[relocation.symbol].section == 0:
        address = defined.get(table[relocation.symbol].name)
        if address is not None:
            return address
    if relocation.symbol >= len(table) or table[relocation.symbol].section == 0:
        name = table[relocation.symbol].name if relocation.symbol < len(table) else f"#{relocation.symbol}"
        raise UndefinedSymbol(
            "a relocation refers to an undefined symbol",
            where=f"relocation at {relocation.address:#x}",
            found=repr(name),
            allowed="a symbol that the code object defines",
            next_step="link the missing object into the code object",
        )
    return base + table[relocation.symbol].value
