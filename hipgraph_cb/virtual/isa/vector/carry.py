"""Vector additions with carries in and out, 64-bit multiply-add, and the choice by a lane mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.isa.core import dpp
from hipgraph_cb.virtual.isa.core.instruction import NOWHERE
from hipgraph_cb.virtual.isa.core.lane_mask import choose
from hipgraph_cb.virtual.isa.core.register_limits import SCALARS, scalars
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.results import result_writer
from hipgraph_cb.virtual.isa.core.state import MASK32, VCC, State
from hipgraph_cb.virtual.isa.vector.vector import sources

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

# name -> (sign of the first operand, of the second, of the carry)
CARRY_FORMS = {
    "v_add_co_u32": (1, 1, 0),
    "v_sub_co_u32": (1, -1, 0),
    "v_subrev_co_u32": (-1, 1, 0),
    "v_addc_co_u32": (1, 1, 1),
    "v_subb_co_u32": (1, -1, -1),
    "v_subbrev_co_u32": (-1, 1, -1),
}


def mask_source(code: int, context: CompileContext) -> int:
    """The first scalar register of a lane-mask operand."""
    if code >= SCALARS:
        raise UnsupportedInstruction("a lane mask that is not a scalar register")
    return scalars(code, context.lanes // 32)


@semantics(*CARRY_FORMS)
def _compile_carry(instruction: Instruction, context: CompileContext) -> Compiled:
    first_sign, second_sign, carry_sign = CARRY_FORMS[instruction.mnemonic]
    clamp, carried_lanes = bool(instruction.fields.get("clamp", 0)), _carried_lanes(instruction, context.lanes)
    first, second = sources(instruction, ("u32", "u32"), context)
    write = result_writer(instruction, "u32", context)
    is_long = instruction.format == "VOP3SD"
    carry_out = instruction.fields["sdst"] if is_long else VCC
    carry_in = mask_source(instruction.fields["src2"], context) if is_long and carry_sign else VCC

    def step(state: State) -> None:
        total: Any = np.int64(first_sign) * first(state) + np.int64(second_sign) * second(state)
        if carry_sign:
            total = total + np.int64(carry_sign) * state.read_mask(carry_in)
        carried = (total < 0) | (total > MASK32)
        write(state, (np.clip(total, 0, MASK32) if clamp else total).astype(np.uint32))
        lanes = carried_lanes(state)
        state.write_compare(carry_out, carried if lanes is None else carried & lanes)

    return step


def _carried_lanes(instruction: Instruction, lanes: int) -> Callable[[State], Any]:
    """The lanes that have a carry: with DPP a lane whose source does not exist counts as off."""
    if instruction.dpp is None:
        return lambda state: None
    if instruction.dpp["row_mask"] != 15 or instruction.dpp["bank_mask"] != 15:
        raise UnsupportedInstruction("a carry under a row or bank mask")
    return dpp.enabled_lanes(instruction, lanes)


@semantics("v_mad_u64_u32", "v_mad_i64_i32")
def _compile_wide_multiply_add(instruction: Instruction, context: CompileContext) -> Compiled:
    is_signed = instruction.mnemonic == "v_mad_i64_i32"
    narrow, wide, dtype = ("i32", "i64", np.int64) if is_signed else ("u32", "u64", np.uint64)
    first, second, third = sources(instruction, (narrow, narrow, wide), context)
    write = result_writer(instruction, wide, context)
    carry_out = instruction.fields["sdst"]

    def step(state: State) -> None:
        product = np.multiply(first(state), second(state), dtype=dtype)
        addend = third(state)
        total = product + addend
        if is_signed:
            overflow = ((product ^ total) & (addend ^ total)) < 0
        else:
            overflow = total < product
        write(state, total)
        state.write_compare(carry_out, overflow)

    def step_without_carry(state: State) -> None:
        write(state, np.multiply(first(state), second(state), dtype=dtype) + third(state))

    return step_without_carry if carry_out == NOWHERE else step


@semantics("v_cndmask_b16", "v_cndmask_b32")
def _compile_select(instruction: Instruction, context: CompileContext) -> Compiled:
    """The second source where the mask is set, else the first."""
    kind = instruction.mnemonic[-3:]
    first, second = sources(instruction, (kind, kind), context)
    write = result_writer(instruction, kind, context)
    mask = mask_source(instruction.fields["src2"], context) if instruction.format == "VOP3" else VCC

    if kind == "b16":
        return lambda state: write(state, np.where(state.read_mask(mask), second(state), first(state)))
    return lambda state: write(state, choose(state.read_mask(mask), second(state), first(state)))
