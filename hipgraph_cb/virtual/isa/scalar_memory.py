"""SMEM: scalar loads from memory and through buffer descriptors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.faults import FaultKind
from hipgraph_cb.virtual.isa.operands import field
from hipgraph_cb.virtual.isa.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.state import State, uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.virtual.isa.instruction import Instruction

SIZES = {"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16}
ADDRESS_BITS = (1 << 48) - 1


def _offset_reader(instruction: Instruction) -> Callable[[State], Any]:
    """The byte offset: an immediate, M0 or an SGPR, or an SGPR plus an immediate."""
    immediate = field(instruction, "offset") if field(instruction, "imm") else 0
    if field(instruction, "soffset_en"):
        register = instruction.fields["soffset"]
    elif not field(instruction, "imm"):
        register = instruction.fields["offset"] & 0x7F
    else:
        return lambda state: immediate

    def read(state: State) -> Any:
        value = state.read_sgpr(register)
        return (value if isinstance(value, int) else value.astype(np.int64)) + immediate

    return read


@semantics(*(f"s_load_{size}" for size in SIZES))
def _compile_load(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = SIZES[instruction.mnemonic.removeprefix("s_load_")]
    base, destination = instruction.fields["sbase"], instruction.fields["sdata"]
    offset = _offset_reader(instruction)

    def step(state: State) -> None:
        address = state.read_sgpr64(base)
        distance = offset(state)
        if isinstance(address, int) and isinstance(distance, int):
            load_uniform(state, instruction, (address + distance) & ~3, destination, count)
        else:
            addresses = np.asarray(address, np.uint64).view(np.int64) + distance
            load_per_wave(state, instruction, addresses & ~3, destination, count)

    return step


@semantics(*(f"s_buffer_load_{size}" for size in SIZES))
def _compile_buffer_load(instruction: Instruction, context: CompileContext) -> Compiled:
    """Words at or past `num_records` bytes (records of `stride` bytes if there is a stride) read as zero."""
    del context
    count = SIZES[instruction.mnemonic.removeprefix("s_buffer_load_")]
    base, destination = instruction.fields["sbase"], instruction.fields["sdata"]
    offset = _offset_reader(instruction)

    def step(state: State) -> None:
        words: Any = [state.read_sgpr(base + index) for index in range(4)]
        start = offset(state)
        if not isinstance(start, int) or not all(isinstance(word, int) for word in words):
            raise state.fault(instruction, "the buffer descriptor or offset differs between waves that run together")
        address = (words[0] | words[1] << 32) & ADDRESS_BITS
        stride = words[1] >> 16 & 0x3FFF
        limit = words[2] * stride if stride else words[2]
        inside = max(0, min(count, (limit - (start & ~3)) // 4))
        load_uniform(state, instruction, (address + start) & ~3, destination, inside)
        for index in range(inside, count):
            state.write_sgpr(destination + index, 0)

    return step


def load_uniform(state: State, instruction: Instruction, address: int, destination: int, count: int) -> None:
    """Load `count` words from one address for all waves that run."""
    memory = state.memory
    allocation = memory.find(address)
    if count == 0:
        return
    if allocation is None or address + 4 * count > allocation.end:
        raise state.fault(
            instruction,
            memory.describe(address, 4 * count),
            kind=FaultKind.ILLEGAL_ADDRESS,
            addresses=np.array([[address]], np.int64),
        )
    index = address - memory.base >> 2
    for position, word in enumerate(memory.u32[index : index + count].tolist()):
        state.write_sgpr(destination + position, word)


def load_per_wave(
    state: State, instruction: Instruction, addresses: NDArray[np.int64], destination: int, count: int
) -> None:
    """Load `count` words for each wave that runs, from `addresses` [waves, 1]."""
    memory, running = state.memory, state.running
    addresses = np.broadcast_to(addresses, (state.waves, 1))
    if running is not None:
        addresses = np.where(running, addresses, addresses[int(running.argmax()), 0])
    faulty = memory.check(addresses, 4 * count)
    if faulty is not None:
        raise state.memory_fault(instruction, addresses, 4 * count, faulty)
    index = addresses - memory.base >> 2
    for position in range(count):
        state.write_sgpr(destination + position, uniform(memory.u32[index + position]))
