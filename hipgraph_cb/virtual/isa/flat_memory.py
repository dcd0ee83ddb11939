"""FLAT: accesses through generic addresses, which name LDS, private or device memory lane by lane.

An address within one of the two apertures (4 GiB from `SHARED_BASE` and `PRIVATE_BASE`) means LDS or private memory,
any other device memory. The lanes of each kind are executed for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.virtual.faults import FaultKind
from hipgraph_cb.virtual.isa.atomic_operations import perform
from hipgraph_cb.virtual.isa.global_atomics import OPERATIONS, atomic_step, read_operands, refuse_misaligned, write_old
from hipgraph_cb.virtual.isa.global_memory import (
    NARROW_LOADS,
    NARROW_STORES,
    WORDS,
    narrow_result,
    vector_register,
)
from hipgraph_cb.virtual.isa.lds import place_in_lds
from hipgraph_cb.virtual.isa.memory_access import (
    Addresses,
    active_only,
    checked,
    load_narrow,
    load_words,
    spread,
    store_narrow,
    store_words,
)
from hipgraph_cb.virtual.isa.operands import PRIVATE_BASE, SHARED_BASE
from hipgraph_cb.virtual.isa.private_memory import (
    load_private_narrow,
    load_private_words,
    store_private_narrow,
    store_private_words,
)
from hipgraph_cb.virtual.isa.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.state import State, Vector32

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.instruction import Instruction

DEVICE, LOCAL, PRIVATE = "device", "local", "private"
_APERTURES = ((LOCAL, SHARED_BASE), (PRIVATE, PRIVATE_BASE))


def flat_addresses(instruction: Instruction) -> Callable[[State], Addresses]:
    """The generic address of each lane: a 64-bit VGPR pair plus an unsigned offset."""
    register, offset = instruction.fields["addr"], instruction.fields["offset"]
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


def _linear(state: State, instruction: Instruction, kind: str, addresses: Addresses, size: int) -> Addresses:
    """Offsets of the active lanes in LDS or device memory, checked."""
    if kind == LOCAL:
        return place_in_lds(state, instruction, addresses, 0, size)
    return checked(state, instruction, addresses, size)


def _memory(state: State, kind: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return state.lds.reshape(-1) if kind == LOCAL else state.memory.u8


@semantics(*(f"flat_load_{size}" for size in WORDS))
def _compile_load(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("flat_load_")]
    addresses, destination = flat_addresses(instruction), vector_register(instruction, "vdst")

    def load(state: State, kind: str, places: Addresses) -> list[Vector32] | None:
        if kind == PRIVATE:
            return load_private_words(state, instruction, places, count)
        offsets = _linear(state, instruction, kind, places, 4 * count)
        return [spread(state, value) for value in load_words(_memory(state, kind), offsets, count)]

    def step(state: State) -> None:
        for kind, places in by_kind_of_memory(state, addresses(state)):
            for index, value in enumerate(load(state, kind, places) or ()):
                state.write_vgpr(destination + index, value)

    return step


@semantics(*(f"flat_load_{size}" for size in NARROW_LOADS))
def _compile_narrow_load(instruction: Instruction, context: CompileContext) -> Compiled:
    form = NARROW_LOADS[instruction.mnemonic.removeprefix("flat_load_")].on(context)
    addresses, destination = flat_addresses(instruction), vector_register(instruction, "vdst")

    def load(state: State, kind: str, places: Addresses) -> Vector32 | None:
        if kind == PRIVATE:
            return load_private_narrow(state, instruction, places, form.size)
        offsets = _linear(state, instruction, kind, places, form.size)
        return spread(state, load_narrow(_memory(state, kind), offsets, form.size))

    def step(state: State) -> None:
        for kind, places in by_kind_of_memory(state, addresses(state)):
            value = load(state, kind, places)
            if value is not None:
                state.write_vgpr(destination, narrow_result(state, destination, value, form))

    return step


@semantics(*(f"flat_store_{size}" for size in WORDS))
def _compile_store(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("flat_store_")]
    addresses, source = flat_addresses(instruction), vector_register(instruction, "data")

    def step(state: State) -> None:
        values = [state.read_vgpr(source + index) for index in range(count)]
        for kind, places in by_kind_of_memory(state, addresses(state)):
            if kind == PRIVATE:
                store_private_words(state, instruction, places, values)
                continue
            offsets = _linear(state, instruction, kind, places, 4 * count)
            chosen = [active_only(state, state.full(value)) for value in values]
            store_words(_memory(state, kind), offsets, chosen)

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
                continue
            offsets = _linear(state, instruction, kind, places, form.size)
            store_narrow(_memory(state, kind), offsets, active_only(state, state.full(value)), form.size)

    return step


@semantics(*(f"flat_atomic_{name}" for name in OPERATIONS))
def _compile_atomic(instruction: Instruction, context: CompileContext) -> Compiled:
    """Private memory has no atomics: compilers branch round them."""
    del context
    operation = OPERATIONS[instruction.mnemonic.removeprefix("flat_atomic_")]
    addresses = flat_addresses(instruction)
    on_device = atomic_step(instruction, addresses, operation, data="data", result="vdst")
    source, destination = vector_register(instruction, "data"), vector_register(instruction, "vdst")

    def on_lds(state: State, places: Addresses) -> None:
        offsets = place_in_lds(state, instruction, places, 0, operation.size)
        refuse_misaligned(state, instruction, places, operation.size)
        operands = read_operands(state, source, operation)
        need_old = bool(instruction.fields["sc0"])
        old = perform(state.lds.reshape(-1), offsets.reshape(-1), operands, operation, need_old)
        if old is not None:
            write_old(state, destination, old)

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
