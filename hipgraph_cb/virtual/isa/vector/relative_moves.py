"""Moves between vector registers whose numbers M0 is added to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, vector_reader32
from hipgraph_cb.virtual.isa.core.register_limits import VECTORS
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import M0, State

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction


# mnemonic -> what of M0 is added to the number of the source, and to that of the destination
_OFFSETS: dict[str, tuple[Callable[[int], int], Callable[[int], int]]] = {
    "v_movrels_b32": (lambda m0: m0, lambda m0: 0),
    "v_movreld_b32": (lambda m0: 0, lambda m0: m0),
    "v_movrelsd_b32": (lambda m0: m0, lambda m0: m0),
    "v_movrelsd_2_b32": (lambda m0: m0 & 0x3FF, lambda m0: m0 >> 16 & 0x3FF),
    "v_swaprel_b32": (lambda m0: m0 & 0x3FF, lambda m0: m0 >> 16 & 0x3FF),
}


@semantics(*_OFFSETS)
def _compile(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    source_offset, destination_offset = _OFFSETS[instruction.mnemonic]
    code, destination = instruction.fields["src0"], instruction.fields["vdst"]
    if instruction.dpp is not None or (code < VGPR_BASE and instruction.mnemonic != "v_movreld_b32"):
        raise UnsupportedInstruction("a source that is no vector register")
    swaps = instruction.mnemonic == "v_swaprel_b32"

    def move(state: State, m0: int) -> None:
        target = _existing(state, instruction, destination + destination_offset(m0))
        if code < VGPR_BASE:
            state.write_vgpr(target, vector_reader32(code, instruction.literal, "b32")(state))
            return
        source = _existing(state, instruction, code - VGPR_BASE + source_offset(m0))
        old = state.read_vgpr(target)
        state.write_vgpr(target, state.read_vgpr(source))
        if swaps:
            state.write_vgpr(source, old)

    return lambda state: _for_each_value(state, move)


def _existing(state: State, instruction: Instruction, register: int) -> int:
    if register >= VECTORS:
        raise state.fault(instruction, f"vector register {register}, which M0 leads to, does not exist")
    return register


def _for_each_value(state: State, act: Callable[[State, int], None]) -> None:
    """Do something for the waves that have the same M0, one such group after the other."""
    m0 = state.read_agreed(M0)
    if isinstance(m0, int):
        act(state, m0)
        return
    group, running = state.group, np.ones(m0.shape, np.bool_) if state.running is None else state.running
    for value in np.unique(m0[running]).tolist():
        state.set_group(running & (m0 == value))
        act(state, value)
    state.set_group(group)
