"""MUBUF with a format, which the descriptor names, and MTBUF, whose instructions name it themselves.

The range counts whole elements. A component that the element lacks is 0, or 1 for the fourth; a store must have at
least as many components as the element. MUBUF loads take their components in the order that the descriptor's DST_SEL
fields say, everything else in the order of the element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import State, Vector32
from hipgraph_cb.virtual.isa.memory import texel_formats
from hipgraph_cb.virtual.isa.memory.buffer_memory import Places, buffer_places, in_range, live_offsets
from hipgraph_cb.virtual.isa.memory.global_memory import vector_register
from hipgraph_cb.virtual.isa.memory.memory_access import load_narrow, load_words, loaded_half, store_narrow, store_words

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

_U32 = np.uint32
_COUNTS = {"x": 1, "xy": 2, "xyz": 3, "xyzw": 4}
_NAMES = (*_COUNTS, *(f"d16_{name}" for name in _COUNTS))
_IDENTITY = (4, 5, 6, 7)  # DST_SEL codes: 0 and 1 are constants, 4 to 7 the components


class _Format(NamedTuple):
    data_format: int
    kind: int
    selectors: tuple[int, ...] = _IDENTITY


def _reader(instruction: Instruction, context: CompileContext) -> Callable[[State], _Format]:
    """The format of the elements."""
    if instruction.format == "MTBUF":
        given = _Format(instruction.fields["dfmt"], instruction.fields["nfmt"])
        return lambda state: _known(state, instruction, given)
    register, numbered = instruction.fields["srsrc"] + 3, context.target.buffer_formats

    def read(state: State) -> _Format:
        word = state.read_agreed(register)
        if not isinstance(word, int):
            raise state.fault(instruction, "the format in the buffer descriptor differs between waves")
        selectors = tuple(word >> 3 * index & 7 for index in range(4))
        if numbered is None:
            return _known(state, instruction, _Format(word >> 15 & 15, word >> 12 & 7, selectors))
        return _known(state, instruction, _Format(*numbered.get(word >> 12 & 0x3F, (0, 0)), selectors))

    return read


def _known(state: State, instruction: Instruction, given: _Format) -> _Format:
    if not texel_formats.is_known(given.data_format, given.kind):
        description = f"there is no data format {given.data_format} with number format {given.kind}"
        raise state.fault(instruction, description)
    return given


def _parts(instruction: Instruction) -> tuple[int, bool, bool]:
    """Number of components, whether they are of 16 bits, whether the one goes to (comes from) the upper half."""
    name = instruction.mnemonic.partition("_format_")[2]
    return _COUNTS[name.rpartition("_")[2]], name.startswith("d16"), "_hi_" in name


def _registers(count: int, is_half: bool) -> int:
    return (count + 1) // 2 if is_half else count


def _load_element(state: State, instruction: Instruction, place: Places, size: int) -> list[Vector32]:
    lanes = in_range(state, place, size)
    words = [np.zeros(state.shape, _U32) for _ in range(-(-size // 4))]
    if lanes.any():
        offsets = live_offsets(state, instruction, place.addresses, lanes, size)
        narrow = size < 4
        loaded = [load_narrow(state.memory.u8, offsets, size)] if narrow else None
        for word, value in zip(words, loaded or load_words(state.memory.u8, offsets, size // 4), strict=True):
            word[lanes] = value
    return words


def _selected(components: list[Vector32], selector: int, kind: int) -> Any:
    """The value that a DST_SEL code selects."""
    one = _U32(1) if kind in texel_formats.INTEGERS else np.float32(1).view(_U32)
    if selector < 4:
        return one if selector == 1 else _U32(0)
    if selector - 4 < len(components):
        return components[selector - 4]
    return one if selector == 7 else _U32(0)


def _half(word: Any, kind: int) -> Any:
    """A component as 16 bits: an f16, or the lower half of an integer."""
    if kind in texel_formats.INTEGERS:
        return word & _U32(0xFFFF)
    return np.ascontiguousarray(word).view(np.float32).astype(np.float16).view(np.uint16).astype(_U32)


@semantics(
    *(f"{prefix}_load_format_{name}" for prefix in ("buffer", "tbuffer") for name in _NAMES),
    "buffer_load_format_d16_hi_x",
)
def _compile_load(instruction: Instruction, context: CompileContext) -> Compiled:
    if instruction.fields.get("lds", 0):
        raise UnsupportedInstruction("a formatted transfer to LDS")
    count, is_half, upper = _parts(instruction)
    places, read_format = buffer_places(instruction), _reader(instruction, context)
    destination = vector_register(instruction, "vdata", _registers(count, is_half))

    def step(state: State) -> None:
        data_format, kind, selectors = read_format(state)
        words = _load_element(state, instruction, places(state), texel_formats.size_of(data_format))
        raw = texel_formats.unpack(words, data_format)
        widths = texel_formats.WIDTHS[data_format]
        components = [texel_formats.to_register(part, bits, kind) for part, bits in zip(raw, widths, strict=True)]
        values = [state.full(np.atleast_2d(_selected(components, code, kind))) for code in selectors[:count]]
        if is_half:
            values = [_half(value, kind) for value in values]
        if upper or (is_half and count == 1):
            values = [loaded_half(state, destination, values[0], upper, context.sram_ecc)]
        elif is_half:
            values = [low | high << _U32(16) for low, high in zip(values[::2], [*values[1::2], _U32(0)], strict=False)]
        for index, value in enumerate(values):
            state.write_vgpr(destination + index, value)

    return step


@semantics(
    *(f"{prefix}_store_format_{name}" for prefix in ("buffer", "tbuffer") for name in _NAMES),
    "buffer_store_format_d16_hi_x",
)
def _compile_store(instruction: Instruction, context: CompileContext) -> Compiled:
    count, is_half, upper = _parts(instruction)
    places, read_format = buffer_places(instruction), _reader(instruction, context)
    source = vector_register(instruction, "vdata", _registers(count, is_half))

    def component(state: State, index: int, kind: int) -> Any:
        if not is_half:
            return state.full(state.read_vgpr(source + index))
        word = state.full(state.read_vgpr(source + index // 2))
        half = word >> _U32(16) if upper or index % 2 else word & _U32(0xFFFF)
        if kind == texel_formats.UINT:
            return half
        if kind == texel_formats.SINT:
            return half.astype(np.uint16).view(np.int16).astype(np.int32).view(_U32)
        return half.astype(np.uint16).view(np.float16).astype(np.float32).view(_U32)

    def step(state: State) -> None:
        data_format, kind, _ = read_format(state)
        widths, size = texel_formats.WIDTHS[data_format], texel_formats.size_of(data_format)
        if count < len(widths):
            raise state.fault(instruction, f"a store of {count} components to elements of {len(widths)}")
        place = places(state)
        lanes = in_range(state, place, size)
        if not lanes.any():
            return
        values = [component(state, index, kind)[lanes] for index in range(len(widths))]
        raw = [texel_formats.from_register(value, bits, kind) for value, bits in zip(values, widths, strict=True)]
        words = texel_formats.pack(raw, data_format)
        offsets = live_offsets(state, instruction, place.addresses, lanes, size)
        if size < 4:
            store_narrow(state.memory.u8, offsets, words[0], size)
        else:
            store_words(state.memory.u8, offsets, words)

    return step
