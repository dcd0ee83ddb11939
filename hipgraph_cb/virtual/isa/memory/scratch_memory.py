"""SCRATCH: loads and stores of private memory (CDNA3 ISA, "Flat memory instructions"; architected flat scratch)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.state import MASK32, State
from hipgraph_cb.virtual.isa.memory.global_memory import (
    NARROW_LOADS,
    NARROW_STORES,
    WORDS,
    narrow_result,
    vector_register,
)
from hipgraph_cb.virtual.isa.memory.linear_access import NO_SADDR
from hipgraph_cb.virtual.isa.memory.memory_access import Addresses
from hipgraph_cb.virtual.isa.memory.private_memory import (
    load_private_narrow,
    load_private_words,
    store_private_narrow,
    store_private_words,
)

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction


def scratch_addresses(instruction: Instruction) -> Callable[[State], Addresses]:
    """The private byte address of each lane: a VGPR (sve bit), an SGPR, both or neither, plus offset, in 32 bits.

    One element when it is the same for all lanes.
    """
    vaddr, saddr, offset = (instruction.fields[name] for name in ("addr", "saddr", "offset"))
    per_lane, has_base = bool(instruction.fields["sve"]), saddr != NO_SADDR

    def read(state: State) -> Addresses:
        base = state.read_sgpr(saddr) if has_base else 0
        if isinstance(base, int):
            addresses = np.full((1, 1), base + offset, np.int64)
        else:
            addresses = base.astype(np.int64) + offset
        if per_lane:
            addresses = addresses + state.read_vgpr(vaddr)
        return addresses & MASK32

    return read


@semantics(*(f"scratch_load_{size}" for size in WORDS))
def _compile_load(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("scratch_load_")]
    addresses, destination = scratch_addresses(instruction), vector_register(instruction, "vdst", count)

    def step(state: State) -> None:
        for index, value in enumerate(load_private_words(state, instruction, addresses(state), count) or ()):
            state.write_vgpr(destination + index, value)

    return step


@semantics(*(f"scratch_load_{size}" for size in NARROW_LOADS))
def _compile_narrow_load(instruction: Instruction, context: CompileContext) -> Compiled:
    form = NARROW_LOADS[instruction.mnemonic.removeprefix("scratch_load_")].on(context)
    addresses, destination = scratch_addresses(instruction), vector_register(instruction, "vdst")

    def step(state: State) -> None:
        value = load_private_narrow(state, instruction, addresses(state), form.size)
        if value is not None:
            state.write_vgpr(destination, narrow_result(state, destination, value, form))

    return step


@semantics(*(f"scratch_store_{size}" for size in WORDS))
def _compile_store(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("scratch_store_")]
    addresses, source = scratch_addresses(instruction), vector_register(instruction, "data", count)

    def step(state: State) -> None:
        values = [state.read_vgpr(source + index) for index in range(count)]
        store_private_words(state, instruction, addresses(state), values)

    return step


@semantics(*(f"scratch_store_{size}" for size in NARROW_STORES))
def _compile_narrow_store(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    form = NARROW_STORES[instruction.mnemonic.removeprefix("scratch_store_")]
    addresses, source = scratch_addresses(instruction), vector_register(instruction, "data")

    def step(state: State) -> None:
        value = state.read_vgpr(source)
        value = value >> np.uint32(16) if form.half else value
        store_private_narrow(state, instruction, addresses(state), value, form.size)

    return step
