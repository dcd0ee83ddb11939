"""Accesses to LDS at an address made of M0 and the number of the lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.state import M0, State, Vector32
from hipgraph_cb.virtual.isa.memory.global_memory import NARROW_LOADS, global_addresses, vector_register
from hipgraph_cb.virtual.isa.memory.lds import load_words_from_lds, store_to_lds_at, whole_offset
from hipgraph_cb.virtual.isa.memory.memory_access import (
    Addresses,
    checked,
    load_narrow,
    load_words,
    sign_extend,
    spread,
)
from hipgraph_cb.virtual.isa.memory.private_memory import load_private_narrow, load_private_words
from hipgraph_cb.virtual.isa.memory.scratch_memory import scratch_addresses

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction


def addressed_by_lane(state: State, offset: int) -> Addresses:
    """The lower half of M0 plus `offset` plus four times the number of the lane."""
    base = state.read_sgpr(M0)
    start = base & 0xFFFF if isinstance(base, int) else (base & np.uint32(0xFFFF)).astype(np.int64)
    return state.full(np.arange(0, 4 * state.lanes, 4, dtype=np.int64).reshape(1, -1) + start + offset)


def store_to_lds(state: State, instruction: Instruction, value: Vector32) -> None:
    """Write a word of each active lane where loads to LDS put it (CDNA3 ISA, "Memory Buffer Load to LDS")."""
    addresses = addressed_by_lane(state, instruction.fields["offset"])
    store_to_lds_at(state, instruction, addresses, 0, [value])


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


# Narrow values take a whole word of LDS each, extended.
EXTENDED = {name: NARROW_LOADS[name] for name in ("ubyte", "sbyte", "ushort", "sshort")}


@semantics(*(f"global_load_lds_{name}" for name in EXTENDED))
def _compile_narrow_transfer(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    form = EXTENDED[instruction.mnemonic.removeprefix("global_load_lds_")]
    addresses = global_addresses(instruction)

    def step(state: State) -> None:
        offsets = checked(state, instruction, state.full(addresses(state)), form.size)
        if offsets.size:
            value = spread(state, load_narrow(state.memory.u8, offsets, form.size))
            store_to_lds(state, instruction, sign_extend(value, 8 * form.size) if form.signed else value)

    return step


@semantics("scratch_load_lds_dword", *(f"scratch_load_lds_{name}" for name in EXTENDED))
def _compile_private_transfer(instruction: Instruction, context: CompileContext) -> Compiled:
    """From private memory to LDS."""
    del context
    form = EXTENDED.get(instruction.mnemonic.removeprefix("scratch_load_lds_"))
    addresses = scratch_addresses(instruction)

    def load(state: State) -> Vector32 | None:
        if form is None:
            words = load_private_words(state, instruction, addresses(state), 1)
            return None if words is None else words[0]
        value = load_private_narrow(state, instruction, addresses(state), form.size)
        return sign_extend(value, 8 * form.size) if value is not None and form.signed else value

    def step(state: State) -> None:
        value = load(state)
        if value is not None:
            store_to_lds(state, instruction, value)

    return step


@semantics("ds_read_addtid_b32")
def _compile_read(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    offset, destination = whole_offset(instruction), vector_register(instruction, "vdst")

    def step(state: State) -> None:
        for word in load_words_from_lds(state, instruction, addressed_by_lane(state, offset), 0, 1):
            state.write_vgpr(destination, word)

    return step


@semantics("ds_write_addtid_b32")
def _compile_write(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    offset, source = whole_offset(instruction), vector_register(instruction, "data0")

    def step(state: State) -> None:
        store_to_lds_at(state, instruction, addressed_by_lane(state, offset), 0, [state.read_vgpr(source)])

    return step
