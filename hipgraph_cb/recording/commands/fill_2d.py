"""Fills of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.categories import CommandCategory
from hipgraph_cb.recording.commands.copy_2d import check_extent
from hipgraph_cb.recording.commands.fields import BYTES, LABEL, NUMBER, PLACE
from hipgraph_cb.recording.commands.fill import check_pattern_length
from hipgraph_cb.recording.commands.places import Access, Location, same_type_only
from hipgraph_cb.recording.commands.rows import check_shape, extent, row_accesses
from hipgraph_cb.recording.commands.types import CommandType, register
from hipgraph_cb.recording.commands.values import data

if TYPE_CHECKING:
    from hipgraph_cb.recording.accesses import AccessReader
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording


@same_type_only
class Fill2D(NamedTuple):
    """Write `pattern` (1, 2 or 4 bytes) over and over into `height` rows of `width` bytes; each row begins with it.

    Attributes:
        target: from the first byte of the first row to the last byte of the last one.
        pitch: bytes from the start of one row to the next.
    """

    target: Location
    pattern: bytes
    pitch: int
    width: int
    height: int
    label: str | None = None


def _accesses(command: Fill2D, _reader: AccessReader) -> list[Access]:
    return row_accesses(command.target, command.pitch, command.width, command.height, writes=True)


def _check(command: Fill2D, checker: CommandChecker) -> None:
    check_shape(command.width, command.height, pitch=command.pitch)
    check_extent(command.target, extent(command.pitch, command.width, command.height))
    checker.check_place(command.target)
    check_pattern_length(len(command.pattern))
    check_rows_fit(command.target.offset, command.pitch, command.width, command.height, len(command.pattern))


def check_rows_fit(offset: int, pitch: int, width: int, height: int, pattern_length: int) -> None:
    """Each row starts at a multiple of the pattern's length, counted from the buffer's start, and covers whole ones."""
    if offset % pattern_length or width % pattern_length or (height > 1 and pitch % pattern_length):
        raise InvalidArgumentError(
            "the rows are not made of whole, aligned patterns",
            found=f"offset {offset}, pitch {pitch}, width {width}, pattern of {pattern_length} bytes",
            allowed=f"multiples of {pattern_length}",
            next_step="fill with a shorter pattern",
        )


def _details(command: Fill2D, recording: Recording) -> list[str]:
    return [
        f"{command.height} rows of {command.width} bytes",
        f"{recording.describe_place(command.target)}, pitch {command.pitch}",
        f"pattern {data(command.pattern)}",
    ]


FILL_2D = register(
    CommandType(
        Fill2D,
        "fill_buffer_2d",
        "fill_2d",
        {"target": PLACE, "pattern": BYTES, "pitch": NUMBER, "width": NUMBER, "height": NUMBER, "label": LABEL},
        accesses=_accesses,
        check=_check,
        alignment=lambda command, _place: len(command.pattern),
        details=_details,
        category=CommandCategory.TRANSFER,
    )
)
