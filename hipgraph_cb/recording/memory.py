"""What places are counted from, a buffer or a slot, and the bytes of it that commands touch."""

from __future__ import annotations

from typing import NamedTuple

from hipgraph_cb.recording.commands.places import Location, SlotRange
from hipgraph_cb.recording.validation import LARGEST


class Memory(NamedTuple):
    """A buffer or a slot."""

    is_slot: bool
    number: int


class Extent(NamedTuple):
    """The bytes of one memory from `start` up to `end`, and whether any of them is written."""

    start: int
    end: int
    is_written: bool


def memory_of(place: Location) -> Memory:
    """The buffer or slot that a place is in."""
    return Memory(isinstance(place, SlotRange), place[0])


def end_of(place: Location) -> int:
    """The first byte behind a place, counted as its offset is; the largest there is where the binding sets it."""
    return LARGEST if place.length is None else place.offset + place.length
