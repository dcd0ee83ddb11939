"""Instructions that move values between lanes, or between lanes and scalar registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.isa.core.lane_mask import all_set
from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, scalar_reader, vector_reader32
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.results import result_writer
from hipgraph_cb.virtual.isa.core.state import AGPR, MASK32, State, uniform
from hipgraph_cb.virtual.isa.vector.integer_alu import bit_count
from hipgraph_cb.virtual.isa.vector.vector import source_codes, sources

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.virtual.isa.core.instruction import Instruction


def _below(lanes: int, first: int) -> NDArray[np.uint32]:
    """For each lane the lanes below it, of the 32 from `first` on, as the bits of a word."""
    words = [((1 << lane) - 1 >> first) & MASK32 for lane in range(lanes)]
    return np.array([words], np.uint32)


@semantics("v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32")
def _compile_count_below(instruction: Instruction, context: CompileContext) -> Compiled:
    """Set bits of the mask word that belong to lanes below this one, plus the second source."""
    below = _below(context.lanes, 0 if "_lo_" in instruction.mnemonic else 32)
    first, second = sources(instruction, ("b32", "u32"), context)
    write = result_writer(instruction, "u32", context)
    return lambda state: write(state, bit_count(first(state) & below) + second(state))


def first_lane(state: State) -> NDArray[np.int64] | int:
    """The lowest active lane of each wave [waves, 1], lane 0 where EXEC is empty."""
    return 0 if state.exec is None else state.exec.argmax(axis=1).reshape(-1, 1)


def pick_lane(state: State, value: Any, lane: Any) -> Any:
    """The value of one lane of each wave, as a scalar."""
    if value.shape[1] == 1:
        picked = value
    elif isinstance(lane, int):
        picked = value[:, lane : lane + 1]
    else:
        picked = np.take_along_axis(state.full(value), np.broadcast_to(lane, (state.waves, 1)), 1)
    if picked.shape[0] == 1:
        return int(picked[0, 0])
    running = state.running
    if running is not None:
        wanted = picked[running]
        return int(wanted[0]) if all_set(wanted == wanted[0]) else picked
    return uniform(picked)


@semantics("v_readfirstlane_b32")
def _compile_read_first(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    read = vector_reader32(instruction.fields["src0"], instruction.literal, "b32")
    destination = instruction.fields["vdst"]
    return lambda state: state.write_sgpr(destination, pick_lane(state, read(state), first_lane(state)))


@semantics("v_readlane_b32")
def _compile_read_lane(instruction: Instruction, context: CompileContext) -> Compiled:
    read = vector_reader32(instruction.fields["src0"], instruction.literal, "b32")
    lane = scalar_reader(instruction.fields["src1"], instruction.literal)
    destination, last = instruction.fields["vdst"], context.lanes - 1

    def step(state: State) -> None:
        chosen = lane(state)
        chosen = chosen & last if isinstance(chosen, int) else (chosen & np.uint32(last)).astype(np.int64)
        state.write_sgpr(destination, pick_lane(state, read(state), chosen))

    return step


@semantics("v_writelane_b32")
def _compile_write_lane(instruction: Instruction, context: CompileContext) -> Compiled:
    """One lane of the destination takes a scalar, regardless of EXEC."""
    value = vector_reader32(instruction.fields["src0"], instruction.literal, "b32")
    lane = scalar_reader(instruction.fields["src1"], instruction.literal)
    destination = instruction.fields["vdst"]
    lanes, last = np.arange(context.lanes).reshape(1, -1), context.lanes - 1

    def step(state: State) -> None:
        chosen = lanes == (lane(state) & last)
        state.write_vgpr_all_lanes(destination, np.where(chosen, value(state), state.read_vgpr(destination)))

    return step


@semantics("v_swap_b32")
def _compile_swap(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    (code,) = source_codes(instruction, 1)
    if code < VGPR_BASE:
        raise UnsupportedInstruction("a scalar operand")
    first, second = instruction.fields["vdst"], code - VGPR_BASE

    def step(state: State) -> None:
        old = state.read_vgpr(first)
        state.write_vgpr(first, state.read_vgpr(second))
        state.write_vgpr(second, old)

    return step


@semantics("v_accvgpr_read_b32", "v_accvgpr_read")
def _compile_read_accumulator(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    register, destination = AGPR + instruction.fields["src0"] - VGPR_BASE, instruction.fields["vdst"]
    return lambda state: state.write_vgpr(destination, state.read_vgpr(register))


@semantics("v_accvgpr_write_b32", "v_accvgpr_write")
def _compile_write_accumulator(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    read = vector_reader32(instruction.fields["src0"], instruction.literal, "b32")
    destination = AGPR + instruction.fields["vdst"]
    return lambda state: state.write_vgpr(destination, read(state))


@semantics("v_accvgpr_mov_b32")
def _compile_move_accumulator(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    register, destination = AGPR + instruction.fields["src0"] - VGPR_BASE, AGPR + instruction.fields["vdst"]
    return lambda state: state.write_vgpr(destination, state.read_vgpr(register))


@semantics("v_nop", "v_clrexcp", "v_pipeflush")
def _compile_nothing(instruction: Instruction, context: CompileContext) -> Compiled:
    del instruction, context
    return None
