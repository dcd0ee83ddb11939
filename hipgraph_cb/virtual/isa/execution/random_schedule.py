"""Runs the waves of a chunk in a random order: a few of them for a while, then others.

They change behind memory instructions, branches and barriers. Every order that comes out is one that hardware may take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.virtual.faults import FaultKind
from hipgraph_cb.virtual.isa.core.control import Barrier
from hipgraph_cb.virtual.isa.core.lane_mask import any_set
from hipgraph_cb.virtual.isa.core.state import AGPR
from hipgraph_cb.virtual.isa.core.watched_state import SCALARS, UnwaitedRead
from hipgraph_cb.virtual.isa.execution.diverged_barriers import DivergedBarriers
from hipgraph_cb.virtual.isa.execution.scheduler import Chunk, Outcome
from hipgraph_cb.virtual.isa.text import register_names

if TYPE_CHECKING:
    from random import Random

    from hipgraph_cb.virtual.faults import DeviceFault
    from hipgraph_cb.virtual.isa.core.control import ControlFlow
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import Bits, State
    from hipgraph_cb.virtual.isa.execution.program import Block, Program

STRETCHES = (1, 2, 3, 8, 32, 128)
"""For how many blocks the same waves may run on."""
TURNS = (1, 4, 16, 64)
"""How many stretches of a chunk may follow each other before other chunks run."""


class RandomChunk(Chunk):
    """As `Chunk`, in the order that `chance` chooses, and with what is wrong in a kernel reported."""

    def __init__(self, state: State, program: Program, entry: int, chance: Random) -> None:
        super().__init__(state, program, entry)
        self._chance = chance
        self._barriers = DivergedBarriers(state.placement, self._text_at)
        self._add((entry, state.mode), 0, self._live)
        self._pick()

    def run(self, interrupted: Callable[[], bool]) -> Outcome:
        for _ in range(self._chance.choice(TURNS)):
            if interrupted():
                raise self._stopped()
            if self._run_on(self._chance.choice(STRETCHES)):
                return Outcome.FINISHED
        return Outcome.PAUSED

    def _run_on(self, blocks: int) -> bool:
        """Run the picked waves for so many blocks, then pick others; true means that every wave has ended."""
        for _ in range(blocks):
            block = self._program.blocks.get(self._pc) or self._fetch()
            self._execute(block)
            if block.control is None:
                self._pc = block.end
            elif self._leave(block, block.control):
                return True
        self._add((self._pc, self._state.mode), 0, self._live if self._members is None else self._members)
        self._pick()
        return False

    def _go(self, target: int, end: int) -> bool:
        self._pc = target
        return False

    def _leave(self, block: Block, control: ControlFlow) -> bool:
        if self._members is None and isinstance(control, Barrier):
            self._members = self._live  # so that the barrier is looked at
        return super()._leave(block, control)

    def _pick(self) -> None:
        place = self._chance.choice(list(self._waiting))
        _, members = self._waiting.pop(place)
        chosen = self._some_of(members)
        rest = members & ~chosen
        if any_set(rest):
            self._waiting[place] = (0, rest)
        self._pc, mode = place
        self._members = None if not self._waiting and not self._parked else chosen
        self._state.set_group(self._members)
        self._enter(mode)

    def _some_of(self, members: Bits) -> Bits:
        """One wave, those of one workgroup, half of them, or all."""
        waves = np.flatnonzero(members).tolist()
        one = self._chance.choice(waves)
        kind = self._chance.randrange(4)
        if kind == 0 or len(waves) == 1:
            chosen = [one]
        elif kind == 1:
            count = self._state.placement.waves_per_group
            chosen = [wave for wave in waves if wave // count == one // count]
        elif kind == 2:
            chosen = self._chance.sample(waves, (len(waves) + 1) // 2)
        else:
            return members
        bits: Bits = np.zeros_like(members)
        bits[chosen] = True
        return bits

    def _text_at(self, offset: int) -> str:
        context = self._program.context
        instruction = context.target.decode(self._program.code, offset, context.processor)
        return self._state.placement.text_of(instruction)

    def _look_at_barriers(self, complete: Bits) -> None:
        self._barriers.look(complete, self._parked, self._live)

    def _failed(self, instruction: Instruction, error: Exception) -> DeviceFault:
        if not isinstance(error, UnwaitedRead):
            return super()._failed(instruction, error)
        placement, load = self._state.placement, error.load
        place = f"entry {load.instruction.address - placement.entry:+#x}"
        description = (
            f"{_name(error.register)} is read before its load has arrived: no wait covers "
            f"`{placement.text_of(load.instruction)}` at {place}"
        )
        return placement.fault(FaultKind.LAUNCH_FAILURE, description, instruction, int(error.waves.argmax()))


def _name(register: int) -> str:
    if register >= SCALARS:
        return register_names.scalar(register - SCALARS)
    return register_names.vector(register % AGPR, accumulation=register >= AGPR)
