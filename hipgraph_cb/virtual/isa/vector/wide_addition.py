"""Two additions with a carry between them that are one of 64 bits, as compilers compute addresses where there is none.

Done at once they take a fraction of the time, and an address that is known as base + (index << shift) stays known (see
scaled_index.py). Registers and carries are the same afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, constant64, constant_value
from hipgraph_cb.virtual.isa.core.register_limits import SCALARS
from hipgraph_cb.virtual.isa.core.state import MASK32, VCC, State
from hipgraph_cb.virtual.isa.vector.vector import source_codes

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.registry import Step

WIDE_ADDITION = ("v_add_co_u32", "v_addc_co_u32")
_PLAIN_SCALARS = 102  # what is from here on has other uses in some family
_LIMIT = 1 << 64


def wide_addition(low: Instruction, high: Instruction) -> Step | None:
    """The step of two instructions of these names, or None where they are no such addition."""
    carry, target = _carry_of(low), low.fields["vdst"]
    if carry is None or carry != _carry_of(high) or high.fields["vdst"] != target + 1:
        return None
    halves = list(zip(source_codes(low, 2), source_codes(high, 2), strict=True))
    if VGPR_BASE + target in (halves[0][1], halves[1][1]):  # the first instruction would change what the second reads
        return None
    vectors = [first - VGPR_BASE for first, second in halves if first >= VGPR_BASE and second == first + 1]
    others = [_uniform(first, second) for first, second in halves if first < VGPR_BASE]
    if len(vectors) == 2:
        return _sum_of_vectors(vectors[0], vectors[1], target, carry)
    if len(vectors) == 1 and len(others) == 1 and others[0] is not None:
        return _sum_with_uniform(vectors[0], others[0], target, carry)
    return None


def _carry_of(instruction: Instruction) -> int | None:
    """The register that a carry comes from or goes to; None where these differ, or with modifiers."""
    if instruction.dpp is not None or instruction.sdwa is not None or instruction.literal is not None:
        return None
    fields = instruction.fields
    if instruction.format != "VOP3SD":
        return VCC
    is_first = instruction.mnemonic == WIDE_ADDITION[0]
    if fields.get("clamp", 0) or fields["sdst"] >= SCALARS or not (is_first or fields["src2"] == fields["sdst"]):
        return None
    return fields["sdst"]


def _uniform(low: int, high: int) -> Callable[[State], Any] | None:
    """Reads a pair of scalar registers or of constants: int, or uint64 [waves, 1]."""
    if low % 2 == 0 and low + 1 < _PLAIN_SCALARS and high == low + 1:
        return lambda state: state.read_sgpr64(low)
    first, second = (constant_value(code, None, "u32") for code in (low, high))
    if first is None or second is None:
        return None
    number = first | second << 32
    return lambda state: number


def _sum_of_vectors(first: int, second: int, target: int, carry: int) -> Step:
    def step(state: State) -> None:
        addend = state.read_vgpr64(second)
        total = state.read_vgpr64(first) + addend
        state.write_vgpr64(target, total)
        state.write_compare(carry, total < addend)

    return step


def _sum_with_uniform(vector: int, read: Callable[[State], Any], target: int, carry: int) -> Step:
    def step(state: State) -> None:
        addend = read(state)
        if isinstance(addend, int):
            value = state.read_scaled(vector) if state.active is None else None
            if value is not None and value.base + (MASK32 << value.shift) + addend < _LIMIT:
                state.write_scaled(target, value.moved(addend))
                state.write_mask_or_number(carry, 0)
                return
            addend = constant64(addend)
        total = state.read_vgpr64(vector) + addend
        state.write_vgpr64(target, total)
        state.write_compare(carry, total < addend)

    return step
