"""SMEM: scalar loads from memory and through buffer descriptors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.faults import FaultKind
from hipgraph_cb.virtual.isa.core.operands import field
from hipgraph_cb.virtual.isa.core.register_limits import scalars
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.state import MASK64, State, uniform
from hipgraph_cb.virtual.isa.memory.memory_access import load_narrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.virtual.isa.core.instruction import Instruction

SIZES = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16}
ADDRESS_BITS = (1 << 48) - 1


def offset_reader(instruction: Instruction) -> Callable[[State], Any]:
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
    offset = offset_reader(instruction)

    def step(state: State) -> None:
        address = state.read_sgpr64(base)
        distance = offset(state)
        if type(address) is int and type(distance) is int:
            load_uniform(state, instruction, (address + distance) & MASK64 & ~3, destination, count)
        else:
            addresses = np.asarray(address, np.uint64).view(np.int64) + distance
            load_per_wave(state, instruction, addresses & ~3, destination, count)

    return step


# bytes of a narrow load, and whether it is extended by its sign
NARROW = {"ubyte": (1, False), "sbyte": (1, True), "ushort": (2, False), "sshort": (2, True)}


@semantics(*(f"s_load_{size}" for size in NARROW))
def _compile_narrow_load(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    size, is_signed = NARROW[instruction.mnemonic.removeprefix("s_load_")]
    base, destination = instruction.fields["sbase"], instruction.fields["sdata"]
    offset = offset_reader(instruction)
    sign = 1 << (8 * size - 1)

    def step(state: State) -> None:
        addresses = np.atleast_2d(np.asarray(state.read_sgpr64(base), np.uint64)).view(np.int64) + offset(state)
        addresses = np.broadcast_to(addresses, (state.waves, 1))
        running = state.running
        if running is not None:
            addresses = np.where(running, addresses, addresses[int(running.argmax()), 0])
        faulty = state.memory.check(addresses, size)
        if faulty is not None:
            raise state.memory_fault(instruction, addresses, size, faulty)
        values = load_narrow(state.memory.u8, addresses - state.memory.base, size)
        if is_signed:
            values = (values ^ np.uint32(sign)) - np.uint32(sign)
        state.write_sgpr(destination, uniform(values))

    return step


@semantics(*(f"s_buffer_load_{size}" for size in SIZES))
def _compile_buffer_load(instruction: Instruction, context: CompileContext) -> Compiled:
    """Words at or past `num_records` bytes (records of `stride` bytes if there is a stride) read as zero."""
    del context
    count = SIZES[instruction.mnemonic.removeprefix("s_buffer_load_")]
    base, destination = scalars(instruction.fields["sbase"], 4), instruction.fields["sdata"]
    offset = offset_reader(instruction)

    def step(state: State) -> None:
        words: Any = [state.read_agreed(base + index) for index in range(3)]
        start = offset(state)
        if isinstance(start, int) and all(isinstance(word, int) for word in words):
            address, inside = _buffer_place(words[0], words[1], words[2], start=start, count=count)
            load_uniform(state, instruction, address, destination, inside)
            for index in range(inside, count):
                state.write_sgpr(destination + index, 0)
        else:
            _load_buffer_per_wave(state, instruction, words, start, destination, count)

    return step


def _buffer_place(low: int, high: int, records: int, *, start: int, count: int) -> tuple[int, int]:
    """The address of the first word, and how many of `count` words are in the buffer's range."""
    stride = high >> 16 & 0x3FFF
    limit = records * stride if stride else records
    address = (low | high << 32) & ADDRESS_BITS
    return (address + start) & ~3, max(0, min(count, (limit - (start & ~3)) // 4))


def _load_buffer_per_wave(
    state: State, instruction: Instruction, words: list[Any], start: Any, destination: int, count: int
) -> None:
    """A load whose descriptor (its first three words) or offset differs between the waves that run."""
    *columns, starts = (
        np.broadcast_to(np.asarray(part, np.int64), (state.waves, 1))[:, 0].tolist() for part in (*words, start)
    )
    running = np.ones((state.waves, 1), np.bool_) if state.running is None else state.running
    values = np.zeros((count, state.waves, 1), np.uint32)
    for wave in np.flatnonzero(running).tolist():
        low, high, records = (column[wave] for column in columns)
        address, inside = _buffer_place(low, high, records, start=starts[wave], count=count)
        if inside:
            values[:inside, wave, 0] = _words_at(state, instruction, address, inside, wave)
    for index in range(count):
        state.write_sgpr(destination + index, uniform(values[index]))


def _words_at(state: State, instruction: Instruction, address: int, count: int, wave: int = 0) -> Any:
    """`count` words of live memory from `address`."""
    memory = state.memory
    if not memory.holds(address, address + 4 * count):
        lanes = np.arange(state.waves).reshape(-1, 1) >= wave
        raise state.fault(
            instruction,
            memory.describe(address, 4 * count),
            kind=FaultKind.ILLEGAL_ADDRESS,
            lanes=lanes,
            addresses=np.array([[address]], np.uint64).view(np.int64),
        )
    index = address - memory.base >> 2
    return memory.u32[index : index + count]


def load_uniform(state: State, instruction: Instruction, address: int, destination: int, count: int) -> None:
    """Load `count` words from one address for all waves that run."""
    if count == 0:
        return
    wave = 0 if state.running is None else int(state.running.argmax())
    state.write_sgprs(destination, _words_at(state, instruction, address, count, wave).tolist())


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
