"""Copies and fills of rows: from a call's arguments to a command, or to None for nothing to do (R4)."""

from __future__ import annotations

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.commands import Copy2D, Fill2D, Range
from hipgraph_cb.recording.commands.fill import LONGEST_FILL
from hipgraph_cb.recording.commands.fill_2d import check_rows_fit
from hipgraph_cb.recording.commands.rows import check_shape, extent
from hipgraph_cb.recording.resource_builder import ResourceBuilder
from hipgraph_cb.recording.transfers import narrow, shorter
from hipgraph_cb.recording.validation import integer, pattern_bytes, text

Pair = tuple[object, object]


def make_copy_2d(
    resources: ResourceBuilder,
    source: object,
    target: object,
    shape: Pair,
    pitches: Pair,
    offsets: Pair,
    label: str | None,
) -> Copy2D | None:
    """See `CommandBuffer.copy_buffer_2d`; pairs are of width and height, and of source and target."""
    text(label)
    width, height = _shape(shape)
    pitch, target_pitch = _pitch(pitches[0], width, "source_pitch"), _pitch(pitches[1], width, "target_pitch")
    first, second = resources.locate(source, "source"), resources.locate(target, "target")
    if not width or not height:
        return None
    if resources.validate:
        check_shape(width, height, source_pitch=pitch, target_pitch=target_pitch)
    origin = narrow(resources, first, offsets[0], extent(pitch, width, height), "source_offset")
    place = narrow(resources, second, offsets[1], extent(target_pitch, width, height), "target_offset")
    if origin is None or place is None:
        return None
    command = Copy2D(origin, place, pitch, target_pitch, width, height, label)
    if resources.validate and type(origin) is type(place) and origin[0] == place[0]:
        name = resources.name(origin[0]) if isinstance(origin, Range) else f"slot {origin[0]}"
        command.check_apart(origin, place, name)
    return command


def make_fill_2d(
    resources: ResourceBuilder,
    target: object,
    pattern: object,
    pattern_length: object,
    shape: Pair,
    pitch: object,
    offset: object,
    label: str | None,
) -> Fill2D | None:
    """See `CommandBuffer.fill_buffer_2d`."""
    text(label)
    data = pattern_bytes(pattern, pattern_length)
    width, height = _shape(shape)
    row_pitch = _pitch(pitch, width, "pitch")
    whole = resources.locate(target, "target")
    if not width or not height:
        return None
    if resources.validate:
        check_shape(width, height, pitch=row_pitch)
    place = narrow(resources, whole, offset, extent(row_pitch, width, height), "offset")
    if place is None:
        return None
    if resources.validate:
        check_rows_fit(place.offset, row_pitch, width, height, len(data))
    return Fill2D(place, _short_pattern(data), row_pitch, width, height, label)


def _shape(shape: Pair) -> tuple[int, int]:
    return integer(shape[0], "width"), integer(shape[1], "height")


def _pitch(pitch: object, width: int, name: str) -> int:
    """The distance of rows: their width where none is given."""
    return width if pitch is None else integer(pitch, name)


def _short_pattern(pattern: bytes) -> bytes:
    short = pattern if len(pattern) <= LONGEST_FILL else shorter(pattern)
    if short is None:
        raise InvalidArgumentError(
            "the pattern is too long for rows",
            found=f"{len(pattern)} bytes that repeat nothing shorter",
            allowed="1, 2 or 4 bytes, or a longer pattern that repeats so many",
            next_step="write the rows with a kernel, or copy them from a buffer that holds them",
        )
    return short
