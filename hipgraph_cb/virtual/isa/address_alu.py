"""The 64-bit shifts and additions that compute addresses; see scaled_index.py for why they are special."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.virtual.isa.integer_alu import ADDRESS_OPERATIONS
from hipgraph_cb.virtual.isa.operands import VGPR_BASE, constant_value
from hipgraph_cb.virtual.isa.registry import CompileContext, Compiled, Step, semantics
from hipgraph_cb.virtual.isa.scaled_index import ScaledIndex
from hipgraph_cb.virtual.isa.vector import compile_operation

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.instruction import Instruction
    from hipgraph_cb.virtual.isa.state import State


@semantics(*ADDRESS_OPERATIONS)
def _compile(instruction: Instruction, context: CompileContext) -> Compiled:
    plain = compile_operation(instruction, context, ADDRESS_OPERATIONS[instruction.mnemonic])
    if not callable(plain) or instruction.format != "VOP3":
        return plain
    return _shift(instruction, plain) if instruction.mnemonic == "v_lshlrev_b64" else _shift_add(instruction, plain)


def _shift(instruction: Instruction, plain: Step) -> Step:
    """index << constant, with an index that is zero above bit 31."""
    amount = constant_value(instruction.fields["src0"], instruction.literal, "u32")
    source, destination = instruction.fields["src1"] - VGPR_BASE, instruction.fields["vdst"]
    if amount is None or amount > 31 or source < 0:
        return plain

    def step(state: State) -> None:
        value = state.read_scaled(source) if state.active is None else None
        if value is None or value.base or value.shift:
            plain(state)
        else:
            state.write_scaled(destination, ScaledIndex(0, value.index, amount))

    return step


def _shift_add(instruction: Instruction, plain: Step) -> Step:
    """(S0 << constant) + S2, one of S0 and S2 a scaled index and the other a uniform scalar."""
    fields = instruction.fields
    amount = constant_value(fields["src1"], instruction.literal, "u32")
    if amount is None or amount > 7:
        return plain
    destination = fields["vdst"]
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
        if value is None or not isinstance(base, int) or (amount and (value.base or value.shift)):
            plain(state)
        else:
            scaled = ScaledIndex(value.base, value.index, value.shift or amount)
            state.write_scaled(destination, scaled.moved(base))

    return step
