"""A lane's private memory: `State.scratch`, where word n of all lanes is side by side.

So a byte address is a word number and a place in that word, and an access that is not aligned goes byte by byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.faults import FaultKind
from hipgraph_cb.virtual.isa.core.state import State, Vector32
from hipgraph_cb.virtual.isa.memory.memory_access import Addresses, active_only, misaligned, spread

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction


def refuse_outside(state: State, instruction: Instruction, addresses: Addresses, size: int) -> None:
    """Check that `size` bytes at the private addresses of the active lanes exist.

    Raises:
        DeviceFault: an active lane leaves its private memory.
    """
    selected = active_only(state, addresses)
    if not selected.size or (int(selected.min()) >= 0 and int(selected.max()) + size <= state.scratch_size):
        return
    outside = state.full((addresses < 0) | (addresses + size > state.scratch_size)) & state.active_bits()
    first = int(state.full(addresses)[outside].flat[0])
    description = f"{size} bytes at scratch address {first:#x}, outside the lane's {state.scratch_size} bytes"
    raise state.fault(
        instruction, description, kind=FaultKind.ILLEGAL_ADDRESS, lanes=outside, addresses=np.asarray(addresses)
    )


def load_private_words(
    state: State, instruction: Instruction, addresses: Addresses, count: int
) -> list[Vector32] | None:
    """`count` consecutive words of each lane; None when no lane is active."""
    refuse_outside(state, instruction, addresses, 4 * count)
    if addresses.size == 1 and not int(addresses.flat[0]) & 3:
        first = int(addresses.flat[0]) >> 2
        return [state.scratch[first + index].copy() for index in range(count)] if _any_active(state) else None
    selected = _active_addresses(state, addresses)
    if not selected.size:
        return None
    if misaligned(selected):
        return [spread(state, _shaped(state, _bytes(state, selected + 4 * word, 4))) for word in range(count)]
    words, places = state.scratch.reshape(-1), _word_places(state, selected)
    step = state.waves * state.lanes
    return [spread(state, _shaped(state, words.take(places + step * index))) for index in range(count)]


def load_private_narrow(state: State, instruction: Instruction, addresses: Addresses, size: int) -> Vector32 | None:
    """One unsigned value of 1 or 2 bytes of each lane; None when no lane is active."""
    refuse_outside(state, instruction, addresses, size)
    selected = _active_addresses(state, addresses)
    return spread(state, _shaped(state, _bytes(state, selected, size))) if selected.size else None


def store_private_words(state: State, instruction: Instruction, addresses: Addresses, values: list[Vector32]) -> None:
    """Consecutive words of each lane."""
    refuse_outside(state, instruction, addresses, 4 * len(values))
    if addresses.size == 1 and not int(addresses.flat[0]) & 3:
        first = int(addresses.flat[0]) >> 2
        for index, value in enumerate(values if _any_active(state) else ()):
            np.copyto(state.scratch[first + index], value, where=True if state.active is None else state.active)
        return
    selected = _active_addresses(state, addresses)
    if not selected.size:
        return
    chosen = [_active_values(state, value) for value in values]
    if misaligned(selected):
        for index, value in enumerate(chosen):
            _store_bytes(state, selected + 4 * index, value, 4)
        return
    words, places = state.scratch.reshape(-1), _word_places(state, selected)
    for index, value in enumerate(chosen):
        words[places + state.waves * state.lanes * index] = value


def store_private_narrow(
    state: State, instruction: Instruction, addresses: Addresses, value: Vector32, size: int
) -> None:
    """The low 1 or 2 bytes of each lane's value."""
    refuse_outside(state, instruction, addresses, size)
    selected = _active_addresses(state, addresses)
    if selected.size:
        _store_bytes(state, selected, _active_values(state, value), size)


def _any_active(state: State) -> bool:
    return state.active is None or bool(state.active.any())


def _active_addresses(state: State, addresses: Addresses) -> Addresses:
    """The addresses of the active lanes, one-dimensional."""
    return np.asarray(active_only(state, state.full(addresses))).reshape(-1)


def _active_values(state: State, values: Vector32) -> Vector32:
    return np.asarray(active_only(state, state.full(values))).reshape(-1)


def _active_numbers(state: State) -> NDArray[Any]:
    return np.arange(state.waves * state.lanes) if state.active is None else state.active_lanes


def _shaped(state: State, values: Vector32) -> Vector32:
    """One-dimensional values of all lanes as [waves, lanes]; those of the active lanes only are left as they are."""
    return values.reshape(state.shape) if state.active is None else values


def _word_places(state: State, selected: Addresses) -> Addresses:
    places: Addresses = (selected >> 2) * (state.waves * state.lanes) + _active_numbers(state)
    return places


def _byte_places(state: State, selected: Addresses) -> Addresses:
    places: Addresses = (_word_places(state, selected) << 2) + (selected & 3)
    return places


def _bytes(state: State, selected: Addresses, size: int) -> Vector32:
    memory = state.scratch.reshape(-1).view(np.uint8)
    value = np.zeros(selected.shape, np.uint32)
    for index in range(size):
        value |= memory.take(_byte_places(state, selected + index)).astype(np.uint32) << np.uint32(8 * index)
    return value


def _store_bytes(state: State, selected: Addresses, value: Vector32, size: int) -> None:
    memory = state.scratch.reshape(-1).view(np.uint8)
    for index in range(size):
        memory[_byte_places(state, selected + index)] = (value >> np.uint32(8 * index)).astype(np.uint8)
