"""DPP: a source that comes from another lane of the wave, and the lanes that are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.lane_mask import all_ones
from hipgraph_cb.virtual.isa.core.registry import UnsupportedInstruction
from hipgraph_cb.virtual.isa.targets.gfx9.register_limits import vectors

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import Bits, State

LaneMap = tuple[NDArray[np.int64], NDArray[np.bool_]]


def lane_map(control: int) -> LaneMap:
    """For each of 64 lanes: which lane it reads, and whether that lane exists (CDNA3 ISA, DPP_CTRL)."""
    lane = np.arange(64)
    row, column = lane & ~15, lane & 15
    exists = np.ones(64, np.bool_)
    amount = control & 15
    if control <= 0xFF:
        return (lane & ~3) | (control >> 2 * (lane & 3) & 3), exists
    if 0x101 <= control <= 0x10F:  # row_shl
        return lane + amount, column + amount < 16
    if 0x111 <= control <= 0x11F:  # row_shr
        return lane - amount, column >= amount
    if 0x121 <= control <= 0x12F:  # row_ror
        return row | (column - amount & 15), exists
    if 0x150 <= control <= 0x15F:  # row_newbcast
        return row | amount, exists
    if control in _WHOLE_WAVE:
        return _WHOLE_WAVE[control](lane)
    raise UnsupportedInstruction(f"DPP control {control:#x}")


_WHOLE_WAVE: dict[int, Callable[[NDArray[Any]], LaneMap]] = {
    0x130: lambda lane: (lane + 1, lane < 63),  # wave_shl:1
    0x134: lambda lane: (lane + 1 & 63, lane >= 0),  # wave_rol:1
    0x138: lambda lane: (lane - 1, lane > 0),  # wave_shr:1
    0x13C: lambda lane: (lane - 1 & 63, lane >= 0),  # wave_ror:1
    0x140: lambda lane: (lane & ~15 | 15 - (lane & 15), lane >= 0),  # row_mirror
    0x141: lambda lane: (lane & ~7 | 7 - (lane & 7), lane >= 0),  # row_half_mirror
    0x142: lambda lane: ((lane & ~15) - 1, lane >= 16),  # row_bcast:15
    0x143: lambda lane: (np.full(64, 31), lane >= 32),  # row_bcast:31
}


def _map_of(instruction: Instruction) -> LaneMap:
    if instruction.dpp is None:
        raise UnsupportedInstruction("a DPP source without a DPP word")
    origin, exists = lane_map(instruction.dpp["dpp_ctrl"])
    return np.where(exists, origin, 0), exists


def source(instruction: Instruction, width: int = 32) -> Callable[[State], NDArray[Any]]:
    """Reads source 0 through the lane map; a lane without a sound origin reads 0 (and is written if bound_ctrl)."""
    origin, exists = _map_of(instruction)
    register = vectors((instruction.dpp or {})["src0"], max(1, width // 32))
    all_exist = bool(exists.all())

    def read(state: State) -> NDArray[Any]:
        value: NDArray[Any] = state.read_vgpr64(register) if width == 64 else state.read_vgpr(register)
        moved = value.take(origin, axis=1) if value.shape[1] == 64 else value
        if all_exist and state.exec is None:
            return moved
        sound = exists if state.exec is None else exists & state.exec.take(origin, axis=1)
        return moved & all_ones(sound)

    return read


def enabled_lanes(instruction: Instruction) -> Callable[[State], Bits | None]:
    """Which lanes the instruction may write, besides EXEC; None for all."""
    origin, exists = _map_of(instruction)
    fields = instruction.dpp or {}
    lane = np.arange(64)
    masks = (fields["row_mask"] >> (lane >> 4) & 1) & (fields["bank_mask"] >> (lane >> 2 & 3) & 1)
    selected = masks.astype(np.bool_)
    if fields.get("bound_ctrl", 0):
        fixed = None if selected.all() else selected.reshape(1, 64)
        return lambda state: fixed
    selected = selected & exists

    def lanes(state: State) -> Bits | None:
        if state.exec is not None:
            return selected & state.exec.take(origin, axis=1)
        return None if selected.all() else selected.reshape(1, 64)

    return lanes
