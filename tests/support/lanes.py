"""One chunk of waves on which single instructions are tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.float_mode import FloatMode
from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.core.registry import CompileContext, compiler_of
from hipgraph_cb.virtual.isa.core.state import State
from hipgraph_cb.virtual.isa.execution import instruction_set
from hipgraph_cb.virtual.isa.execution.placement import Placement
from hipgraph_cb.virtual.isa.targets.gfx9.decode import decode
from hipgraph_cb.virtual.isa.targets.gfx9.tables_generated import LAYOUTS
from hipgraph_cb.virtual.isa.targets.gfx9.target import TARGET
from hipgraph_cb.virtual.memory import Memory

DEFAULT_MODE = FloatMode()
GFX942 = CompileContext(TARGET, "gfx942", 64)


def make_state(memory: Memory, *, groups: int = 1, waves_per_group: int = 1, lds_size: int = 0) -> State:
    """Waves of `groups` workgroups at the start of a kernel named `tried`, every lane on."""
    placement = Placement("tried", 0x1000, 0, (groups, 1, 1), 0, groups, waves_per_group, 64, TARGET)
    return State(memory, placement, lds_size=lds_size)


def run(state: State, mnemonic: str, form: str, **fields: int) -> None:
    """Execute one instruction, given by its fields."""
    every_field = {name: 0 for name, _, _ in LAYOUTS[form]} | fields
    execute(state, Instruction(0, 8, form, mnemonic, every_field), GFX942)


def run_code(state: State, code: str, mode: FloatMode = DEFAULT_MODE) -> None:
    """Execute the instructions whose bytes `code` holds in hexadecimal, under a float mode."""
    data, offset = bytes.fromhex(code), 0
    while offset < len(data):
        instruction = decode(data, offset)
        execute(state, instruction, replace(GFX942, float_mode=mode))
        offset = instruction.end


def execute(state: State, instruction: Instruction, context: CompileContext = GFX942) -> None:
    """Compile and execute one instruction."""
    assert instruction_set.MODULES
    compiler = compiler_of(instruction.mnemonic)
    assert compiler is not None, f"{instruction.mnemonic} is not implemented"
    step = compiler(instruction, context)
    assert callable(step)
    with np.errstate(all="ignore"):
        step(state)


def lanes_of(state: State, register: int) -> NDArray[np.uint32]:
    """The value of a vector register in every lane, [waves, 64]."""
    return np.array(state.full(state.read_vgpr(register)))
