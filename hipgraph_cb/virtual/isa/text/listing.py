"""The instructions of one kernel as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hipgraph_cb.abi.kernel_descriptor import DESCRIPTOR_SIZE, KernelDescriptor
from hipgraph_cb.code_object.code_object import CodeObject
from hipgraph_cb.code_object.debug_info.debug_info import Frame
from hipgraph_cb.code_object.verify import VerifiedExecutable
from hipgraph_cb.errors import IncompatibleError
from hipgraph_cb.virtual.isa.core.instruction import UnknownInstruction
from hipgraph_cb.virtual.isa.core.target import Target
from hipgraph_cb.virtual.isa.targets.families import PROCESSORS, target_of


class Line(NamedTuple):
    """One instruction; `offset` counts bytes from the kernel's first one.

    Attributes:
        frames: its source line, and where that was inlined; empty where that is not known.
    """

    offset: int
    code: bytes
    text: str
    frames: tuple[Frame, ...] = ()


def kernel_listing(executable: VerifiedExecutable, kernel: str) -> Iterator[Line]:
    """The code of `kernel`, refused or not: from its entry to the end of its function symbol, or else of its segment.

    A word that is not an instruction is listed as `.long`, as LLVM does.

    Raises:
        NotFoundError: no such kernel.
        OutOfRangeError: its descriptor or its code is not in the file.
        IncompatibleError: the decoder has no tables for the target.
    """
    symbol = executable.descriptor_symbol(kernel)
    processor = executable.target.processor
    target = target_of(processor)
    if target is None:
        raise IncompatibleError(
            "there is no disassembler for this target",
            found=str(executable.target),
            allowed=", ".join(PROCESSORS),
            next_step="use llvm-objdump -d",
        )
    code_object = executable.module_of(kernel)
    entry, code, properties = _code(code_object, symbol)
    debug_info = code_object.debug_info
    lines = _lines(code, target, processor, target.wave_size(properties))
    return (line._replace(frames=debug_info.frames(entry + line.offset)) for line in lines)


def _code(code_object: CodeObject, symbol_name: str) -> tuple[int, bytes, int]:
    """The address of a kernel's first instruction in the file, the bytes of its code, and its descriptor's code
    properties."""
    address = code_object.symbols[symbol_name].value
    offset = code_object.file_offset(address, DESCRIPTOR_SIZE, f"the kernel descriptor {symbol_name}")
    descriptor = KernelDescriptor.from_bytes(code_object.data, offset)
    entry = address + descriptor.kernel_code_entry_byte_offset
    sizes = [symbol.size for symbol in code_object.symbols.values() if symbol.value == entry and symbol.kind == 2]
    segment = code_object.segment_of(entry)
    rest = 0 if segment is None else segment.address + segment.file_size - entry
    size = sizes[0] if sizes and sizes[0] else rest
    start = code_object.file_offset(entry, size, f"the code of {symbol_name}")
    return entry, code_object.data[start : start + size], descriptor.kernel_code_properties


def _lines(code: bytes, target: Target, processor: str, lanes: int) -> Iterator[Line]:
    offset = 0
    while offset < len(code):
        try:
            instruction = target.decode(code, offset, processor)
            size, text = instruction.size, target.text(instruction, lanes)
        except UnknownInstruction:
            size = min(4, len(code) - offset)
            text = f".long {int.from_bytes(code[offset : offset + size], 'little'):#010x}"
        yield Line(offset, code[offset : offset + size], text)
        offset += size
