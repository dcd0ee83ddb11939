"""Whether the memory in the slots is apart, where the order of the commands was inferred as if it did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.accesses import AccessReader
from hipgraph_cb.recording.memory import Extent, Memory, end_of, memory_of
from hipgraph_cb.recording.shared_memory import origins_of
from hipgraph_cb.recording.validation import LARGEST

if TYPE_CHECKING:
    from hipgraph_cb.recording.binding_table import BoundRange
    from hipgraph_cb.recording.recording import Recording


class _Named(NamedTuple):
    """An extent, counted from the start of the memory that a buffer is in, with the name of the buffer or slot."""

    extent: Extent
    name: str


def check_slots_apart(recording: Recording, bound: Mapping[int, BoundRange], objects: Mapping[int, object]) -> None:
    """Refuse bindings that share bytes with one another or with a buffer of the recording, where one is written.

    Raises:
        InvalidArgumentError: two that do; the order that was inferred does not know that they are the same memory.
    """
    by_memory: dict[int, list[_Named]] = defaultdict(list)
    direct = [objects.get(number) for is_slot, number in recording._touched if not is_slot]
    origins = origins_of([*direct, *(place.buffer for place in bound.values())])
    for (is_slot, number), (start, end, is_written) in recording._touched.items():
        if not is_slot and number not in objects:
            continue  # transient memory, which nobody else has
        if not is_slot:
            name = recording.resources.buffers[number].name
            origin, base = origins[id(objects.get(number))]
        elif number in bound:
            place = bound[number]
            name, (origin, base) = f"slot {number}", origins[id(place.buffer)]
            start, end = place.offset + start, min(place.offset + end, place.offset + place.length)
        else:
            continue
        by_memory[origin].append(_Named(Extent(base + start, base + end, is_written), name))
    for named in by_memory.values():
        _check_apart(sorted(named))


def _check_apart(ascending: list[_Named]) -> None:
    """Refuse two that share bytes, where one is written."""
    open_ones: list[_Named] = []
    for named in ascending:
        open_ones = [other for other in open_ones if other.extent.end > named.extent.start]
        for other in open_ones:
            if named.extent.is_written or other.extent.is_written:
                raise _shared(other, named)
        open_ones.append(named)


def touched(recording: Recording) -> dict[Memory, Extent]:
    """For every slot and buffer: from the first byte that commands touch to the end of the last."""
    reader = AccessReader(recording)
    result: dict[Memory, Extent] = {}
    for index in range(len(recording)):
        for place, _reads, writes, _known in reader.of(index):
            memory = memory_of(place)
            start, end, is_written = result.get(memory, _NOTHING)
            result[memory] = Extent(min(start, place.offset), max(end, end_of(place)), is_written or writes)
    return result


_NOTHING = Extent(LARGEST, 0, False)


def _shared(one: _Named, other: _Named) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{one.name} and {other.name} are the same memory, which inferred dependencies do not allow",
        found=f"bytes {_bytes(one)} and {_bytes(other)} of one buffer, one of them written",
        allowed="slots that hold memory of their own wherever one is written",
        next_step="bind memory that does not overlap, or order the commands with barriers",
    )


def _bytes(named: _Named) -> str:
    return f"{named.extent.start} to {named.extent.end}"
