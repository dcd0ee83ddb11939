"""Whether the memory in the slots lies apart, where the order of the commands was inferred as if it did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.accesses import AccessReader, end_of
from hipgraph_cb.recording.bindings import origins_of
from hipgraph_cb.recording.commands import Range
from hipgraph_cb.recording.validation import LARGEST

if TYPE_CHECKING:
    from hipgraph_cb.recording.bindings import BoundRange
    from hipgraph_cb.recording.recording import Recording


class Extent(NamedTuple):
    """Bytes of one buffer that a slot or a direct buffer stands for, as far as commands touch them."""

    start: int
    end: int
    is_written: bool
    name: str


def check_slots_apart(recording: Recording, bound: Mapping[int, BoundRange], objects: Mapping[int, object]) -> None:
    """Refuse bindings that share bytes with one another or with a buffer of the recording, where one is written.

    Raises:
        InvalidArgumentError: two that do; the order that was inferred does not know that they are the same memory.
    """
    by_memory: dict[int, list[Extent]] = defaultdict(list)
    direct = [objects.get(number) for is_slot, number in recording.touched if not is_slot]
    origins = origins_of([*direct, *(place.buffer for place in bound.values())])
    for is_slot, number in recording.touched:
        start, end, is_written = recording.touched[is_slot, number]
        if not is_slot:
            name = recording.resources.buffers[number].name
            memory, base = origins[id(objects.get(number))]
        elif number in bound:
            place = bound[number]
            name, (memory, base) = f"slot {number}", origins[id(place.buffer)]
            start, end = place.offset + start, min(place.offset + end, place.offset + place.length)
        else:
            continue
        by_memory[memory].append(Extent(base + start, base + end, is_written, name))
    for extents in by_memory.values():
        furthest: list[Extent] = []
        for extent in sorted(extents):
            furthest = [other for other in furthest if other.end > extent.start]
            for other in furthest:
                if extent.is_written or other.is_written:
                    raise _shared(other, extent)
            furthest.append(extent)


def touched(recording: Recording) -> dict[tuple[bool, int], tuple[int, int, bool]]:
    """For every slot (True) and buffer (False): the first byte that commands touch, the end, whether any is written."""
    reader = AccessReader(recording)
    result: dict[tuple[bool, int], tuple[int, int, bool]] = {}
    for index in range(len(recording)):
        for place, _reads, writes, _known in reader.of(index):
            key = not isinstance(place, Range), place[0]
            start, end, is_written = result.get(key, (LARGEST, 0, False))
            result[key] = min(start, place.offset), max(end, end_of(place)), is_written or writes
    return result


def _shared(one: Extent, other: Extent) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{one.name} and {other.name} are the same memory, which inferred dependencies do not allow",
        found=f"bytes {one.start} to {one.end} and {other.start} to {other.end} of one buffer, one of them written",
        allowed="slots that hold memory of their own wherever one is written",
        next_step="bind memory that lies apart, or order the commands with barriers",
    )
