"""Gathers and scatters of the active lanes, checked against the live allocations.

Plain accesses need no alignment (unaligned mode, as AMD's drivers set it): aligned words go through the arena's 32-bit
view, anything else byte by byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core import lane_loops

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import State, Vector32

Addresses = NDArray[np.int64]
Number = TypeVar("Number", bound=np.generic)


def active_only(state: State, values: NDArray[Number]) -> NDArray[Number]:
    """The values of the active lanes: `values` itself when every lane is active, else one-dimensional."""
    if state.active is None:
        return values
    lanes = state.active_lanes
    if values.shape == state.shape:
        return values.ravel().take(lanes)
    if values.size == 1:
        return values.reshape(1) if lanes.size else values.reshape(1)[:0]
    if values.shape[1] == 1:
        return values.ravel().take(lanes >> state.lane_bits)
    return values.ravel().take(lanes & state.lanes - 1)


def spread(state: State, values: NDArray[Number]) -> NDArray[Number]:
    """The inverse of `active_only`; lanes that are not active hold anything, since writes leave them out."""
    if state.active is None:
        return values
    if values.size == 1:
        return values.reshape(1, 1)
    result = np.empty(state.shape, values.dtype)
    result.reshape(-1)[state.active_lanes] = values
    return result


def is_sparse(state: State) -> bool:
    """Whether so few lanes are active that picking them out is cheaper than working on all."""
    return state.active is not None and 4 * state.active_lanes.size < state.active.size


def checked(state: State, instruction: Instruction, addresses: Addresses, size: int) -> Addresses:
    """The addresses of the active lanes as offsets in the arena, a fresh array; `size` bytes at each are live memory.

    Raises:
        DeviceFault: some active lane would leave live memory.
    """
    selected = active_only(state, addresses)
    if selected.size:
        faulty = state.memory.check(selected, size)
        if faulty is not None:
            raise state.memory_fault(instruction, addresses, size, _faulty_lanes(state, faulty))
    return selected - state.memory.base


def dense_addresses(state: State, addresses: Addresses) -> Addresses | None:
    """The addresses with those of inactive lanes replaced by one of an active lane; None when no lane is active.

    A load can then go on as if every lane were active, since writing its result leaves the inactive ones out.
    """
    active = state.active
    if active is None:
        return addresses
    first = int(active.argmax())
    if not active.flat[first]:
        return None
    safe = state.full(addresses).flat[first]
    difference = np.bitwise_xor(addresses, safe)
    dense: Addresses = np.bitwise_and(difference, state.active_u64.view(np.int64))
    dense ^= safe
    return dense


def _faulty_lanes(state: State, faulty: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if state.active is None:
        return faulty
    lanes = np.zeros(state.shape, np.bool_)
    lanes[state.active] = faulty
    return lanes


def load_words(memory: NDArray[np.uint8], offsets: Addresses, count: int) -> list[Vector32]:
    """`count` consecutive words from each byte offset of `memory`. `offsets` is used up."""
    gathered = [_gathered(memory, offsets, 4 * index, 4) for index in range(count)]
    if gathered[0] is not None:
        return gathered
    if misaligned(offsets):
        return [_join_bytes(memory, offsets + 4 * index) for index in range(count)]
    words = memory.view(np.uint32)
    offsets >>= 2
    return [words[index:].take(offsets) for index in range(count)]


def _gathered(memory: NDArray[np.uint8], offsets: Addresses, distance: int, size: int) -> Any:
    """What `lane_loops.gather` finds `distance` bytes behind each offset, in the shape of the offsets."""
    words = lane_loops.gather(memory, distance, _as_rows(offsets), size=size)
    return None if words is None else words.reshape(offsets.shape)


def _scattered(memory: NDArray[np.uint8], offsets: Addresses, distance: int, value: Vector32, size: int) -> bool:
    """Whether `lane_loops.scatter` has written `value` `distance` bytes behind each offset."""
    places, values = _as_rows(offsets), _as_rows(value)
    shape = np.broadcast(places, values).shape
    return lane_loops.scatter(memory, distance, places, values, shape, size=size)


def _as_rows(values: NDArray[Number]) -> NDArray[Number]:
    return values if values.ndim == 2 else values.reshape(1, -1)


def misaligned(offsets: Addresses) -> bool:
    """Whether any offset is not a multiple of four."""
    return bool(np.bitwise_or.reduce(offsets, axis=None) & 3)


def load_narrow(memory: NDArray[np.uint8], offsets: Addresses, size: int) -> Vector32:
    """One unsigned value of 1 or 2 bytes from each byte offset, zero-extended."""
    gathered: Vector32 | None = _gathered(memory, offsets, 0, size)
    if gathered is not None:
        return gathered
    value = memory.take(offsets).astype(np.uint32)
    if size == 2:
        value |= memory.take(offsets + 1).astype(np.uint32) << np.uint32(8)
    return value


def store_words(memory: NDArray[np.uint8], offsets: Addresses, values: list[Vector32]) -> None:
    """Consecutive words to each byte offset; of two lanes that name one place the higher wins. `offsets` is used up."""
    if all(_scattered(memory, offsets, 4 * index, value, 4) for index, value in enumerate(values)):
        return
    if misaligned(offsets):
        for index, value in enumerate(values):
            _split_bytes(memory, offsets + 4 * index, value, 4)
        return
    words = memory.view(np.uint32)
    offsets >>= 2
    for index, value in enumerate(values):
        words[index:][offsets] = value


def store_narrow(memory: NDArray[np.uint8], offsets: Addresses, value: Vector32, size: int) -> None:
    """The low 1 or 2 bytes of each value."""
    if _scattered(memory, offsets, 0, value, size):
        return
    _split_bytes(memory, offsets, value, size)


def _join_bytes(memory: NDArray[np.uint8], offsets: Addresses) -> Vector32:
    value = memory.take(offsets).astype(np.uint32)
    for index in (1, 2, 3):
        value |= memory.take(offsets + index).astype(np.uint32) << np.uint32(8 * index)
    return value


def _split_bytes(memory: NDArray[np.uint8], offsets: Addresses, value: Vector32, size: int) -> None:
    """Lane after lane: of bytes that several lanes write, the highest one's stays."""
    each = np.arange(size)
    octets = value[..., None] >> (8 * each).astype(np.uint32)
    memory[offsets[..., None] + each] = octets.astype(np.uint8)


def sign_extend(value: Vector32, bits: int) -> Vector32:
    """`value` as a signed number of `bits` bits, in two's complement of 32."""
    shift = np.int32(32 - bits)
    extended: Vector32 = (value.view(np.int32) << shift >> shift).view(np.uint32)
    return extended


def loaded_half(state: State, register: int, value: Vector32, upper: bool, sram_ecc: bool) -> Vector32:
    """What a d16 load leaves in `register`; `CompileContext.sram_ecc` decides what becomes of the other half."""
    if sram_ecc:
        half: Vector32 = value << np.uint32(16) if upper else value & np.uint32(0xFFFF)
        return half
    old = state.read_vgpr(register)
    merged: Vector32 = (
        old & np.uint32(0xFFFF) | value << np.uint32(16)
        if upper
        else old & np.uint32(0xFFFF0000) | value & np.uint32(0xFFFF)
    )
    return merged
