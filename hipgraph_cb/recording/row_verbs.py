"""The verbs of a command buffer for rows of bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.row_transfers import make_copy_2d, make_fill_2d

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import Command
    from hipgraph_cb.recording.resources import RangeLike, Slot


class RowVerbs(ABC):
    """Copies and fills of rows that are a pitch apart. Offsets, widths and pitches are bytes."""

    @abstractmethod
    def _record_value(
        self, verb: str, label: str | None, make: Callable[..., Command | None], *arguments: object
    ) -> None: ...

    def copy_buffer_2d(
        self,
        source: RangeLike | Slot,
        target: RangeLike | Slot,
        *,
        width: int,
        height: int,
        source_pitch: int | None = None,
        target_pitch: int | None = None,
        source_offset: int = 0,
        target_offset: int = 0,
        label: str | None = None,
    ) -> None:
        """Copy rows of bytes on the device. A width or height of zero records nothing.

        Args:
            width: bytes of a row.
            height: rows.
            source_pitch, target_pitch: bytes from the start of one row to the next; None is the width.
            source_offset, target_offset: where the first row starts.

        Raises:
            InvalidArgumentError: no memory, a pitch less than the width, or rows of one buffer that share bytes; where
                the pitches differ, all from the first row to the last count.
            OutOfRangeError: rows outside their buffer.
        """
        shape, pitches, offsets = (width, height), (source_pitch, target_pitch), (source_offset, target_offset)
        self._record_value("copy_buffer_2d", label, make_copy_2d, source, target, shape, pitches, offsets)

    def fill_buffer_2d(
        self,
        target: RangeLike | Slot,
        pattern: Any,
        *,
        width: int,
        height: int,
        pitch: int | None = None,
        pattern_length: int = 4,
        offset: int = 0,
        label: str | None = None,
    ) -> None:
        """Write a pattern over and over into rows; each row begins with it. A width or height of zero records nothing.

        Args:
            pattern, pattern_length: as for `fill_buffer`, of 1, 2 or 4 bytes, or of more that repeat so many.
            width: bytes of a row, a multiple of the pattern's length.
            height: rows.
            pitch: bytes from the start of one row to the next, a multiple of the pattern's length; None is the width.
            offset: where the first row starts; with the target's own offset a multiple of the pattern's length.

        Raises:
            InvalidArgumentError: no memory, no pattern, a pitch less than the width, or rows that are not made of whole
                aligned patterns.
            OutOfRangeError: rows outside the target, or a pattern that does not fit its length.
        """
        self._record_value(
            "fill_buffer_2d", label, make_fill_2d, target, pattern, pattern_length, (width, height), pitch, offset
        )
