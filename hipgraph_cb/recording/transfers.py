"""Fills, updates and copies: from a call's arguments to a form and a block, or to None for nothing to do (R4).

The order of checks is the same in all three: first what the arguments are, then whether there is anything to do,
then where the bytes lie.
"""

from __future__ import annotations

import struct

from hipgraph_cb.errors import FailedPreconditionError, HipGraphError, InvalidArgumentError, ResourceExhaustedError
from hipgraph_cb.recording.categories import CommandCategory, refusal
from hipgraph_cb.recording.command_table import CommandTable
from hipgraph_cb.recording.commands import Location, Range, SlotRange
from hipgraph_cb.recording.commands.fill import LONGEST_FILL
from hipgraph_cb.recording.forms import COPY_FORM, FILL_FORMS, OPEN_FILL_FORMS, UPDATE_FORM
from hipgraph_cb.recording.number_types import NUMBER_TYPES
from hipgraph_cb.recording.open_numbers import is_number, take_pattern
from hipgraph_cb.recording.place_table import KIND_BITS
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

LARGEST_LONG_FILL = 1 << 26
"""A longer pattern becomes data of the whole length, up to these bytes of host memory."""

Made = tuple[int, bytes]
"""The number of a form, and a block."""
_pack_fill = struct.Struct("<Q8s").pack
_pack_words = struct.Struct("<QQ").pack


class TransferMaker:
    """Makes the fills, updates and copies of one command buffer."""

    __slots__ = ("_copies", "_fills", "_open_fills", "_places", "_resources", "_table", "_updates")

    def __init__(self, resources: ResourceBuilder, table: CommandTable) -> None:
        self._resources = resources
        self._table = table
        self._places = table.places
        self._fills = {length: table.form(form.key, form) for length, form in FILL_FORMS.items()}
        self._open_fills = {length: table.form(form.key, form) for length, form in OPEN_FILL_FORMS.items()}
        self._updates = table.form(UPDATE_FORM.key, UPDATE_FORM)
        self._copies = table.form(COPY_FORM.key, COPY_FORM)

    def fill(
        self,
        target: object,
        pattern: object,
        pattern_length: object,
        offset: object,
        length: object,
        label: str | None,
    ) -> Made | None:
        """See `CommandBuffer.fill_buffer`."""
        if label is not None:
            text(label)
        number = None
        if is_number(pattern):
            number = take_pattern(self._resources, pattern, pattern_length, LONGEST_FILL)  # type: ignore[arg-type]
            data = bytes(NUMBER_TYPES[number.type].size)
        else:
            data = pattern_bytes(pattern, pattern_length)
        try:
            word = self._resources[target]
        except (HipGraphError, TypeError):
            word = 0  # said below
        places = self._places
        if not word or offset.__class__ is not int or offset or length is not None or not places.lengths[word]:
            word = self._narrow(word or self._word(target, "target"), offset, length, "offset")
            if not word:
                return None
        size = len(data)
        if (places.offsets[word] % size or places.lengths[word] % size) and self._resources.validate:
            check_pattern_fit(places.offsets[word], places.lengths[word], size)
        if number is not None:
            return self._open_fills[size], _pack_fill(word, data) + self._resources.number_word(number).to_bytes(
                8, "little"
            )
        if size <= LONGEST_FILL:
            return self._fills[size], _pack_fill(word, data)
        short = shorter(data)
        if short is None:
            return self._update(word, _repeated(places.location(word), data))
        return self._fills[len(short)], _pack_fill(word, short)

    def discard(self, target: object, offset: object, length: object, _label: str | None) -> None:
        """See `CommandBuffer.discard_buffer`."""
        narrow(self._resources, self._resources.locate(target, "target"), offset, length, "offset")

    def update(self, target: object, data: object, offset: object, label: str | None) -> Made | None:
        """See `CommandBuffer.update_buffer`."""
        text(label)
        copied = host_bytes(data)
        word = self._narrow(self._word(target, "target"), offset, len(copied), "offset")
        return self._update(word, copied) if word else None

    def copy(
        self,
        source: object,
        target: object,
        source_offset: object,
        target_offset: object,
        length: object,
        label: str | None,
    ) -> Made | None:
        """See `CommandBuffer.copy_buffer`."""
        if label is not None:
            text(label)
        resources, places = self._resources, self._places
        try:
            first, second = resources[source], resources[target]
        except (HipGraphError, TypeError):
            first = second = 0  # said below
        if not (first and second):
            first, second = self._word(source, "source"), self._word(target, "target")
        origin, place, size = first, second, places.lengths[first]
        is_whole = source_offset == target_offset == 0 and source_offset.__class__ is target_offset.__class__ is int
        if not (is_whole and length is None and size and size == places.lengths[second]):
            if length is None:
                start = integer(source_offset, "source_offset"), integer(target_offset, "target_offset")
                length = _common_length(
                    _rest(places.location(first), start[0]), _rest(places.location(second), start[1])
                )
            origin = self._narrow(first, source_offset, length, "source_offset")
            place = self._narrow(second, target_offset, length, "target_offset")
            if not (origin and place):
                return None
        if places.owners[origin] >> KIND_BITS == places.owners[place] >> KIND_BITS and resources.validate:
            self._check_apart(places.location(origin), places.location(place))
        return self._copies, _pack_words(origin, place)

    def _check_apart(self, origin: Location, place: Location) -> None:
        if type(origin) is type(place):
            name = self._resources.name(place[0]) if isinstance(place, Range) else f"slot {place[0]}"
            check_apart(origin, place, name)

    def _update(self, word: int, data: bytes) -> Made:
        payloads = self._table.payloads
        payloads.append(data)
        return self._updates, _pack_words(word, len(payloads) - 1)

    def _word(self, value: object, name: str) -> int:
        """The word of what was given: found quickly, or located."""
        resources = self._resources
        try:
            word = resources[value]
        except (HipGraphError, TypeError):
            word = 0  # said below
        return word or resources.place(resources.locate(value, name))

    def _narrow(self, word: int, offset: object, length: object, name: str) -> int:
        """The word of a part of a place, as `narrow` takes it; 0 when it is empty (R4)."""
        size = self._places.lengths[word]
        if (
            offset.__class__ is int
            and offset == 0
            and size
            and (length is None or (length.__class__ is int and length == size))
        ):
            return word
        place = narrow(self._resources, self._places.location(word), offset, length, name)
        return 0 if place is None else self._resources.place(place)


class RefusedTransfers(TransferMaker):
    """In the place of what makes transfers, where none are taken: every call raises FailedPreconditionError."""

    __slots__ = ()

    def fill(self, *_arguments: object, **_named: object) -> Made | None:
        raise _refusal("fill_buffer")

    def discard(self, *_arguments: object, **_named: object) -> None:
        raise _refusal("discard_buffer")

    def update(self, *_arguments: object, **_named: object) -> Made | None:
        raise _refusal("update_buffer")

    def copy(self, *_arguments: object, **_named: object) -> Made | None:
        raise _refusal("copy_buffer")


def _refusal(verb: str) -> FailedPreconditionError:
    return refusal(verb, CommandCategory.TRANSFER, CommandCategory.DISPATCH)


def shorter(pattern: bytes) -> bytes | None:
    """The pattern of 1, 2 or 4 bytes of which one of 8 or 16 bytes, which no memset node takes, may consist."""
    return next((pattern[:size] for size in (1, 2, 4) if pattern[:size] * (len(pattern) // size) == pattern), None)


def _repeated(place: Location, pattern: bytes) -> bytes:
    """A pattern of 8 or 16 bytes as data of the whole length.

    Copies that double what is written would need less memory and barriers of their own, which a layer has not.
    """
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
    return (pattern * copies)[: place.length]


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
