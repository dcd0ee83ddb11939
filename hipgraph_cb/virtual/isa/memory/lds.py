"""DS reads and writes of local memory (CDNA3 ISA, "Data share instructions").

Each workgroup has a row of its own in `State.lds`; lds_range.py says what happens outside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core import lane_loops
from hipgraph_cb.virtual.isa.core.lds_range import access_lds
from hipgraph_cb.virtual.isa.core.pattern import Pattern, find
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.state import State, Vector32
from hipgraph_cb.virtual.isa.memory.global_memory import (
    Narrow,
    narrow_result,
    vector_register,
)
from hipgraph_cb.virtual.isa.memory.memory_access import (
    Addresses,
    active_only,
    dense_addresses,
    is_sparse,
    load_narrow,
    load_words,
    misaligned,
    store_narrow,
    store_words,
)

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

WORDS = {"b32": 1, "b64": 2, "b96": 3, "b128": 4}
# The two-address forms: words of an access, bytes of one step of an offset field.
PAIRS = {"2_b32": (1, 4), "2_b64": (2, 8), "2st64_b32": (1, 256), "2st64_b64": (2, 512)}
NARROW_READS = {
    "u8": Narrow(1),
    "i8": Narrow(1, signed=True),
    "u16": Narrow(2),
    "i16": Narrow(2, signed=True),
    "u8_d16": Narrow(1, half="low"),
    "u8_d16_hi": Narrow(1, half="high"),
    "i8_d16": Narrow(1, signed=True, half="low"),
    "i8_d16_hi": Narrow(1, signed=True, half="high"),
    "u16_d16": Narrow(2, half="low"),
    "u16_d16_hi": Narrow(2, half="high"),
}
NARROW_WRITES = {
    "b8": Narrow(1),
    "b8_d16_hi": Narrow(1, half="high"),
    "b16": Narrow(2),
    "b16_d16_hi": Narrow(2, half="high"),
}


@dataclass
class WordPlaces:
    """Words of LDS that the lanes address.

    Attributes:
        largest: the largest byte address, -1 when some are misaligned.
        indices: word indices into the rows of all workgroups.
        pattern: of the indices, once they are used for the second time.
    """

    largest: int
    indices: Addresses
    pattern: Pattern | None
    was_met_again: bool = False


def whole_offset(instruction: Instruction) -> int:
    """The 16-bit byte offset of the one-address forms: offset1 holds its upper half."""
    return instruction.fields["offset0"] | instruction.fields["offset1"] << 8


def lds_read(state: State, instruction: Instruction, register: int, offset: int, count: int) -> list[Vector32]:
    """`count` words at the address in `register` plus `offset`; an empty list when no lane is active."""
    address = state.read_vgpr(register)
    if state.active is not None or _is_met_first(state, address):
        gathered = _gathered(state, address, offset, count)
        if gathered is not None:
            return gathered
    if offset & 3 or state.lds_size & 3 or is_sparse(state):
        return load_words_from_lds(state, instruction, address, offset, count)
    if state.active is not None:
        dense = dense_addresses(state, address.astype(np.int64))
        if dense is None:
            return []
        place = WordPlaces(-1 if misaligned(dense) else int(dense.max()), dense + state.lds_rows >> 2, None)
    else:
        place = word_places(state, address)
    if place.largest < 0 or place.largest + offset + 4 * count > state.lds_size:
        return load_words_from_lds(state, instruction, address, offset, count)
    memory = state.lds.reshape(-1)
    if place.pattern is not None:
        loaded = (place.pattern.load(memory, offset + 4 * position, 4) for position in range(count))
        return [words.reshape(state.shape) for words in loaded]
    words = memory.view(np.uint32)[offset >> 2 :]
    return [words[position:].take(place.indices, mode="wrap") for position in range(count)]


def _gathered(state: State, address: Vector32, offset: int, count: int) -> list[Vector32] | None:
    """Words of the active lanes by machine code; None where one of them is outside, or there is no such code."""
    memory, bounds = state.lds.reshape(-1), (4 * count, 0, state.lds_size)
    return lane_loops.gather_words(
        memory, offset, address, count, rows=state.lds_rows, lanes=state.active, bounds=bounds
    )


def _is_met_first(state: State, address: Vector32) -> bool:
    """Whether machine code should read at an address: finding out where it leads pays when it is used again."""
    found = state.lds_places.get(id(address))
    if lane_loops.LOOPS is None or (found is not None and found[0] is address):
        return False
    _remember(state, address, None)
    return True


def word_places(state: State, address: Vector32) -> WordPlaces:
    """Where the lanes find the words at `address`, all lanes being active.

    One address register usually serves several accesses with different offsets, so what was found out is kept.
    """
    found = state.lds_places.get(id(address))
    is_known = found is not None and found[0] is address
    place = found[1] if found is not None and is_known else None
    if place is None:
        wide = address.astype(np.int64)
        place = WordPlaces(-1 if misaligned(wide) else int(wide.max()), wide + state.lds_rows >> 2, None)
        _remember(state, address, place)
    if is_known and not place.was_met_again:
        place.was_met_again = True
        place.pattern = find(place.indices) if place.indices.shape == state.shape else None
    return place


def _remember(state: State, address: Vector32, place: WordPlaces | None) -> None:
    if len(state.lds_places) >= 8:
        state.lds_places.clear()
    state.lds_places[id(address)] = (address, place)  # the array too, so that its id stays taken


def load_words_from_lds(
    state: State, instruction: Instruction, address: NDArray[Any], offset: int, count: int
) -> list[Vector32]:
    """`count` words of the active lanes, 0 outside their workgroup's LDS; an empty list when no lane is active."""

    def load(memory: NDArray[np.uint8], offsets: Addresses) -> list[Vector32]:
        return load_words(memory, offsets, count)

    return access_lds(state, instruction, address, offset, 4 * count, load)


@semantics(*(f"ds_read_{size}" for size in WORDS))
def _compile_read(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("ds_read_")]
    address, offset = instruction.fields["addr"], whole_offset(instruction)
    destination = vector_register(instruction, "vdst", count)

    def step(state: State) -> None:
        for index, value in enumerate(lds_read(state, instruction, address, offset, count)):
            state.write_vgpr(destination + index, value)

    return step


@semantics(*(f"ds_read{form}" for form in PAIRS))
def _compile_read_pair(instruction: Instruction, context: CompileContext) -> Compiled:
    """Both values are read before either register is written, since the address may be one of them."""
    del context
    count, unit = PAIRS[instruction.mnemonic.removeprefix("ds_read")]
    address, destination = instruction.fields["addr"], vector_register(instruction, "vdst", 2 * count)
    distances = [unit * instruction.fields[name] for name in ("offset0", "offset1")]

    def step(state: State) -> None:
        loaded: list[Vector32] = []
        for distance in distances:
            loaded += lds_read(state, instruction, address, distance, count)
        for index, value in enumerate(loaded):
            state.write_vgpr(destination + index, value)

    return step


@semantics(*(f"ds_write_{size}" for size in WORDS))
def _compile_write(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("ds_write_")]
    return _write_step(instruction, [("data0", whole_offset(instruction))], count)


@semantics(*(f"ds_write{form}" for form in PAIRS))
def _compile_write_pair(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count, unit = PAIRS[instruction.mnemonic.removeprefix("ds_write")]
    places = [(f"data{index}", unit * instruction.fields[f"offset{index}"]) for index in (0, 1)]
    return _write_step(instruction, places, count)


def _write_step(instruction: Instruction, places: list[tuple[str, int]], count: int) -> Compiled:
    """Write `count` words from the register field of each place to its byte distance from the address."""
    address = instruction.fields["addr"]
    sources = [(vector_register(instruction, name, count), distance) for name, distance in places]

    def step(state: State) -> None:
        for source, distance in sources:
            words = [state.read_vgpr(source + index) for index in range(count)]
            if state.active is None:
                if _write_words(state, state.read_vgpr(address), distance, words):
                    continue
            elif _scattered(state, state.read_vgpr(address), distance, words):
                continue
            store_to_lds_at(state, instruction, state.read_vgpr(address), distance, words)

    return step


def store_to_lds_at(
    state: State, instruction: Instruction, address: NDArray[Any], offset: int, words: list[Vector32]
) -> None:
    """Write consecutive words of the active lanes that are inside their workgroup's LDS."""

    def store(memory: NDArray[np.uint8], offsets: Addresses) -> tuple[()]:
        store_words(memory, offsets, [active_only(state, state.full(word)) for word in words])
        return ()

    access_lds(state, instruction, address, offset, 4 * len(words), store)


def _scattered(state: State, address: Vector32, offset: int, values: list[Vector32]) -> bool:
    """Write words of the active lanes; False, and nothing written, where that takes the general way."""
    memory, bounds = state.lds.reshape(-1), (4 * len(values), 0, state.lds_size)
    return lane_loops.scatter_words(
        memory, offset, address, values, state.shape, rows=state.lds_rows, lanes=state.active, bounds=bounds
    )


def _write_words(state: State, address: Vector32, offset: int, values: list[Vector32]) -> bool:
    """Write words of all lanes, as `store_words` does it; False where that takes the general way."""
    if offset & 3 or state.lds_size & 3:
        return False
    place = word_places(state, address)
    if place.largest < 0 or place.largest + offset + 4 * len(values) > state.lds_size:
        return False
    memory, pattern = state.lds.reshape(-1), place.pattern
    for position, value in enumerate(values, offset >> 2):
        if pattern is not None and pattern.is_injective:
            pattern.view(memory, 4 * position, 4)[...] = state.full(value).reshape(pattern.sizes)
        else:
            # A value that all lanes of a wave write to one place is written once.
            shape = np.broadcast(place.indices, value).shape
            memory.view(np.uint32)[position:][np.broadcast_to(place.indices, shape)] = value
    return True


@semantics(*(f"ds_read_{size}" for size in NARROW_READS))
def _compile_narrow_read(instruction: Instruction, context: CompileContext) -> Compiled:
    form = NARROW_READS[instruction.mnemonic.removeprefix("ds_read_")].on(context)
    address, offset = instruction.fields["addr"], whole_offset(instruction)
    destination = vector_register(instruction, "vdst")

    def step(state: State) -> None:
        memory, places, bounds = state.lds.reshape(-1), state.read_vgpr(address), (form.size, 0, state.lds_size)
        value = lane_loops.gather(
            memory, offset, places, size=form.size, rows=state.lds_rows, lanes=state.active, bounds=bounds
        )
        loaded = [value] if value is not None else load_narrow_from_lds(state, instruction, places, offset, form)
        for value in loaded:
            state.write_vgpr(destination, narrow_result(state, destination, value, form))

    return step


@semantics(*(f"ds_write_{size}" for size in NARROW_WRITES))
def _compile_narrow_write(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    form = NARROW_WRITES[instruction.mnemonic.removeprefix("ds_write_")]
    address, offset = instruction.fields["addr"], whole_offset(instruction)
    source = vector_register(instruction, "data0")

    def step(state: State) -> None:
        value = state.read_vgpr(source)
        value = value >> np.uint32(16) if form.half else value
        store_narrow_to_lds(state, instruction, state.read_vgpr(address), offset, value, form.size)

    return step


def load_narrow_from_lds(
    state: State, instruction: Instruction, address: NDArray[Any], offset: int, form: Narrow
) -> list[Vector32]:
    """The bytes of each active lane, zero-extended; an empty list when no lane is active."""

    def load(memory: NDArray[np.uint8], offsets: Addresses) -> list[Vector32]:
        return [load_narrow(memory, offsets, form.size)]

    return access_lds(state, instruction, address, offset, form.size, load)


def store_narrow_to_lds(
    state: State, instruction: Instruction, address: NDArray[Any], offset: int, value: Vector32, size: int
) -> None:
    """Write the low bytes of the active lanes that are inside their workgroup's LDS."""

    def store(memory: NDArray[np.uint8], offsets: Addresses) -> tuple[()]:
        store_narrow(memory, offsets, active_only(state, state.full(value)), size)
        return ()

    access_lds(state, instruction, address, offset, size, store)
