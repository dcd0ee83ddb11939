"""Vector registers chosen at run time: the instructions between s_set_gpr_idx_on and s_set_gpr_idx_off.

M0 holds the index in its bits 7:0 and in 15:12 which operands it is added to: source 0, 1, 2, destination. Only what
names a vector register is moved: of v_readlane and v_readfirstlane the source, of v_writelane the destination.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.isa.core.control import SetMode
from hipgraph_cb.virtual.isa.core.float_mode import INDEXES_REGISTERS
from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, scalar_reader
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, Step, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import M0, State

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

_VECTOR = frozenset({"VOP1", "VOP2", "VOPC", "VOP3", "VOP3P"})
_REFUSED = ("v_swap", "v_accvgpr")
_TO_SCALARS = ("v_readlane", "v_readfirstlane", "v_cmp")
_INDEX, _ENABLES = 0xFF, 0xF000
_REGISTERS = 256


def _write_m0(state: State, value: Any, mask: int) -> None:
    """Replace the bits of `mask` in M0."""
    old = state.read_sgpr(M0)
    if isinstance(old, int) and isinstance(value, int):
        state.write_sgpr(M0, old & ~mask | value & mask)
    else:
        kept, given = np.uint32(0xFFFFFFFF ^ mask), np.uint32(mask)
        state.write_sgpr(M0, np.asarray(old, np.uint32) & kept | np.asarray(value, np.uint32) & given)


@semantics("s_set_gpr_idx_on")
def _compile_on(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    index, enables = scalar_reader(instruction.fields["ssrc0"], instruction.literal), instruction.fields["ssrc1"] & 15

    def switch_on(state: State, mode: int) -> int:
        _write_m0(state, index(state), _INDEX)
        _write_m0(state, enables << 12, _ENABLES)
        return mode | INDEXES_REGISTERS

    return SetMode(switch_on)


@semantics("s_set_gpr_idx_off")
def _compile_off(instruction: Instruction, context: CompileContext) -> Compiled:
    del instruction, context
    return SetMode(lambda state, mode: mode & ~INDEXES_REGISTERS)


@semantics("s_set_gpr_idx_idx")
def _compile_index(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    index = scalar_reader(instruction.fields["ssrc0"], instruction.literal)
    return lambda state: _write_m0(state, index(state), _INDEX)


@semantics("s_set_gpr_idx_mode")
def _compile_mode(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    enables = (instruction.fields["simm16"] & 15) << 12
    return lambda state: _write_m0(state, enables, _ENABLES)


def indexed(instruction: Instruction, compile_plain: Callable[[Instruction], Compiled]) -> Compiled:
    """The step of an instruction that is executed while the mode is on."""
    if instruction.format not in _VECTOR:
        return compile_plain(instruction)
    if instruction.dpp is not None or instruction.sdwa is not None or instruction.mnemonic.startswith(_REFUSED):
        raise UnsupportedInstruction("an indexed register")
    steps: dict[int, Step] = {}

    def run(state: State, m0: int) -> None:
        key = m0 & (_INDEX | _ENABLES)
        step = steps.get(key)
        if step is None:
            compiled = compile_plain(_moved(state, instruction, key & _INDEX, key >> 12))
            if not callable(compiled):
                return
            step = steps[key] = compiled
        step(state)

    def step(state: State) -> None:
        m0 = state.read_agreed(M0)
        if isinstance(m0, int):
            run(state, m0)
            return
        group, running = state.group, np.ones(m0.shape, np.bool_) if state.running is None else state.running
        for value in np.unique(m0[running]).tolist():
            state.set_group(running & (m0 == value))
            run(state, value)
        state.set_group(group)

    return step


def _moved(state: State, instruction: Instruction, index: int, enables: int) -> Instruction:
    """The instruction with `index` added to the numbers of the vector registers that `enables` names."""
    fields = dict(instruction.fields)
    places = [("src0", 1, VGPR_BASE), ("vsrc1", 2, 0), ("src1", 2, VGPR_BASE), ("src2", 4, VGPR_BASE)]
    if not instruction.mnemonic.startswith(_TO_SCALARS):
        places.append(("vdst", 8, 0))
    for name, bit, first in places:
        if enables & bit and fields.get(name, -1) >= first:
            fields[name] += index
            if fields[name] >= first + _REGISTERS:
                register = fields[name] - first
                raise state.fault(instruction, f"the indexed register v{register} does not exist")
    return replace(instruction, fields=fields)
