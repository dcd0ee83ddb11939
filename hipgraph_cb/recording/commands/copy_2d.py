"""Copies of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.categories import CommandCategory
from hipgraph_cb.recording.commands.fields import LABEL, NUMBER, PLACE
from hipgraph_cb.recording.commands.places import Access, Location, Range, same_type_only
from hipgraph_cb.recording.commands.rows import check_rows_apart, check_shape, extent, row_accesses
from hipgraph_cb.recording.commands.types import CommandType, register

if TYPE_CHECKING:
    from hipgraph_cb.recording.accesses import AccessReader
    from hipgraph_cb.recording.bindings import BoundMemory
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.recording.validation import OffsetAndLength


@same_type_only
class Copy2D(NamedTuple):
    """Copy `height` rows of `width` bytes; rows of source and target never share bytes.

    Attributes:
        source, target: from the first byte of the first row to the last byte of the last one.
        source_pitch, target_pitch: bytes from the start of one row to the next.
    """

    source: Location
    target: Location
    source_pitch: int
    target_pitch: int
    width: int
    height: int
    label: str | None = None

    def check_apart(self, source: OffsetAndLength, target: OffsetAndLength, name: str) -> None:
        """Refuse rows that share bytes, where source and target are in one buffer."""
        check_rows_apart(source, target, (self.source_pitch, self.target_pitch), self.width, self.height, name)


def _accesses(command: Copy2D, _reader: AccessReader) -> list[Access]:
    width, height = command.width, command.height
    return [
        *row_accesses(command.source, command.source_pitch, width, height, writes=False),
        *row_accesses(command.target, command.target_pitch, width, height, writes=True),
    ]


def _check(command: Copy2D, checker: CommandChecker) -> None:
    source, target, width, height = command.source, command.target, command.width, command.height
    check_shape(width, height, source_pitch=command.source_pitch, target_pitch=command.target_pitch)
    for place, pitch in ((source, command.source_pitch), (target, command.target_pitch)):
        check_extent(place, extent(pitch, width, height))
        checker.check_place(place)
    if isinstance(source, Range) and isinstance(target, Range) and source.resource == target.resource:
        command.check_apart(source, target, checker.buffer_name(source.resource))


def check_extent(place: Location, length: int) -> None:
    """Refuse a place that is not as long as its rows are."""
    if place.length != length:
        raise InvalidArgumentError(
            "a place is not as long as its rows", found=f"{place.length} bytes", allowed=f"{length} bytes"
        )


def _check_bound(command: Copy2D, memory: BoundMemory) -> None:
    memory.check_apart(memory.at(command.source), memory.at(command.target), command.check_apart)


def _details(command: Copy2D, recording: Recording) -> list[str]:
    return [
        f"{command.height} rows of {command.width} bytes",
        f"from {recording.describe_place(command.source)}, pitch {command.source_pitch}",
        f"to {recording.describe_place(command.target)}, pitch {command.target_pitch}",
    ]


COPY_2D = register(
    CommandType(
        Copy2D,
        "copy_buffer_2d",
        "copy_2d",
        {
            "source": PLACE,
            "target": PLACE,
            "source_pitch": NUMBER,
            "target_pitch": NUMBER,
            "width": NUMBER,
            "height": NUMBER,
            "label": LABEL,
        },
        accesses=_accesses,
        check=_check,
        check_bound=_check_bound,
        compares_places=True,
        details=_details,
        category=CommandCategory.TRANSFER,
    )
)
