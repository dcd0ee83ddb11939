"""Sums of absolute differences of four bytes at four places of eight (v_qsad, v_mqsad)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, Reader, constant_value, vector_reader32, vector_reader64
from hipgraph_cb.virtual.isa.core.register_limits import vectors
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import State

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

_U32, _U64 = np.uint32, np.uint64
_PLACES = range(4)


def _bytes_from(word: Any, first: int) -> list[NDArray[np.int64]]:
    """Four bytes of a 64-bit value from byte `first` on."""
    return [(word >> _U64(8 * (first + index)) & _U64(0xFF)).astype(np.int64) for index in range(4)]


def _sum(samples: list[Any], reference: list[Any], masked: bool) -> Any:
    """Absolute differences; where `masked` a reference byte of zero does not count."""
    terms = [np.abs(sample - wanted) for sample, wanted in zip(samples, reference, strict=True)]
    if masked:
        terms = [np.where(wanted == 0, 0, term) for term, wanted in zip(terms, reference, strict=True)]
    return sum(terms)


def _sums(state: State, first: Reader, second: Reader, masked: bool) -> list[Any]:
    word, reference = first(state), _bytes_from(second(state).astype(_U64), 0)
    return [_sum(_bytes_from(word, place), reference, masked) for place in _PLACES]


@semantics("v_qsad_pk_u16_u8", "v_mqsad_pk_u16_u8")
def _compile_packed(instruction: Instruction, context: CompileContext) -> Compiled:
    """Four sums of 16 bits, each added to its part of the third source."""
    del context
    masked, saturate = "mqsad" in instruction.mnemonic, bool(instruction.fields.get("clamp", 0))
    first = vector_reader64(instruction.fields["src0"], None, "b64")
    second = vector_reader32(instruction.fields["src1"], None, "b32")
    third = vector_reader64(instruction.fields["src2"], None, "b64")
    destination = vectors(instruction.fields["vdst"], 2)

    def step(state: State) -> None:
        added, result = third(state), np.zeros((1, 1), _U64)
        for place, total in zip(_PLACES, _sums(state, first, second, masked), strict=True):
            total = total + (added >> _U64(16 * place) & _U64(0xFFFF)).astype(np.int64)
            total = np.minimum(total, 0xFFFF) if saturate else total & 0xFFFF
            result = result | total.astype(_U64) << _U64(16 * place)
        state.write_vgpr64(destination, result)

    return step


@semantics("v_mqsad_u32_u8")
def _compile_wide(instruction: Instruction, context: CompileContext) -> Compiled:
    """Four sums of 32 bits, each added to its register of the third source."""
    del context
    code, destination = instruction.fields["src2"], vectors(instruction.fields["vdst"], 4)
    first = vector_reader64(instruction.fields["src0"], None, "b64")
    second = vector_reader32(instruction.fields["src1"], None, "b32")
    if code < VGPR_BASE and constant_value(code, None, "b32") != 0:
        raise UnsupportedInstruction("a scalar operand of 128 bits")
    vectors(max(code - VGPR_BASE, 0), 4)
    saturate = bool(instruction.fields.get("clamp", 0))

    def step(state: State) -> None:
        results = []
        for place, total in zip(_PLACES, _sums(state, first, second, True), strict=True):
            if code >= VGPR_BASE:
                total = total + state.read_vgpr(code - VGPR_BASE + place)
            results.append((np.minimum(total, 0xFFFFFFFF) if saturate else total).astype(_U32))
        for place, result in zip(_PLACES, results, strict=True):
            state.write_vgpr(destination + place, result)

    return step
