"""MUBUF: loads and stores through a buffer descriptor (CDNA3 ISA, "Buffer addressing").

The descriptor (V#) is four scalar registers: a 48-bit base, a stride, a number of records and flags. What is out of
its range reads as zero and is not written; what is in range must still be in live memory. The range counts bytes, or
records where an index is used with a stride. A word of a wider access is checked by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.lane_mask import any_set
from hipgraph_cb.virtual.isa.core.operands import constant32, scalar_reader
from hipgraph_cb.virtual.isa.core.register_limits import vectors
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import Bits, State, Vector32, uniform
from hipgraph_cb.virtual.isa.memory.global_memory import (
    NARROW_LOADS,
    NARROW_STORES,
    WORDS,
    narrow_result,
    vector_register,
)
from hipgraph_cb.virtual.isa.memory.lds_transfer import store_to_lds
from hipgraph_cb.virtual.isa.memory.linear_access import (
    Linear,
    from_origins,
    load_linear,
    load_masked,
    store_linear,
)
from hipgraph_cb.virtual.isa.memory.memory_access import Addresses, load_narrow, load_words, store_narrow, store_words

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

ADDRESS_MASK = (1 << 48) - 1
SWIZZLE_ENABLE = 1 << 31
ELEMENT_SIZE = 4  # bytes that stay together in a swizzled buffer
ALL_IN_RANGE = np.int64(1 << 40)
RECORDS_AND_STRIDE, RECORDS, NO_RANGE, BYTES = range(4)  # OOB_SELECT


class Descriptor(NamedTuple):
    """The fields of a V#, each an int or int64 [waves, 1].

    `range_kind`: what OOB_SELECT says of its range; None where there is no such field.
    """

    base: Any
    stride: Any
    records: Any
    swizzled: bool
    index_stride: int
    adds_thread_id: bool
    range_kind: int | None


class Places(NamedTuple):
    """Where the lanes access memory: addresses, and how many bytes from there are in the buffer's range."""

    addresses: Addresses
    room: NDArray[np.int64]


def read_descriptor(state: State, instruction: Instruction) -> Descriptor:
    """The V# in four scalar registers; only base, stride and range may differ between waves that run together."""
    register = instruction.fields["srsrc"]
    low, high, records = (_integer(state.read_sgpr(register + index)) for index in range(3))
    flags, words = state.read_agreed(register + 3), state.read_agreed(register + 1)
    swizzled = words & SWIZZLE_ENABLE if isinstance(words, int) else uniform(words & np.uint32(SWIZZLE_ENABLE))
    if not isinstance(flags, int) or not isinstance(swizzled, int):
        raise state.fault(instruction, "the flags of the buffer descriptor differ between waves that run together")
    return Descriptor(
        base=(low | high << 32) & ADDRESS_MASK,
        stride=high >> 16 & 0x3FFF,
        records=records,
        swizzled=bool(swizzled),
        index_stride=8 << (flags >> 21 & 3),
        adds_thread_id=bool(flags >> 23 & 1),
        range_kind=flags >> 28 & 3 if state.placement.target.differences.descriptors_choose_range else None,
    )


def _integer(value: int | NDArray[np.uint32]) -> Any:
    return value if isinstance(value, int) else value.astype(np.int64)


def buffer_places(instruction: Instruction) -> Callable[[State], Places]:
    """Reads descriptor, index and offset; `vaddr` holds the index first where both are used."""
    fields = instruction.fields
    vaddr, immediate = fields["vaddr"], fields["offset"]
    uses_index, uses_offset = bool(fields["idxen"]), bool(fields["offen"])
    vectors(vaddr, max(1, uses_index + uses_offset))
    scalar_offset = scalar_reader(fields["soffset"], instruction.literal)

    def locate(state: State) -> Places:
        descriptor = read_descriptor(state, instruction)
        index: Any = state.read_vgpr(vaddr).astype(np.int64) if uses_index else 0
        if descriptor.adds_thread_id:
            index = index + np.arange(state.lanes, dtype=np.int64).reshape(1, -1)
        offset: Any = immediate
        if uses_offset:
            offset = state.read_vgpr(vaddr + uses_index).astype(np.int64) + immediate
        moved = _integer(scalar_offset(state))
        distance = _distance(descriptor, index, offset)
        has_index = uses_index or descriptor.adds_thread_id
        room = _room(descriptor, index if has_index else None, offset, moved + distance)
        addresses = np.asarray(descriptor.base + moved + distance, np.int64)
        return Places(np.array(state.full(np.atleast_2d(addresses)), order="C"), state.full(np.atleast_2d(room)))

    return locate


def _room(descriptor: Descriptor, index: Any, offset: Any, distance: Any) -> NDArray[np.int64]:
    """How many bytes from the place on are in range; `index` is None where none is used.

    Without OOB_SELECT the range counts records where an index is used with a stride, else bytes. The field says it
    itself, and may also keep an access within its record (RDNA3 ISA, "Range checking").
    """
    rule, stays_in_record = descriptor.range_kind, False
    if rule is None:
        rule = RECORDS if index is not None and np.any(descriptor.stride) else BYTES
    elif rule == RECORDS_AND_STRIDE or (rule == BYTES and descriptor.swizzled and np.any(descriptor.stride)):
        rule, stays_in_record = RECORDS, True
    if rule == BYTES:
        return np.asarray(descriptor.records - distance, np.int64)
    if rule == NO_RANGE:
        return np.where(np.asarray(descriptor.records) > 0, ALL_IN_RANGE, 0)
    inside = np.asarray(descriptor.stride - offset, np.int64) if stays_in_record else ALL_IN_RANGE
    return np.where(np.asarray(0 if index is None else index) < descriptor.records, inside, 0)


def _distance(descriptor: Descriptor, index: Any, offset: Any) -> Any:
    """Bytes from the base: linear, or interleaved in groups of `index_stride` records when swizzled."""
    if not descriptor.swizzled:
        return index * descriptor.stride + offset
    group, member = index // descriptor.index_stride, index % descriptor.index_stride
    element, rest = offset // ELEMENT_SIZE, offset % ELEMENT_SIZE
    rows = (group * descriptor.stride + element * ELEMENT_SIZE) * descriptor.index_stride
    return rows + member * ELEMENT_SIZE + rest


class LinearRange(NamedTuple):
    """An access without index or swizzle: where, and the register and the size of the range that it is checked with.

    The register plus the bytes of the access must not exceed the size.
    """

    place: Linear
    offset: Vector32
    room: int


def _linear_range(instruction: Instruction) -> Callable[[State], LinearRange | None]:
    """The usual access, through an offset register; None when it is of another kind."""
    fields = instruction.fields
    vaddr, immediate = fields["vaddr"], fields["offset"]
    scalar_offset = scalar_reader(fields["soffset"], instruction.literal)
    if fields["idxen"] or not fields["offen"]:
        return lambda state: None

    def locate(state: State) -> LinearRange | None:
        descriptor = read_descriptor(state, instruction)
        moved = scalar_offset(state)
        if descriptor.swizzled or descriptor.adds_thread_id or type(moved) is not int:
            return None
        if descriptor.range_kind not in (None, BYTES):
            return None
        distance, offset = moved + immediate, state.read_vgpr(vaddr)
        if type(descriptor.records) is not int:
            return None
        origin = descriptor.base + (distance - state.memory.base)
        place = Linear(origin, offset, 0) if type(origin) is int else from_origins(state, origin, offset)
        return None if place is None else LinearRange(place, offset, descriptor.records - distance)

    return locate


def _lanes_within(state: State, given: LinearRange, count: int) -> Bits | Literal[True] | None:
    """The active lanes that have all of `count` words in range, [waves, 64]; True for every lane of every wave.

    None when some lane has a part of its words in range.
    """
    offset, limit = given.offset, given.room - 4 * count
    if int(offset.max()) <= limit:
        return True if state.active is None else state.active
    inside = offset <= limit
    if count > 1 and not np.array_equal(inside, offset <= given.room - 4):
        return None
    lanes: Bits = state.full(inside)
    return lanes if state.active is None else lanes & state.active


def _load_linear(state: State, given: LinearRange, count: int) -> list[Vector32] | None:
    """Words of all lanes, zero where they are out of range; None where this is not the way."""
    lanes = _lanes_within(state, given, count)
    if lanes is None:
        return None
    if lanes is True:
        return load_linear(state, given.place, count)
    if not any_set(lanes):
        return [constant32(0)] * count
    return load_masked(state, given.place, count, lanes)


def _store_linear(state: State, given: LinearRange, words: list[Vector32]) -> bool:
    """Store the words of the lanes in range; False where this is not the way."""
    lanes = _lanes_within(state, given, len(words))
    if lanes is None:
        return False
    if lanes is True or lanes is state.active:
        return store_linear(state, given.place, words)
    with state.narrowed(lanes):
        return store_linear(state, given.place, words)


def live_offsets(
    state: State, instruction: Instruction, addresses: Addresses, lanes: NDArray[np.bool_], size: int
) -> Addresses:
    """Arena offsets of the chosen lanes.

    Raises:
        DeviceFault: one of them is in the buffer's range, but not in live memory.
    """
    selected = addresses[lanes]
    faulty = state.memory.check(selected, size)
    if faulty is not None:
        where = np.zeros(state.shape, np.bool_)
        where[lanes] = faulty
        raise state.memory_fault(instruction, addresses, size, where)
    return selected - state.memory.base


def in_range(state: State, places: Places, end: int) -> NDArray[np.bool_]:
    """The active lanes whose range holds `end` bytes from their place."""
    lanes: NDArray[np.bool_] = (places.room >= end) & state.active_bits()
    return lanes


@semantics(*(f"buffer_load_{size}" for size in WORDS))
def _compile_load(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("buffer_load_")]
    places, destination = buffer_places(instruction), vector_register(instruction, "vdata", count)
    if instruction.fields["lds"]:
        return _lds_step(instruction, count)

    linear = _linear_range(instruction)

    def step(state: State) -> None:
        given = linear(state)
        loaded = None if given is None else _load_linear(state, given, count)
        if loaded is not None:
            for index, word in enumerate(loaded):
                state.write_vgpr(destination + index, word)
            return
        place = places(state)
        loaded = [_load_word(state, instruction, place, index) for index in range(count)]
        for index, word in enumerate(loaded):
            state.write_vgpr(destination + index, word)

    return step


def _load_word(state: State, instruction: Instruction, place: Places, index: int) -> Vector32:
    lanes = in_range(state, place, 4 * index + 4)
    word = np.zeros(state.shape, np.uint32)
    if any_set(lanes):
        offsets = live_offsets(state, instruction, place.addresses + 4 * index, lanes, 4)
        word[lanes] = load_words(state.memory.u8, offsets, 1)[0]
    return word


def _lds_step(instruction: Instruction, count: int) -> Compiled:
    """A load that goes to LDS, lanes that are out of range writing zero there."""
    if count != 1:
        raise UnsupportedInstruction("a transfer to LDS of more than a word")
    places = buffer_places(instruction)
    return lambda state: store_to_lds(state, instruction, _load_word(state, instruction, places(state), 0))


@semantics(*(f"buffer_store_{size}" for size in WORDS))
def _compile_store(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    count = WORDS[instruction.mnemonic.removeprefix("buffer_store_")]
    places, source = buffer_places(instruction), vector_register(instruction, "vdata", count)
    linear = _linear_range(instruction)

    def step(state: State) -> None:
        given = linear(state)
        if given is not None and _store_linear(state, given, [state.read_vgpr(source + n) for n in range(count)]):
            return
        place = places(state)
        for index in range(count):
            lanes = in_range(state, place, 4 * index + 4)
            if any_set(lanes):
                offsets = live_offsets(state, instruction, place.addresses + 4 * index, lanes, 4)
                store_words(state.memory.u8, offsets, [_chosen(state, source + index, lanes)])

    return step


def _chosen(state: State, register: int, lanes: NDArray[np.bool_]) -> Vector32:
    value: Vector32 = state.full(state.read_vgpr(register))[lanes]
    return value


@semantics(*(f"buffer_load_{size}" for size in NARROW_LOADS))
def _compile_narrow_load(instruction: Instruction, context: CompileContext) -> Compiled:
    form = NARROW_LOADS[instruction.mnemonic.removeprefix("buffer_load_")].on(context)
    places, destination = buffer_places(instruction), vector_register(instruction, "vdata")
    to_lds = bool(instruction.fields["lds"])
    if to_lds and form.half:
        raise UnsupportedInstruction("a transfer to LDS of half a register")

    def step(state: State) -> None:
        place = places(state)
        lanes = in_range(state, place, form.size)
        value = np.zeros(state.shape, np.uint32)
        if any_set(lanes):
            offsets = live_offsets(state, instruction, place.addresses, lanes, form.size)
            value[lanes] = load_narrow(state.memory.u8, offsets, form.size)
        result = narrow_result(state, destination, value, form)
        if to_lds:
            store_to_lds(state, instruction, result)
        else:
            state.write_vgpr(destination, result)

    return step


@semantics(*(f"buffer_store_{size}" for size in NARROW_STORES))
def _compile_narrow_store(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    form = NARROW_STORES[instruction.mnemonic.removeprefix("buffer_store_")]
    places, source = buffer_places(instruction), vector_register(instruction, "vdata")

    def step(state: State) -> None:
        place = places(state)
        lanes = in_range(state, place, form.size)
        if any_set(lanes):
            offsets = live_offsets(state, instruction, place.addresses, lanes, form.size)
            value = _chosen(state, source, lanes)
            store_narrow(state.memory.u8, offsets, value >> np.uint32(16) if form.half else value, form.size)

    return step


@semantics("buffer_wbl2", "buffer_inv", "buffer_gl0_inv", "buffer_gl1_inv", "global_inv", "global_wb", "global_wbinv")
def _compile_cache_operation(instruction: Instruction, context: CompileContext) -> Compiled:
    """Writing back and invalidating caches, of which there are none."""
    return None
