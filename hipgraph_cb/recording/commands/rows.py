"""Rows of bytes in memory: `height` of them, `width` bytes each, `pitch` bytes from the start of one to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.commands.places import Access, Location

if TYPE_CHECKING:
    from hipgraph_cb.recording.validation import OffsetAndLength

MOST_ROWS = 256
"""Accesses of so many rows are listed one by one. Those of more count as everything from the first byte to the last,
and what rests on that is only possible: the bytes between rows may not be touched."""


def extent(pitch: int, width: int, height: int) -> int:
    """Bytes from the first one of the first row to the end of the last row."""
    return pitch * (height - 1) + width


def row_accesses(place: Location, pitch: int, width: int, height: int, *, writes: bool) -> list[Access]:
    """The accesses of a command that reads or writes rows, of which `place` is the whole extent."""
    if pitch == width or height == 1:
        return [Access(place, not writes, writes)]
    if height > MOST_ROWS:
        return [Access(place, not writes, writes, known=False)]
    rows = (place._replace(offset=place.offset + row * pitch, length=width) for row in range(height))
    return [Access(row, not writes, writes) for row in rows]


def check_shape(width: int, height: int, **pitches: int) -> None:
    """Refuse no bytes, and rows that share bytes."""
    if not width or not height:
        raise InvalidArgumentError(
            "rows of no bytes are not recorded", found=f"{height} rows of {width} bytes", allowed="1 or more of each"
        )
    for name, pitch in pitches.items():
        if pitch < width:
            raise InvalidArgumentError(
                f"{name} is less than the width of a row",
                found=f"{name} {pitch}, width {width}",
                allowed=f"{width} bytes or more",
            )


def check_rows_apart(
    source: OffsetAndLength, target: OffsetAndLength, pitches: tuple[int, int], width: int, height: int, name: str
) -> None:
    """Refuse a copy within one buffer whose rows share bytes. Rows of different pitches count as one stretch."""
    length = [extent(pitch, width, height) for pitch in pitches]
    first, second = source.offset, target.offset
    if first >= second + length[1] or second >= first + length[0]:
        return
    if pitches[0] == pitches[1]:
        pitch, apart = pitches[0], second - first
        nearest = (apart // pitch, apart // pitch + 1)
        if not any(abs(rows) < height and abs(apart - rows * pitch) < width for rows in nearest):
            return
    raise InvalidArgumentError(
        "source and target of the copy overlap",
        found=f"{height} rows of {width} bytes in {name}, from byte {first} with pitch {pitches[0]} "
        f"and from byte {second} with pitch {pitches[1]}",
        allowed="rows that share no bytes; where the pitches differ, none from the first row to the last",
        next_step="copy through a scratch buffer",
    )
