"""The 64-bit shifts and additions that compute addresses; see scaled_index.py for why they are special."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.virtual.isa.core.operands import (
    DPP_SOURCE,
    SDWA_SOURCE,
    VGPR_BASE,
    constant_value,
    field,
    scalar_reader,
)
from hipgraph_cb.virtual.isa.core.pattern import SMALLEST
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, Step, semantics
from hipgraph_cb.virtual.isa.vector.integer_alu import ADD, ADDRESS_OPERATIONS
from hipgraph_cb.virtual.isa.vector.vector import compile_operation, destination, source_codes

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import State


@semantics(*ADDRESS_OPERATIONS)
def _compile(instruction: Instruction, context: CompileContext) -> Compiled:
    plain = compile_operation(instruction, context, ADDRESS_OPERATIONS[instruction.mnemonic])
    if not callable(plain) or instruction.dpp is not None:
        return plain
    return _shift(instruction, plain) if instruction.mnemonic == "v_lshlrev_b64" else _shift_add(instruction, plain)


@semantics("v_add_u32")
def _compile_add(instruction: Instruction, context: CompileContext) -> Compiled:
    """An addition that moves an index array by a uniform amount, as loops do, keeps what is known of the array.

    Where its pattern is known, the sum is not even made.
    """
    plain = compile_operation(instruction, context, ADD)
    codes = source_codes(instruction, 2)
    vectors = [code - VGPR_BASE for code in codes if code >= VGPR_BASE]
    others = [code for code in codes if code < VGPR_BASE]
    if (
        not callable(plain)
        or len(vectors) != 1
        or others[0] in (SDWA_SOURCE, DPP_SOURCE)
        or field(instruction, "clamp")
    ):
        return plain
    amount, register, target = scalar_reader(others[0], instruction.literal), vectors[0], destination(instruction)

    def step(state: State) -> None:
        may_be_regular = state.active is None and state.waves * state.lanes >= SMALLEST
        distance = amount(state) if may_be_regular else None
        if type(distance) is int:
            index, already = state.read_moved(register)
            total = state.patterns.distance(index, already + distance)
            if total is not None:
                state.write_moved(target, index, total)
                return
            before = state.read_vgpr(register)
            plain(state)
            state.patterns.note_sum(state.read_vgpr(target), before, distance)
        else:
            plain(state)

    return step


def _shift(instruction: Instruction, plain: Step) -> Step:
    """index << constant, with an index that is zero above bit 31."""
    first, second = source_codes(instruction, 2)
    amount = constant_value(first, instruction.literal, "u32")
    source, target = second - VGPR_BASE, destination(instruction)
    if amount is None or amount > 31 or source < 0:
        return plain

    def step(state: State) -> None:
        value = state.read_scaled(source) if state.active is None else None
        if value is None or value.shift:
            plain(state)
        else:
            state.write_scaled(target, value.shifted(amount))

    return step


def _shift_add(instruction: Instruction, plain: Step) -> Step:
    """(S0 << constant) + S2, one of S0 and S2 a scaled index and the other a uniform scalar."""
    fields = instruction.fields
    amount = constant_value(fields["src1"], instruction.literal, "u32")
    if amount is None or amount > 7:
        return plain
    target = destination(instruction)
    first_is_vector, third_is_vector = fields["src0"] >= VGPR_BASE, fields["src2"] >= VGPR_BASE
    if first_is_vector == third_is_vector or (third_is_vector and amount):
        return plain
    vector = fields["src0" if first_is_vector else "src2"] - VGPR_BASE
    scalar = fields["src2" if first_is_vector else "src0"]
    if scalar >= 106:
        return plain

    def step(state: State) -> None:
        value = state.read_scaled(vector) if state.active is None else None
        base = state.read_pair(scalar)
        if value is None or not isinstance(base, int) or (amount and value.shift):
            plain(state)
        else:
            state.write_scaled(target, value.shifted(amount).moved(base))

    return step
