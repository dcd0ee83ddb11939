"""VOP2 that adds a dot product of two packed words to the destination, and v_pk_fmac_f16."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.isa.core.exact import fma16
from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, Reader, field, vector_reader32
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.results import result_writer
from hipgraph_cb.virtual.isa.vector.packed import integer_elements
from hipgraph_cb.virtual.isa.vector.vector import combine, rounded, sources

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

_WIDTHS = {"v_dot2c_i32_i16": 16, "v_dot4c_i32_i8": 8, "v_dot8c_i32_i4": 4}
_U32 = np.uint32


def _readers(instruction: Instruction, context: CompileContext) -> list[Reader]:
    """Both sources and the destination as raw words."""
    if field(instruction, "neg") or field(instruction, "abs") or field(instruction, "omod"):
        raise UnsupportedInstruction("modifiers")
    readers = sources(instruction, ("u32", "u32"), context)
    return [*readers, vector_reader32(instruction.fields["vdst"] + VGPR_BASE, None, "u32")]


@semantics(*_WIDTHS)
def _compile_integer(instruction: Instruction, context: CompileContext) -> Compiled:
    width, clamp = _WIDTHS[instruction.mnemonic], bool(field(instruction, "clamp"))

    def apply(a: Any, b: Any, c: Any) -> Any:
        total = c.view(np.int32).astype(np.int64)
        for x, y in zip(integer_elements(a, width, True), integer_elements(b, width, True), strict=True):
            total = total + np.multiply(x, y, dtype=np.int64)
        return (np.clip(total, -(1 << 31), (1 << 31) - 1) if clamp else total).astype(_U32)

    return combine(apply, _readers(instruction, context), result_writer(instruction, "u32", context))


def _halves(word: Any) -> tuple[Any, Any]:
    return word.astype(np.uint16).view(np.float16), (word >> _U32(16)).astype(np.uint16).view(np.float16)


def _brain_halves(word: Any) -> tuple[Any, Any]:
    return (word << _U32(16)).view(np.float32), (word & _U32(0xFFFF0000)).view(np.float32)


@semantics("v_dot2c_f32_f16", "v_dot2c_f32_bf16")
def _compile_half(instruction: Instruction, context: CompileContext) -> Compiled:
    """The products are added one after the other in f32."""
    if field(instruction, "clamp"):
        raise UnsupportedInstruction("clamp")
    multiply_add = rounded(lambda a, b, c: a * b + c, "mad", "f32", context)

    halves = _brain_halves if instruction.mnemonic.endswith("bf16") else _halves

    def apply(a: Any, b: Any, c: Any) -> Any:
        total = c.view(np.float32)
        for x, y in zip(halves(a), halves(b), strict=True):
            total = multiply_add(x.astype(np.float32), y.astype(np.float32), total)
        return total

    return combine(apply, _readers(instruction, context), result_writer(instruction, "f32", context))


@semantics("v_pk_fmac_f16")
def _compile_packed(instruction: Instruction, context: CompileContext) -> Compiled:
    """Each half of the destination becomes a fused multiply-add of the halves."""
    fused = rounded(fma16, "fma", "f16", context)

    def apply(a: Any, b: Any, c: Any) -> Any:
        low, high = (fused(*lane) for lane in zip(_halves(a), _halves(b), _halves(c), strict=True))
        return low.view(np.uint16).astype(_U32) | high.view(np.uint16).astype(_U32) << _U32(16)

    return combine(apply, _readers(instruction, context), result_writer(instruction, "u32", context))
