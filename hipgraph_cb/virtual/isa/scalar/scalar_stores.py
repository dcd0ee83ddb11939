"""SMEM that writes: scalar stores and atomics, to memory or through buffer descriptors.

Each wave acts once; EXEC does not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.faults import FaultKind
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.state import MASK64, State, uniform
from hipgraph_cb.virtual.isa.memory.atomic_operations import INTEGER32, INTEGER64, AtomicOperation, perform
from hipgraph_cb.virtual.isa.scalar.scalar_memory import ADDRESS_BITS, SIZES, offset_reader

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

_STORES = {size: SIZES[size] for size in ("dword", "dwordx2", "dwordx4")}
_INTEGERS = ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec")
_ATOMICS: dict[str, AtomicOperation] = {
    **{name: INTEGER32[name] for name in _INTEGERS},
    **{f"{name}_x2": INTEGER64[name] for name in _INTEGERS},
}
_EVERYWHERE = 1 << 62


class _Places(NamedTuple):
    """For each wave that runs: its number, its address, and how many bytes from there may be written."""

    waves: NDArray[np.int64]
    addresses: NDArray[np.int64]
    room: NDArray[np.int64]


def _column(state: State, waves: NDArray[np.int64], value: Any) -> NDArray[np.int64]:
    """A scalar value of the chosen waves."""
    column: NDArray[np.int64] = np.broadcast_to(np.asarray(value).astype(np.int64), (state.waves, 1))[waves, 0]
    return column


def _running_waves(state: State) -> NDArray[np.int64]:
    return np.arange(state.waves) if state.running is None else np.flatnonzero(state.running)


def _places(state: State, instruction: Instruction, distance: Any) -> _Places:
    base, waves = instruction.fields["sbase"], _running_waves(state)
    if "buffer" not in instruction.mnemonic:
        address = state.read_sgpr64(base)
        start = np.asarray(address, np.uint64).view(np.int64)
        addresses = _column(state, waves, start) + _column(state, waves, distance)
        return _Places(waves, addresses & ~3, np.full(len(waves), _EVERYWHERE))
    low, high, records = (_column(state, waves, state.read_sgpr(base + index)) for index in range(3))
    stride = high >> 16 & 0x3FFF
    offset = _column(state, waves, distance) & ~3
    room = np.where(stride > 0, records * stride, records) - offset
    return _Places(waves, ((low | high << 32) & ADDRESS_BITS) + offset & ~3, room)


def _checked(state: State, instruction: Instruction, places: _Places, size: int) -> _Places:
    """The waves whose range holds `size` bytes.

    Raises:
        DeviceFault: one of them is not in live memory.
    """
    inside = places.room >= size
    waves, addresses = places.waves[inside], places.addresses[inside]
    faulty = state.memory.check(addresses, size) if len(addresses) else None
    if faulty is not None:
        raise _fault(state, instruction, waves[faulty][0], addresses[faulty][0], size)
    return _Places(waves, addresses, places.room[inside])


def _fault(state: State, instruction: Instruction, wave: Any, address: Any, size: int) -> Exception:
    lanes = np.arange(state.waves).reshape(-1, 1) == wave
    description = state.memory.describe(int(address) & MASK64, size)
    where = np.full((1, 1), address, np.int64)
    return state.fault(instruction, description, kind=FaultKind.ILLEGAL_ADDRESS, lanes=lanes, addresses=where)


@semantics(*(f"s_{place}store_{size}" for place in ("", "buffer_") for size in _STORES))
def _compile_store(instruction: Instruction, context: CompileContext) -> Compiled:
    """Consecutive words; of two waves that name one place the later wins."""
    del context
    count, source = _STORES[instruction.mnemonic.rpartition("_")[2]], instruction.fields["sdata"]
    offset = offset_reader(instruction)

    def step(state: State) -> None:
        places = _places(state, instruction, offset(state))
        for index in range(count):
            word = places._replace(addresses=places.addresses + 4 * index, room=places.room - 4 * index)
            word = _checked(state, instruction, word, 4)
            values = _column(state, word.waves, state.read_sgpr(source + index))
            state.memory.u32[word.addresses - state.memory.base >> 2] = values.astype(np.uint32)

    return step


@semantics(*(f"s_{place}atomic_{name}" for place in ("", "buffer_") for name in _ATOMICS))
def _compile_atomic(instruction: Instruction, context: CompileContext) -> Compiled:
    """The old value replaces the operand when the glc bit is set, zero where a buffer's range is left."""
    del context
    operation = _ATOMICS[instruction.mnemonic.partition("atomic_")[2]]
    source, need_old = instruction.fields["sdata"], bool(instruction.fields["glc"])
    width, offset = operation.size // 4, offset_reader(instruction)

    def step(state: State) -> None:
        everyone = _places(state, instruction, offset(state))
        places = _checked(state, instruction, everyone, operation.size)
        _refuse_misaligned(state, instruction, places, operation.size)
        operands = [_operand(state, places.waves, source + width * index, width) for index in range(operation.operands)]
        old = np.zeros((state.waves, 1), f"u{operation.size}")
        if len(places.waves):
            found = perform(state.memory.u8, places.addresses - state.memory.base, operands, operation, need_old)
            if found is not None:
                old[places.waves, 0] = found
        if need_old:
            words = old.view(np.uint32)
            for index in range(width):
                state.write_sgpr(source + index, uniform(np.ascontiguousarray(words[:, index : index + 1])))

    return step


def _operand(state: State, waves: NDArray[np.int64], register: int, width: int) -> NDArray[Any]:
    words = [_column(state, waves, state.read_sgpr(register + index)).astype(np.uint64) for index in range(width)]
    if width == 1:
        return words[0].astype(np.uint32)
    joined: NDArray[Any] = words[0] | words[1] << np.uint64(32)
    return joined


def _refuse_misaligned(state: State, instruction: Instruction, places: _Places, size: int) -> None:
    wrong = np.flatnonzero(places.addresses & (size - 1))
    if len(wrong):
        description = f"an atomic of {size} bytes at an address that is not a multiple of {size}"
        lanes = np.arange(state.waves).reshape(-1, 1) == places.waves[wrong[0]]
        where = np.full((1, 1), places.addresses[wrong[0]], np.int64)
        raise state.fault(instruction, description, kind=FaultKind.ILLEGAL_ADDRESS, lanes=lanes, addresses=where)
