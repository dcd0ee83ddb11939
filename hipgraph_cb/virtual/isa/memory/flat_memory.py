"""FLAT: accesses through generic addresses, which name LDS, private or device memory lane by lane.

An address within one of the two apertures (4 GiB from `SHARED_BASE` and `PRIVATE_BASE`) means LDS or private memory,
any other device memory. The lanes of each kind are executed for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.virtual.faults import FaultKind
from hipgraph_cb.virtual.isa.core.operands import PRIVATE_BASE, SHARED_BASE
from hipgraph_cb.virtual.isa.core.register_limits import vectors
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.state import State, Vector32
from hipgraph_cb.virtual.isa.memory.global_atomics import (
    OPERATIONS,
    atomic_step,
    data_register,
    read_operands,
    result_register,
    write_result,
)
from hipgraph_cb.virtual.isa.memory.global_memory import (
    NARROW_LOADS,
    NARROW_STORES,
    WORDS,
    narrow_result,
    vector_register,
)
from hipgraph_cb.virtual.isa.memory.lds import (
    load_narrow_from_lds,
    load_words_from_lds,
    store_narrow_to_lds,
    store_to_lds_at,
)
from hipgraph_cb.virtual.isa.memory.lds_atomics import lds_atomic
from hipgraph_cb.virtual.isa.memory.memory_access import (
    Addresses,
    active_only,
    checked,
    load_narrow,
    load_words,
    spread,
    store_narrow,
    store_words,
)
from hipgraph_cb.virtual.isa.memory.private_memory import (
    load_private_narrow,
    load_private_words,
    store_private_narrow,
    store_private_words,
)

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

DEVICE, LOCAL, PRIVATE = "device", "local", "private"
_APERTURES = ((LOCAL, SHARED_BASE), (PRIVATE, PRIVATE_BASE))


def flat_addresses(instruction: Instruction) -> Callable[[State], Addresses]:
    """The generic address of each lane: a 64-bit VGPR pair plus an unsigned offset."""
    register, offset = vectors(instruction.fields["addr"], 2), instruction.fields["offset"]
    return lambda state: state.full(state.read_vgpr64(register).view(np.int64) + offset)


def by_kind_of_memory(state: State, addresses: Addresses) -> Iterator[tuple[str, Addresses]]:
    """For each kind of memory that active lanes address: its name and the addresses within it.

    While the caller has one in hand, only the lanes of that kind are active.
    """
    upper = addresses >> 32
    if int(upper.max()) < min(base for _, base in _APERTURES) >> 32:
        yield DEVICE, addresses
        return
    rest = state.active_bits()
    for kind, base in _APERTURES:
        lanes = upper == base >> 32
        if (lanes & rest).any():
            with state.narrowed(lanes):
                yield kind, addresses - base
            rest = rest & ~lanes
    if rest.any():
        with state.narrowed(rest):
            yield DEVICE, addresses


@semantics(*(f"flat_load_{size}" for size in WORDS))
def _compile_load(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("flat_load_")]
    addresses, destination = flat_addresses(instruction), vector_register(instruction, "vdst", count)

    def load(state: State, kind: str, places: Addresses) -> list[Vector32] | None:
        if kind == PRIVATE:
            return load_private_words(state, instruction, places, count)
        if kind == LOCAL:
            return load_words_from_lds(state, instruction, places, 0, count)
        offsets = checked(state, instruction, places, 4 * count)
        return [spread(state, value) for value in load_words(state.memory.u8, offsets, count)]

    def step(state: State) -> None:
        for kind, places in by_kind_of_memory(state, addresses(state)):
            for index, value in enumerate(load(state, kind, places) or ()):
                state.write_vgpr(destination + index, value)

    return step


@semantics(*(f"flat_load_{size}" for size in NARROW_LOADS))
def _compile_narrow_load(instruction: Instruction, context: CompileContext) -> Compiled:
    form = NARROW_LOADS[instruction.mnemonic.removeprefix("flat_load_")].on(context)
    addresses, destination = flat_addresses(instruction), vector_register(instruction, "vdst")

    def load(state: State, kind: str, places: Addresses) -> list[Vector32]:
        if kind == PRIVATE:
            value = load_private_narrow(state, instruction, places, form.size)
            return [] if value is None else [value]
        if kind == LOCAL:
            return load_narrow_from_lds(state, instruction, places, 0, form)
        offsets = checked(state, instruction, places, form.size)
        return [spread(state, load_narrow(state.memory.u8, offsets, form.size))]

    def step(state: State) -> None:
        for kind, places in by_kind_of_memory(state, addresses(state)):
            for value in load(state, kind, places):
                state.write_vgpr(destination, narrow_result(state, destination, value, form))

    return step


@semantics(*(f"flat_store_{size}" for size in WORDS))
def _compile_store(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("flat_store_")]
    addresses, source = flat_addresses(instruction), vector_register(instruction, "data", count)

    def step(state: State) -> None:
        values = [state.read_vgpr(source + index) for index in range(count)]
        for kind, places in by_kind_of_memory(state, addresses(state)):
            if kind == PRIVATE:
                store_private_words(state, instruction, places, values)
            elif kind == LOCAL:
                store_to_lds_at(state, instruction, places, 0, values)
            else:
                offsets = checked(state, instruction, places, 4 * count)
                store_words(state.memory.u8, offsets, [active_only(state, state.full(value)) for value in values])

    return step


@semantics(*(f"flat_store_{size}" for size in NARROW_STORES))
def _compile_narrow_store(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    form = NARROW_STORES[instruction.mnemonic.removeprefix("flat_store_")]
    addresses, source = flat_addresses(instruction), vector_register(instruction, "data")

    def step(state: State) -> None:
        value = state.read_vgpr(source)
        value = value >> np.uint32(16) if form.half else value
        for kind, places in by_kind_of_memory(state, addresses(state)):
            if kind == PRIVATE:
                store_private_narrow(state, instruction, places, value, form.size)
            elif kind == LOCAL:
                store_narrow_to_lds(state, instruction, places, 0, value, form.size)
            else:
                offsets = checked(state, instruction, places, form.size)
                store_narrow(state.memory.u8, offsets, active_only(state, state.full(value)), form.size)

    return step


@semantics(*(f"flat_atomic_{name}" for name in OPERATIONS))
def _compile_atomic(instruction: Instruction, context: CompileContext) -> Compiled:
    """Private memory has no atomics: compilers branch around them."""
    del context
    operation = OPERATIONS[instruction.mnemonic.removeprefix("flat_atomic_")]
    addresses = flat_addresses(instruction)
    on_device = atomic_step(instruction, addresses, operation, data="data", result="vdst")
    source, destination = data_register(instruction, "data", operation), result_register(instruction, "vdst", operation)

    def on_lds(state: State, places: Addresses) -> None:
        operands = partial(read_operands, source=source, operation=operation)
        need_old = bool(instruction.fields["sc0"])
        for old in lds_atomic(state, instruction, places, 0, operation, operands, need_old):
            write_result(state, destination, old)

    def step(state: State) -> None:
        for kind, places in by_kind_of_memory(state, addresses(state)):
            if kind == PRIVATE:
                what = "an atomic on private memory"
                raise state.fault(instruction, what, kind=FaultKind.ILLEGAL_ADDRESS, addresses=places)
            if kind == LOCAL:
                on_lds(state, places)
            else:
                on_device(state)

    return step
