"""Lanes of a row of sixteen that read each other, as scalar registers say, and halves of a wave that are exchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, field, scalar_reader, vector_reader32
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.results import result_writer
from hipgraph_cb.virtual.isa.vector.vector import source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import State

_ROW = 16
_FETCHES_INACTIVE, _WRITES_ALL = 1, 2  # bits of op_sel


@semantics("v_permlane16_b32", "v_permlanex16_b32")
def _compile_permutation(instruction: Instruction, context: CompileContext) -> Compiled:
    """Each lane reads the lane of its row (x: of the other row of its pair) that four bits of 64 name.

    A lane whose origin is off keeps what it has, or gets zero (bound_ctrl); with fi, the origin is read all the same.
    """
    fields, options = instruction.fields, field(instruction, "op_sel")
    read = vector_reader32(fields["src0"], instruction.literal, "b32")
    low, high = (scalar_reader(fields[name], instruction.literal) for name in ("src1", "src2"))
    lane = np.arange(context.lanes)
    rows = (lane & -_ROW) ^ (_ROW if "permlanex" in instruction.mnemonic else 0)
    places, destination = lane & _ROW - 1, fields["vdst"]

    def step(state: State) -> None:
        origins = rows + _selected(low(state), high(state), places)
        value = np.take_along_axis(state.full(read(state)), state.full(origins), 1)
        if state.exec is None or options & _FETCHES_INACTIVE:
            state.write_vgpr(destination, value)
            return
        is_on = np.take_along_axis(state.exec, state.full(origins), 1)
        if options & _WRITES_ALL:
            state.write_vgpr(destination, np.where(is_on, value, np.uint32(0)))
        else:
            state.write_vgpr_where(destination, value, is_on)

    return step


def _selected(low: Any, high: Any, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each place of a row the four bits of it in two words, which are ints or arrays [waves, 1]."""
    words = [np.atleast_2d(np.asarray(word, np.int64)) for word in (low, high)]
    selectors: NDArray[np.int64] = np.where(places < 8, words[0], words[1]) >> 4 * (places & 7) & 15
    return selectors


@semantics("v_permlane64_b32")
def _compile_exchange(instruction: Instruction, context: CompileContext) -> Compiled:
    """The halves of a wave of 64 lanes change places, whichever lanes are on; waves of 32 have none."""
    if context.lanes == 32:
        return None
    code, destination = instruction.fields["src0"], instruction.fields["vdst"]
    read = vector_reader32(code, instruction.literal, "b32")
    return lambda state: state.write_vgpr(destination, np.roll(state.full(read(state)), context.lanes // 2, axis=1))


@semantics("v_swap_b16")
def _compile_swap(instruction: Instruction, context: CompileContext) -> Compiled:
    code, own = instruction.fields["src0"], instruction.fields["vdst"]
    if code < VGPR_BASE or instruction.dpp is not None:
        raise UnsupportedInstruction("an operand that is no vector register")
    reversed_fields = {**instruction.fields, "vdst": code - VGPR_BASE}
    first, second = (source(instruction, 0, "b16", place, context) for place in (own + VGPR_BASE, code))
    write_first = result_writer(instruction, "b16", context)
    write_second = result_writer(replace(instruction, fields=reversed_fields), "b16", context)

    def step(state: State) -> None:
        old, new = first(state), second(state)
        write_first(state, new)
        write_second(state, old)

    return step
