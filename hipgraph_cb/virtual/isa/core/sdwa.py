"""SDWA: a byte or a half of a source register, and a byte or a half of the destination."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.operands import Reader, typed, vector_reader32, width_of
from hipgraph_cb.virtual.isa.core.registry import UnsupportedInstruction

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import State

VGPR_BASE = 256
# selector -> (shift, bits)
SELECTORS = {0: (0, 8), 1: (8, 8), 2: (16, 8), 3: (24, 8), 4: (0, 16), 5: (16, 16), 6: (0, 32)}
PAD, SIGN_EXTEND, PRESERVE = 0, 1, 2


def _fields(instruction: Instruction) -> dict[str, int]:
    if instruction.sdwa is None:
        raise UnsupportedInstruction("an SDWA source without an SDWA word")
    return dict(instruction.sdwa)


def source(instruction: Instruction, index: int, kind: str, code: int) -> Reader:
    """A reader of source `index` (0 or 1): selected, extended, then negated or made absolute."""
    fields = _fields(instruction)
    if width_of(kind) == 64:
        raise UnsupportedInstruction("SDWA on a 64-bit operand")
    register = fields["src0"] if index == 0 else code - VGPR_BASE
    scalar = bool(fields.get(f"s{index}", 0))
    read = vector_reader32(register if scalar else register + VGPR_BASE, None, kind)
    selected = _select(read, fields[f"src{index}_sel"], bool(fields.get(f"src{index}_sext", 0)))
    negate, absolute = bool(fields.get(f"src{index}_neg", 0)), bool(fields.get(f"src{index}_abs", 0))
    if (negate or absolute) and kind[0] not in "fb":
        raise UnsupportedInstruction("a sign modifier on an integer operand")
    return typed(selected, kind, negate=negate, absolute=absolute)


def _selected_part(selector: int) -> tuple[int, int]:
    if selector not in SELECTORS:
        raise UnsupportedInstruction(f"SDWA selector {selector}")
    return SELECTORS[selector]


def _select(read: Reader, selector: int, sign_extend: bool) -> Callable[[State], NDArray[np.uint32]]:
    shift, bits = _selected_part(selector)
    if bits == 32:
        return read
    up, down = np.uint32(32 - bits - shift), np.uint32(32 - bits)
    if sign_extend:
        return lambda state: ((read(state) << up).view(np.int32) >> down.astype(np.int32)).view(np.uint32)
    return lambda state: (read(state) << up) >> down


def writer(instruction: Instruction, kind: str, register: int) -> Callable[[State, NDArray[Any]], None]:
    """Stores a result in the selected part; the rest is zero, the sign, or what was there."""
    fields = _fields(instruction)
    shift, bits = _selected_part(fields["dst_sel"])
    unused = fields["dst_unused"]
    if unused > PRESERVE:
        raise UnsupportedInstruction(f"SDWA dst_unused {unused}")
    width = width_of(kind)
    if width == 64:
        raise UnsupportedInstruction("SDWA on a 64-bit operand")
    mask = np.uint32((1 << bits) - 1)
    hole = np.uint32(0xFFFFFFFF ^ int(mask) << shift)

    def write(state: State, value: NDArray[Any]) -> None:
        word = value.view(np.uint16).astype(np.uint32) if width == 16 else value.view(np.uint32)
        if bits == 32:
            state.write_vgpr(register, word)
            return
        placed = (word & mask) << np.uint32(shift)
        if unused == PRESERVE:
            placed = placed | state.read_vgpr(register) & hole
        elif unused == SIGN_EXTEND:
            left = (word << np.uint32(32 - bits)).view(np.int32) >> np.int32(32 - bits)
            placed = left.view(np.uint32) << np.uint32(shift)
        state.write_vgpr(register, placed)

    return write
