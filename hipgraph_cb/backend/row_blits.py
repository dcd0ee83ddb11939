"""Copies and fills of rows as launches of our own kernels, as `blits` has those in one piece."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from hipgraph_cb.backend.blits import LANES_UNIT, Blit, lanes_for

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import Copy2D, Fill2D

ELEMENTS = (16, 4)
"""Bytes that a work-item moves in a step, where all rows are aligned to them; else single bytes."""
COPY_ROWS_ARGUMENTS = struct.Struct("<QQQQQQII")
FILL_ROWS_ARGUMENTS = struct.Struct("<QQQQIII")
ROW_KERNELS = tuple(f"{verb}_rows_{size}" for verb in ("copy", "fill") for size in (1, 4, 16))


def copy_rows(target: int, source: int, command: Copy2D, most_lanes: int, unit: int = LANES_UNIT) -> Blit:
    """Copy rows between addresses; at most `most_lanes` work-items, a multiple of `unit`."""
    pitches = (command.target_pitch, command.source_pitch) if command.height > 1 else (0, 0)
    element = _element(target, source, command.width, *pitches)
    columns = command.width // element
    lanes = lanes_for(columns * command.height, most_lanes, unit)
    numbers = target, source, *pitches, columns, command.height, *divmod(lanes, columns)
    return Blit(f"copy_rows_{element}", lanes, COPY_ROWS_ARGUMENTS.pack(*numbers))


def fill_rows(target: int, command: Fill2D, most_lanes: int, unit: int = LANES_UNIT) -> Blit:
    """Fill rows from an address on; at most `most_lanes` work-items, a multiple of `unit`."""
    pitch = command.pitch if command.height > 1 else 0
    element = _element(target, command.width, pitch)
    columns = command.width // element
    lanes = lanes_for(columns * command.height, most_lanes, unit)
    word = int.from_bytes((command.pattern * 4)[:4], "little")
    numbers = target, pitch, columns, command.height, word, *divmod(lanes, columns)
    return Blit(f"fill_rows_{element}", lanes, FILL_ROWS_ARGUMENTS.pack(*numbers))


def _element(*numbers: int) -> int:
    return next((size for size in ELEMENTS if not any(number % size for number in numbers)), 1)
