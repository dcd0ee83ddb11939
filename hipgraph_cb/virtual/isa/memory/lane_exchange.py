"""DS instructions that move values between the lanes of a wave and leave LDS alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.state import State, Vector32
from hipgraph_cb.virtual.isa.memory.global_memory import vector_register
from hipgraph_cb.virtual.isa.memory.lds import whole_offset

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

QUAD_MODE = 0x8000
ROTATE_MODE, TRANSFORM_MODE = 0xC000, 0xE000


def _named_lanes(state: State, register: int, offset: int, among: int) -> NDArray[np.int64]:
    """The lane that each lane's byte address names, as an index over all lanes of the chunk; upper bits are ignored.

    `among`: how many lanes, from a multiple of that on, a lane can name.
    """
    addresses = state.read_vgpr(register).astype(np.int64)
    lanes = (addresses + offset >> 2) & (among - 1)
    if among < state.lanes:
        lanes = lanes + (np.arange(state.lanes) & -among)
    return lanes + _first_lanes(state)


def _among(context: CompileContext) -> int:
    return min(context.lanes, 32) if context.target.differences.exchanges_within_32 else context.lanes


def _first_lanes(state: State) -> NDArray[np.int64]:
    """The index of lane 0 of each wave over all lanes of the chunk."""
    return np.arange(0, state.waves * state.lanes, state.lanes).reshape(-1, 1)


def _pull(state: State, value: Vector32, sources: NDArray[np.int64]) -> Vector32:
    """Each lane's value from another lane; zero from one that is not active."""
    flat = np.ascontiguousarray(state.full(value)).reshape(-1)
    if state.active is not None:
        flat = np.where(state.active.reshape(-1), flat, np.uint32(0))
    pulled: Vector32 = flat.take(state.full(sources))
    return pulled


@semantics("ds_bpermute_b32")
def _compile_pull(instruction: Instruction, context: CompileContext) -> Compiled:
    among = _among(context)
    address, offset = instruction.fields["addr"], whole_offset(instruction)
    source, destination = vector_register(instruction, "data0"), vector_register(instruction, "vdst")

    def step(state: State) -> None:
        sources = _named_lanes(state, address, offset, among)
        state.write_vgpr(destination, _pull(state, state.read_vgpr(source), sources))

    return step


@semantics("ds_permute_b32")
def _compile_push(instruction: Instruction, context: CompileContext) -> Compiled:
    """Lanes that no lane names get zero; of several senders the highest lane wins."""
    among = _among(context)
    address, offset = instruction.fields["addr"], whole_offset(instruction)
    source, destination = vector_register(instruction, "data0"), vector_register(instruction, "vdst")

    def step(state: State) -> None:
        targets = state.full(_named_lanes(state, address, offset, among))
        values = state.full(state.read_vgpr(source))
        if state.active is not None:
            targets, values = targets[state.active], values[state.active]
        received = np.zeros(state.waves * state.lanes, np.uint32)
        received[targets.reshape(-1)] = values.reshape(-1)
        state.write_vgpr(destination, received.reshape(state.shape))

    return step


@semantics("ds_swizzle_b32")
def _compile_swizzle(instruction: Instruction, context: CompileContext) -> Compiled:
    sources = swizzle_sources(whole_offset(instruction), context.lanes)
    source, destination = vector_register(instruction, "addr"), vector_register(instruction, "vdst")

    def step(state: State) -> None:
        state.write_vgpr(destination, _pull(state, state.read_vgpr(source), sources + _first_lanes(state)))

    return step


def swizzle_sources(control: int, lanes: int) -> NDArray[np.int64]:
    """The lane that each of so many lanes reads (CDNA3 ISA, DS_SWIZZLE_B32).

    Four lanes are permuted; or, within 32 lanes, and-, or- and xor-masks apply, lanes rotate within groups that a mask
    of fixed bits makes, or the free bits are reversed (for a fast Fourier transform).
    """
    lane = np.arange(lanes, dtype=np.int64)
    if control >= TRANSFORM_MODE:
        return (lane & 32) | _reversed_bits(control & 31, lanes)
    if control >= ROTATE_MODE:
        fixed, amount = control & 31, (control >> 5 & 31) * (-1 if control >> 10 & 1 else 1)
        return (lane & 32) | (lane & fixed) | (lane + amount & ~fixed & 31)
    if control & QUAD_MODE:
        return (lane & ~3) + (control >> 2 * (lane & 3) & 3)
    kept, added, flipped = control & 31, control >> 5 & 31, control >> 10 & 31
    return (lane & 32) | ((lane & 31 & kept | added) ^ flipped)


def _reversed_bits(fixed: int, count: int) -> NDArray[np.int64]:
    """The five bits of a lane without the `fixed` ones, in reverse order at the bottom, and the fixed ones."""
    lanes = [int(f"{lane & 31 & ~fixed:05b}"[::-1], 2) >> fixed.bit_count() | lane & fixed for lane in range(count)]
    return np.array(lanes, np.int64)


@semantics("ds_nop")
def _compile_nop(instruction: Instruction, context: CompileContext) -> Compiled:
    del instruction, context
    return None
