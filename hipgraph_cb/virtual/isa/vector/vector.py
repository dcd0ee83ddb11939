"""How a vector instruction is put together: typed sources, a function on arrays, the destination.

`Operation` describes one; `compile_vector` turns it and an instruction into a closure. VOP1, VOP2, VOP3, SDWA and DPP
differ in how operands are read and written, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hipgraph_cb.virtual.isa.core import dpp, sdwa
from hipgraph_cb.virtual.isa.core.operands import (
    DPP_SOURCE,
    SDWA_SOURCE,
    VGPR_BASE,
    Reader,
    field,
    flushed,
    typed,
    vector_reader32,
    vector_reader64,
    width_of,
)
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, Step, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.results import UPPER_HALVES, Writer, names_halves, result_writer
from hipgraph_cb.virtual.isa.core.rounding import directed

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Function = Callable[..., Any]


@dataclass(frozen=True)
class Operation:
    """One vector operation.

    Attributes:
        function: arrays of the source kinds -> array of the result kind.
        kinds: of the result, then of each source.
        arithmetic: float arithmetic, which flushes denormals when the mode says so.
        directed: the name that `rounding.directed` knows the function by, where it obeys the rounding mode.
        rounding: the kind whose rounding mode counts, where that is not the result's.
        saturating: the function to use for an integer operation with the clamp bit.
    """

    function: Function
    kinds: tuple[str, ...]
    arithmetic: bool = False
    saturating: Function | None = None
    directed: str | None = None
    rounding: str | None = None


def operation(signature: str, function: Function, **options: Any) -> Operation:
    """`signature`: result kind, then source kinds, such as "f32 f32 f32"."""
    return Operation(function, tuple(signature.split()), **options)


SOURCE_FIELDS = {"VOP1": ("src0",), "VOP2": ("src0", "vsrc1"), "VOPC": ("src0", "vsrc1")}


def source_codes(instruction: Instruction, count: int) -> list[int]:
    """The operand codes of the first `count` sources; VGPR-only fields are turned into codes."""
    names = SOURCE_FIELDS.get(instruction.format, ("src0", "src1", "src2"))
    codes = []
    for name in names[:count]:
        value = instruction.fields[name]
        codes.append(value + VGPR_BASE if name == "vsrc1" else value)
    return codes


def source(instruction: Instruction, index: int, kind: str, code: int, context: CompileContext) -> Reader:
    """A reader of source `index` as `kind`, with the modifiers of its encoding."""
    if code == SDWA_SOURCE or (instruction.sdwa is not None and index == 1):
        return sdwa.source(instruction, index, kind, code)
    negate = bool(field(instruction, "neg") >> index & 1)
    absolute = bool(field(instruction, "abs") >> index & 1)
    upper = bool(field(instruction, "op_sel") >> index & 1)
    if instruction.dpp is not None:
        negate = bool(instruction.dpp.get(f"src{index}_neg", 0))
        absolute = bool(instruction.dpp.get(f"src{index}_abs", 0))
    if width_of(kind) == 16 and names_halves(instruction, context):
        if code == DPP_SOURCE and instruction.dpp is not None:
            register = instruction.dpp["src0"]
            upper = register >= UPPER_HALVES
            instruction = replace(instruction, dpp={**instruction.dpp, "src0": register % UPPER_HALVES})
        elif code >= VGPR_BASE:
            upper, code = code >= VGPR_BASE + UPPER_HALVES, VGPR_BASE + code % UPPER_HALVES
    if code == DPP_SOURCE:
        read: Reader = dpp.source(instruction, context.lanes, width_of(kind))
    elif width_of(kind) == 64:
        read = vector_reader64(code, instruction.literal, kind)
    else:
        read = vector_reader32(code, instruction.literal, kind)
    if (negate or absolute) and kind[0] not in "fb":
        raise UnsupportedInstruction("a sign modifier on an integer operand")
    return typed(read, kind, negate=negate, absolute=absolute, upper=upper)


def sources(
    instruction: Instruction, kinds: tuple[str, ...], context: CompileContext, *, arithmetic: bool = False
) -> list[Reader]:
    """Readers of all sources."""
    readers = [
        source(instruction, index, kind, code, context)
        for index, (kind, code) in enumerate(zip(kinds, source_codes(instruction, len(kinds)), strict=True))
    ]
    if arithmetic:
        readers = [_flushing(reader, kind, context) for reader, kind in zip(readers, kinds, strict=True)]
    return readers


def keeps_denormals(kind: str, context: CompileContext, bit: int) -> bool:
    """Whether the mode keeps denormal inputs (`bit` 1) or results (`bit` 2) of a float kind."""
    mode = context.float_mode
    return bool((mode.denormals_f32 if kind == "f32" else mode.denormals_f16_f64) & bit)


def _flushing(reader: Reader, kind: str, context: CompileContext) -> Reader:
    if kind[0] != "f" or keeps_denormals(kind, context, 1):
        return reader
    return flushed(reader, kind)


def rounding_mode(kind: str, context: CompileContext) -> int:
    """The rounding mode of float results of `kind`; 0 is nearest even."""
    mode = context.float_mode
    return mode.round_f32 if kind == "f32" else mode.round_f16_f64


def rounded(function: Function, name: str, kind: str, context: CompileContext, *, like: str | None = None) -> Function:
    """`function`, or that of `rounding.directed` for its `name` where the mode of `like` (or `kind`) is not nearest."""
    mode = rounding_mode(like or kind, context)
    return directed(name, kind, mode) if mode else function


def combine(function: Function, readers: list[Reader], write: Writer) -> Step:
    """A closure that reads, applies the function and writes."""
    if len(readers) == 1:
        (first,) = readers
        return lambda state: write(state, function(first(state)))
    if len(readers) == 2:
        first, second = readers
        return lambda state: write(state, function(first(state), second(state)))
    first, second, third = readers
    return lambda state: write(state, function(first(state), second(state), third(state)))


def compile_operation(instruction: Instruction, context: CompileContext, described: Operation) -> Compiled:
    """The closure of `instruction`, whose meaning is `described`."""
    result_kind, function = described.kinds[0], described.function
    if described.directed:
        function = rounded(function, described.directed, result_kind, context, like=described.rounding)
    clamp = field(instruction, "clamp") or (instruction.sdwa or {}).get("clamp", 0)
    if clamp and result_kind[0] != "f":
        if described.saturating is None:
            raise UnsupportedInstruction("clamp")
        function = described.saturating
    readers = sources(instruction, described.kinds[1:], context, arithmetic=described.arithmetic)
    write = result_writer(instruction, result_kind, context, arithmetic=described.arithmetic)
    return combine(function, readers, write)


def register_operations(table: dict[str, Operation]) -> None:
    """Register every operation of a table under its mnemonic."""

    def compile_vector(instruction: Instruction, context: CompileContext) -> Compiled:
        return compile_operation(instruction, context, table[instruction.mnemonic])

    semantics(*table)(compile_vector)


def destination(instruction: Instruction) -> int:
    """The vector register an instruction writes."""
    return instruction.fields["vdst"]
