"""Waves of gfx1100 and its successors on which a few instructions are tried."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.narrow_waves import state_of
from hipgraph_cb.virtual.isa.core.registry import CompileContext
from hipgraph_cb.virtual.isa.core.state import State
from hipgraph_cb.virtual.isa.core.target import Target
from hipgraph_cb.virtual.isa.execution.placement import Placement
from hipgraph_cb.virtual.isa.execution.program import program_for
from hipgraph_cb.virtual.isa.execution.scheduler import Chunk, Outcome
from hipgraph_cb.virtual.isa.targets.gfx11.target import TARGET
from hipgraph_cb.virtual.memory import Memory

END = bytes.fromhex("0000b0bf")  # s_endpgm


def make_waves(
    *, waves: int = 2, lanes: int = 32, lds_size: int = 0, memory: Memory | None = None, target: Target = TARGET
) -> State:
    """Waves of one workgroup, every lane on."""
    placement = Placement("tried", 0x1000, 0, (1, 1, 1), 0, 1, waves, lanes, target)
    return state_of(memory or Memory(1 << 16), placement, lds_size=lds_size, mode=0xF0)


def run(state: State, code: str) -> None:
    """Execute the instructions whose bytes `code` holds in hexadecimal."""
    target = state.placement.target
    context = CompileContext(target, max(target.processors), state.lanes, sram_ecc=False).under(state.mode)
    chunk = Chunk(state, program_for(bytes.fromhex(code) + END, context), 0)
    with np.errstate(all="ignore"):
        assert chunk.run(lambda: False) is Outcome.FINISHED


def fill(state: State, register: int, values: object) -> None:
    """Set a vector register, the same in every wave or [waves, lanes]."""
    state.write_vgpr(register, np.atleast_2d(np.asarray(values)).astype(np.uint32))


def fill_floats(state: State, register: int, values: object) -> None:
    fill(state, register, np.asarray(values, np.float32).view(np.uint32))


def read(state: State, register: int) -> NDArray[np.uint32]:
    """A vector register in every lane, [waves, lanes]."""
    return np.array(state.full(state.read_vgpr(register)))


def bits(condition: object) -> int:
    """The number whose bit n is lane n."""
    return sum(1 << lane for lane, is_set in enumerate(np.asarray(condition).tolist()) if is_set)
