"""GLOBAL: loads and stores of 1 to 16 bytes a lane (CDNA3 ISA, "Flat memory instructions")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.lane_mask import any_set
from hipgraph_cb.virtual.isa.core.register_limits import scalars, vectors
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, Step, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import AGPR, MASK64, State, Vector32
from hipgraph_cb.virtual.isa.memory.linear_access import NO_SADDR, linear_place, load_linear, load_masked, store_linear
from hipgraph_cb.virtual.isa.memory.memory_access import (
    Addresses,
    active_only,
    checked,
    dense_addresses,
    is_sparse,
    load_narrow,
    load_words,
    loaded_half,
    sign_extend,
    spread,
    store_narrow,
    store_words,
)

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Places = Callable[[State], tuple[NDArray[np.uint8], Addresses]]
"""Which bytes the active lanes access: an array, and fresh offsets into it that have been checked."""
WORDS = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4}


@dataclass(frozen=True)
class Narrow:
    """A load or store of `size` bytes: sign- or zero-extended, or into (out of) one half of the register (d16)."""

    size: int
    signed: bool = False
    half: str | None = None
    sram_ecc: bool = True

    def on(self, context: CompileContext) -> Narrow:
        """The same on the target of `context`."""
        return replace(self, sram_ecc=context.sram_ecc)


NARROW_LOADS = {
    "ubyte": Narrow(1),
    "sbyte": Narrow(1, signed=True),
    "ushort": Narrow(2),
    "sshort": Narrow(2, signed=True),
    "ubyte_d16": Narrow(1, half="low"),
    "ubyte_d16_hi": Narrow(1, half="high"),
    "sbyte_d16": Narrow(1, signed=True, half="low"),
    "sbyte_d16_hi": Narrow(1, signed=True, half="high"),
    "short_d16": Narrow(2, half="low"),
    "short_d16_hi": Narrow(2, half="high"),
}
NARROW_STORES = {
    "byte": Narrow(1),
    "byte_d16_hi": Narrow(1, half="high"),
    "short": Narrow(2),
    "short_d16_hi": Narrow(2, half="high"),
}


def global_addresses(instruction: Instruction) -> Callable[[State], Addresses]:
    """The byte address of each lane: a 64-bit VGPR pair, or an SGPR pair plus a 32-bit unsigned VGPR; plus offset."""
    vaddr, saddr, offset = (instruction.fields[name] for name in ("addr", "saddr", "offset"))
    if saddr == NO_SADDR:
        vectors(vaddr, 2)

        def from_vgprs(state: State) -> Addresses:
            addresses = state.read_vgpr64(vaddr).view(np.int64)
            return addresses + offset if offset else addresses

        return from_vgprs

    scalars(saddr, 2)

    def from_sgprs(state: State) -> Addresses:
        base = state.read_sgpr64(saddr)
        distance = state.read_vgpr(vaddr).astype(np.int64)
        if isinstance(base, int):
            distance += np.uint64(base + offset & MASK64).view(np.int64)
            return distance
        return distance + (base.view(np.int64) + offset)

    return from_sgprs


def vector_register(instruction: Instruction, name: str, count: int = 1) -> int:
    """The first of `count` data registers of a memory instruction; its `acc` bit chooses the accumulation registers.

    Raises:
        UnsupportedInstruction: there are not so many from there on.
    """
    return vectors(instruction.fields[name], count) + (AGPR if instruction.fields.get("acc", 0) else 0)


@semantics(*(f"global_load_{size}" for size in WORDS))
def _compile_load(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("global_load_")]
    return load_words_step(instruction, global_addresses(instruction), count)


def load_words_step(instruction: Instruction, addresses: Callable[[State], Addresses], count: int) -> Step:
    """A load of `count` words a lane from device memory."""
    destination = vector_register(instruction, "vdst", count)
    linear = linear_place(instruction)

    def step(state: State) -> None:
        loaded, active = None, state.active
        if active is None:
            place = linear(state)
            if place is not None:
                loaded = load_linear(state, place, count)
        elif not is_sparse(state):
            place = linear(state)
            if place is not None and any_set(active):
                loaded = load_masked(state, place, count, active)
        if loaded is None:
            loaded = _load_anything(state, instruction, addresses, count)
        for index, value in enumerate(loaded):
            state.write_vgpr(destination + index, value)

    return step


def _load_anything(
    state: State, instruction: Instruction, addresses: Callable[[State], Addresses], count: int
) -> list[Vector32]:
    """`count` words from any addresses; empty when no lane is active."""
    if is_sparse(state):
        offsets = checked(state, instruction, addresses(state), 4 * count)
        return [spread(state, value) for value in load_words(state.memory.u8, offsets, count)] if offsets.size else []
    given = addresses(state)
    dense = dense_addresses(state, given)
    if dense is None:
        return []
    if state.memory.check(dense, 4 * count) is not None:
        checked(state, instruction, given, 4 * count)
    return load_words(state.memory.u8, dense - state.memory.base, count)


@semantics(*(f"global_store_{size}" for size in WORDS))
def _compile_store(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("global_store_")]
    return store_words_step(instruction, global_addresses(instruction), count)


def store_words_step(instruction: Instruction, addresses: Callable[[State], Addresses], count: int) -> Step:
    """A store of `count` words a lane to device memory."""
    source = vector_register(instruction, "data", count)
    linear = linear_place(instruction)

    def step(state: State) -> None:
        place = linear(state)
        if place is not None:
            words = [state.read_vgpr(source + index) for index in range(count)]
            if store_linear(state, place, words):
                return
        offsets = checked(state, instruction, state.full(addresses(state)), 4 * count)
        if offsets.size:
            values = [active_only(state, state.full(state.read_vgpr(source + index))) for index in range(count)]
            store_words(state.memory.u8, offsets, values)

    return step


def _addresses_by_lane(instruction: Instruction) -> Callable[[State], Addresses]:
    """A base in a pair of scalar registers, plus the offset, plus four times the number of the lane."""
    saddr, offset = instruction.fields["saddr"], instruction.fields["offset"]
    if saddr == NO_SADDR:
        raise UnsupportedInstruction("no base")
    scalars(saddr, 2)

    def read(state: State) -> Addresses:
        base = np.atleast_2d(np.asarray(state.read_sgpr64(saddr), np.uint64)).view(np.int64)
        return state.full(base + (offset + 4 * np.arange(state.lanes)))

    return read


@semantics("global_load_addtid_dword")
def _compile_load_by_lane(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    addresses, destination = _addresses_by_lane(instruction), vector_register(instruction, "vdst")

    def step(state: State) -> None:
        for value in _load_anything(state, instruction, addresses, 1):
            state.write_vgpr(destination, value)

    return step


@semantics("global_store_addtid_dword")
def _compile_store_by_lane(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    addresses, source = _addresses_by_lane(instruction), vector_register(instruction, "data")

    def step(state: State) -> None:
        offsets = checked(state, instruction, addresses(state), 4)
        if offsets.size:
            store_words(state.memory.u8, offsets, [active_only(state, state.full(state.read_vgpr(source)))])

    return step


@semantics(*(f"global_load_{size}" for size in NARROW_LOADS))
def _compile_narrow_load(instruction: Instruction, context: CompileContext) -> Compiled:
    form = NARROW_LOADS[instruction.mnemonic.removeprefix("global_load_")].on(context)
    addresses = global_addresses(instruction)
    return narrow_load_step(
        vector_register(instruction, "vdst"),
        form,
        lambda state: (state.memory.u8, checked(state, instruction, addresses(state), form.size)),
    )


@semantics(*(f"global_store_{size}" for size in NARROW_STORES))
def _compile_narrow_store(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    form = NARROW_STORES[instruction.mnemonic.removeprefix("global_store_")]
    addresses = global_addresses(instruction)
    return narrow_store_step(
        vector_register(instruction, "data"),
        form,
        lambda state: (state.memory.u8, checked(state, instruction, state.full(addresses(state)), form.size)),
    )


def narrow_load_step(destination: int, form: Narrow, places: Places) -> Step:
    """A load of 1 or 2 bytes a lane from memory that is one array of bytes."""

    def step(state: State) -> None:
        memory, offsets = places(state)
        if offsets.size:
            value = spread(state, load_narrow(memory, offsets, form.size))
            state.write_vgpr(destination, narrow_result(state, destination, value, form))

    return step


def narrow_store_step(source: int, form: Narrow, places: Places) -> Step:
    """A store of 1 or 2 bytes a lane to memory that is one array of bytes."""

    def step(state: State) -> None:
        memory, offsets = places(state)
        if offsets.size:
            value = state.read_vgpr(source)
            value = value >> np.uint32(16) if form.half else value
            store_narrow(memory, offsets, active_only(state, state.full(value)), form.size)

    return step


def narrow_result(state: State, destination: int, value: Vector32, form: Narrow) -> Vector32:
    """What a narrow load leaves in its register."""
    if form.signed:
        value = sign_extend(value, 8 * form.size)
    if form.half is None:
        return value
    return loaded_half(state, destination, value & np.uint32(0xFFFF), form.half == "high", form.sram_ecc)
