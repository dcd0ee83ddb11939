"""DPP: a source that comes from another lane of the wave, and the lanes that are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.lane_mask import all_ones
from hipgraph_cb.virtual.isa.core.register_limits import vectors
from hipgraph_cb.virtual.isa.core.registry import UnsupportedInstruction

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import Bits, State

LaneMap = tuple[NDArray[np.int64], NDArray[np.bool_]]
XOR_MASK = 0x200  # plus 0 to 15: not a code of every family, so it is beyond the nine bits of the field
EIGHT_LANES = 1 << 24  # plus eight selectors of three bits


def lane_map(control: int, lanes: int) -> LaneMap:
    """For each of so many lanes: which lane it reads, and whether that lane exists (CDNA3 and RDNA3 ISA, DPP_CTRL)."""
    lane = np.arange(lanes)
    row, column = lane & ~15, lane & 15
    exists = np.ones(lanes, np.bool_)
    amount = control & 15
    if control & EIGHT_LANES:
        return (lane & ~7) | (control >> 3 * (lane & 7) & 7), exists
    if control <= 0xFF:
        return (lane & ~3) | (control >> 2 * (lane & 3) & 3), exists
    if 0x101 <= control <= 0x10F:  # row_shl
        return lane + amount, column + amount < 16
    if 0x111 <= control <= 0x11F:  # row_shr
        return lane - amount, column >= amount
    if 0x121 <= control <= 0x12F:  # row_ror
        return row | (column - amount & 15), exists
    if 0x150 <= control <= 0x15F:  # row_newbcast, row_share
        return row | amount, exists
    if XOR_MASK <= control <= XOR_MASK + 15:  # row_xmask
        return lane ^ amount, exists
    if control in _WHOLE_WAVE:
        return _WHOLE_WAVE[control](lane)
    raise UnsupportedInstruction(f"DPP control {control:#x}")


_WHOLE_WAVE: dict[int, Callable[[NDArray[Any]], LaneMap]] = {
    0x130: lambda lane: (lane + 1, lane + 1 < len(lane)),  # wave_shl:1
    0x134: lambda lane: ((lane + 1) % len(lane), lane >= 0),  # wave_rol:1
    0x138: lambda lane: (lane - 1, lane > 0),  # wave_shr:1
    0x13C: lambda lane: ((lane - 1) % len(lane), lane >= 0),  # wave_ror:1
    0x140: lambda lane: (lane & ~15 | 15 - (lane & 15), lane >= 0),  # row_mirror
    0x141: lambda lane: (lane & ~7 | 7 - (lane & 7), lane >= 0),  # row_half_mirror
    0x142: lambda lane: ((lane & ~15) - 1, lane >= 16),  # row_bcast:15
    0x143: lambda lane: (np.full(len(lane), 31), lane >= 32),  # row_bcast:31
}


def _map_of(instruction: Instruction, lanes: int) -> LaneMap:
    if instruction.dpp is None:
        raise UnsupportedInstruction("a DPP source without a DPP word")
    origin, exists = lane_map(instruction.dpp["dpp_ctrl"], lanes)
    return np.where(exists, origin, 0), exists


def source(instruction: Instruction, lanes: int, width: int = 32) -> Callable[[State], NDArray[Any]]:
    """Reads source 0 through the lane map; a lane without a sound origin reads 0 (and is written if bound_ctrl).

    A lane that is off is no sound origin, unless the instruction fetches from inactive lanes (fi).
    """
    origin, exists = _map_of(instruction, lanes)
    fields = instruction.dpp or {}
    register = vectors(fields["src0"], max(1, width // 32))
    all_exist, ignores_exec = bool(exists.all()), bool(fields.get("fi", 0))

    def read(state: State) -> NDArray[Any]:
        value: NDArray[Any] = state.read_vgpr64(register) if width == 64 else state.read_vgpr(register)
        moved = value.take(origin, axis=1) if value.shape[1] == lanes else value
        is_on = None if ignores_exec else state.exec
        if all_exist and is_on is None:
            return moved
        sound = exists if is_on is None else exists & is_on.take(origin, axis=1)
        return moved & all_ones(sound)

    return read


def enabled_lanes(instruction: Instruction, lanes: int) -> Callable[[State], Bits | None]:
    """Which of so many lanes the instruction may write, besides EXEC; None for all."""
    origin, exists = _map_of(instruction, lanes)
    fields = instruction.dpp or {}
    lane = np.arange(lanes)
    masks = (fields["row_mask"] >> (lane >> 4) & 1) & (fields["bank_mask"] >> (lane >> 2 & 3) & 1)
    selected = masks.astype(np.bool_)
    if not fields.get("bound_ctrl", 0):
        selected = selected & exists
    fixed = None if selected.all() else selected.reshape(1, -1)
    if fields.get("bound_ctrl", 0) or fields.get("fi", 0):
        return lambda state: fixed

    def enabled(state: State) -> Bits | None:
        return fixed if state.exec is None else selected & state.exec.take(origin, axis=1)

    return enabled
