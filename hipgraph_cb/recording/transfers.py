"""Fills, updates and copies: from a call's arguments to a command value, or to None where nothing is to be done (R4).

The order of checks is the same in all three: first what the arguments are, then whether there is anything to do,
then where the bytes lie.
"""

from __future__ import annotations

from hipgraph_cb.errors import InvalidArgumentError, ResourceExhaustedError
from hipgraph_cb.recording.commands import Copy, Fill, Location, Range, SlotRange, Update
from hipgraph_cb.recording.resource_builder import ResourceBuilder
from hipgraph_cb.recording.validation import (
    check_apart,
    check_pattern_fit,
    check_same_length,
    check_within,
    host_bytes,
    integer,
    pattern_bytes,
    text,
)

LONGEST_FILL = 4
"""Bytes of the longest pattern that a fill command holds: HIP's memset nodes take elements of 1, 2 and 4 bytes."""

LARGEST_LONG_FILL = 1 << 26
"""A longer pattern becomes data of the whole length, up to these bytes of host memory."""


def make_fill(
    resources: ResourceBuilder,
    target: object,
    pattern: object,
    pattern_length: object,
    offset: object,
    length: object,
    label: str | None,
) -> Fill | Update | None:
    """See `CommandBuffer.fill_buffer`."""
    text(label)
    data = pattern_bytes(pattern, pattern_length)
    place = narrow(resources, resources.locate(target, "target"), offset, length, "offset")
    if place is None:
        return None
    if resources.validate:
        check_pattern_fit(place.offset, place.length or 0, len(data))
    if len(data) > LONGEST_FILL:
        return _long_fill(place, data, label)
    return Fill(place, data, label)


def _long_fill(place: Location, pattern: bytes, label: str | None) -> Fill | Update:
    """A pattern of 8 or 16 bytes, which no memset node takes: as the shorter pattern it may consist of, else as data.

    Copies that double what is written would need less memory and barriers of their own, which a layer has not.
    """
    short = next((pattern[:size] for size in (1, 2, 4) if pattern[:size] * (len(pattern) // size) == pattern), None)
    if short is not None:
        return Fill(place, short, label)
    if place.length is None:
        raise InvalidArgumentError(
            "a long pattern cannot fill a slot to its end",
            found=f"a pattern of {len(pattern)} bytes and no length",
            next_step="pass length=, or give the slot a length",
        )
    if place.length > LARGEST_LONG_FILL:
        raise ResourceExhaustedError(
            "a fill with a long pattern is kept as host data, and this is too much of it",
            found=f"{place.length} bytes with a pattern of {len(pattern)}",
            allowed=f"{LARGEST_LONG_FILL} bytes",
            next_step="fill with a kernel, or in parts that are copied",
        )
    copies = -(-place.length // len(pattern))
    return Update(place, (pattern * copies)[: place.length], label)


def make_discard(resources: ResourceBuilder, target: object, offset: object, length: object, label: str | None) -> None:
    """See `CommandBuffer.discard_buffer`."""
    narrow(resources, resources.locate(target, "target"), offset, length, "offset")


def make_update(
    resources: ResourceBuilder, target: object, data: object, offset: object, label: str | None
) -> Update | None:
    """See `CommandBuffer.update_buffer`."""
    text(label)
    copied = host_bytes(data)
    place = narrow(resources, resources.locate(target, "target"), offset, len(copied), "offset")
    return None if place is None else Update(place, copied, label)


def make_copy(
    resources: ResourceBuilder,
    source: object,
    target: object,
    source_offset: object,
    target_offset: object,
    length: object,
    label: str | None,
) -> Copy | None:
    """See `CommandBuffer.copy_buffer`."""
    text(label)
    whole_source, whole_target = resources.locate(source, "source"), resources.locate(target, "target")
    start = integer(source_offset, "source_offset"), integer(target_offset, "target_offset")
    if length is None:
        length = _common_length(_rest(whole_source, start[0]), _rest(whole_target, start[1]))
    origin = narrow(resources, whole_source, start[0], length, "source_offset")
    place = narrow(resources, whole_target, start[1], length, "target_offset")
    if origin is None or place is None:
        return None
    if resources.validate and type(origin) is type(place) and origin[0] == place[0]:
        check_apart(origin, place, resources.name(place[0]) if isinstance(place, Range) else f"slot {place[0]}")
    return Copy(origin, place, label)


def _rest(whole: Location, offset: int) -> int | None:
    """What is left of a range behind an offset; None where only the binding table knows."""
    return None if whole.length is None else max(whole.length - offset, 0)


def _common_length(source: int | None, target: int | None) -> int | None:
    check_same_length(source, target)
    return target if source is None else source


def narrow(resources: ResourceBuilder, whole: Location, offset: object, length: object, name: str) -> Location | None:
    """The part of `whole` from byte `offset` on; None when it is empty (R4).

    Messages count from the start of the buffer, view or slot that was given, as the caller does.
    """
    start = integer(offset, name)
    count = None if length is None else integer(length, "length")
    if count == 0:
        return None
    if isinstance(whole, SlotRange):
        return _narrow_slot(whole, start, count)
    if count is None:
        count = max(whole.length - start, 0)
    if resources.validate:
        check_within(start, count, whole.length, resources.describe(whole))
    return None if count == 0 else Range(whole.resource, whole.offset + start, count)


def _narrow_slot(whole: SlotRange, start: int, count: int | None) -> SlotRange | None:
    if whole.length is not None:
        if count is None:
            count = max(whole.length - start, 0)
        check_within(start, count, whole.length, f"the range of slot {whole.slot}")
    return None if count == 0 else SlotRange(whole.slot, whole.offset + start, count)
