"""Accesses to LDS at an address made of M0 and the number of the lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.virtual.isa.global_memory import global_addresses, vector_register
from hipgraph_cb.virtual.isa.lds import place_in_lds, whole_offset
from hipgraph_cb.virtual.isa.memory_access import Addresses, active_only, checked, load_words, spread, store_words
from hipgraph_cb.virtual.isa.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.state import LANES, M0, State, Vector32

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.instruction import Instruction

_LANE_OFFSETS = 4 * np.arange(LANES, dtype=np.int64).reshape(1, -1)


def addressed_by_lane(state: State, offset: int) -> Addresses:
    """The lower half of M0 plus `offset` plus four times the number of the lane."""
    base = state.read_sgpr(M0)
    start = base & 0xFFFF if isinstance(base, int) else (base & np.uint32(0xFFFF)).astype(np.int64)
    return state.full(_LANE_OFFSETS + start + offset)


def store_to_lds(state: State, instruction: Instruction, value: Vector32) -> None:
    """Write a word of each active lane where loads to LDS put it (CDNA3 ISA, "Memory Buffer Load to LDS").

    Raises:
        DeviceFault: an active lane leaves its workgroup's LDS.
    """
    addresses = addressed_by_lane(state, instruction.fields["offset"])
    offsets = place_in_lds(state, instruction, addresses, 0, 4)
    if offsets.size:
        store_words(state.lds.reshape(-1), offsets, [active_only(state, state.full(value))])


@semantics("global_load_lds_dword")
def _compile_transfer(instruction: Instruction, context: CompileContext) -> Compiled:
    """The immediate offset counts for both addresses."""
    del context
    addresses = global_addresses(instruction)

    def step(state: State) -> None:
        offsets = checked(state, instruction, state.full(addresses(state)), 4)
        if offsets.size:
            store_to_lds(state, instruction, spread(state, load_words(state.memory.u8, offsets, 1)[0]))

    return step


@semantics("ds_read_addtid_b32")
def _compile_read(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    offset, destination = whole_offset(instruction), vector_register(instruction, "vdst")

    def step(state: State) -> None:
        offsets = place_in_lds(state, instruction, addressed_by_lane(state, offset), 0, 4)
        if offsets.size:
            state.write_vgpr(destination, spread(state, load_words(state.lds.reshape(-1), offsets, 1)[0]))

    return step


@semantics("ds_write_addtid_b32")
def _compile_write(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    offset, source = whole_offset(instruction), vector_register(instruction, "data0")

    def step(state: State) -> None:
        offsets = place_in_lds(state, instruction, addressed_by_lane(state, offset), 0, 4)
        if offsets.size:
            values = [active_only(state, state.full(state.read_vgpr(source)))]
            store_words(state.lds.reshape(-1), offsets, values)

    return step
