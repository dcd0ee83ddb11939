"""Slots and binding tables: what the commands ask of each slot, and whether a table offers it.

The commands are read once per recording; a replay then costs what its table and the copies and fills through slots
cost, not what the recording is long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.aliasing import check_slots_apart
from hipgraph_cb.recording.commands import Command, ExecuteCommands, Location, Range, SlotRange
from hipgraph_cb.recording.commands.types import type_of, used_places
from hipgraph_cb.recording.resource_builder import imported
from hipgraph_cb.recording.shared_memory import is_imported, origins_of
from hipgraph_cb.recording.validation import (
    check_apart,
    check_list,
    check_open,
    check_owner,
    integer,
)

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


@dataclass(frozen=True)
class SlotUse:
    """What the commands ask of one slot.

    Attributes:
        end: the bytes that the binding must have at least.
        alignment: the number of bytes of which the binding's offset must be a multiple.
        commands: indices of the commands that refer to the slot, in order; empty for a slot that nobody uses.
        late: those of them that can be checked only when the binding is known: copies, fills to the binding's end, and
            nested recordings with such commands.
    """

    end: int = 0
    alignment: int = 1
    commands: tuple[int, ...] = ()
    late: tuple[int, ...] = ()


_UNUSED = SlotUse()


class BoundRange(NamedTuple):
    """What a table holds in a slot: `length` bytes from byte `offset` on of `buffer`, a whole buffer."""

    buffer: Any
    offset: int
    length: int

    def part(self, place: SlotRange) -> BoundRange:
        """The bytes of the binding that a command refers to."""
        length = self.length - place.offset if place.length is None else place.length
        return BoundRange(self.buffer, self.offset + place.offset, length)


@dataclass
class _Tally:
    end: int = 0
    alignment: int = 1
    commands: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)


def slot_uses(recording: Recording) -> tuple[SlotUse, ...]:
    """What the commands ask of each slot, up to the last one that is used."""
    tallies: dict[int, _Tally] = {}
    for index, command in _with_slots(recording):
        if isinstance(command, ExecuteCommands):
            nested = recording.resources.recordings[command.recording].recording
            for inner, place in enumerate(command.bindings):
                if isinstance(place, SlotRange):
                    _count_nested(tallies.setdefault(place.slot, _Tally()), index, nested.slots[inner], place)
            continue
        for place in used_places(command):
            if isinstance(place, SlotRange):
                _count(tallies.setdefault(place.slot, _Tally()), index, command, place)
    uses = {
        slot: SlotUse(tally.end, tally.alignment, tuple(tally.commands), tuple(tally.late))
        for slot, tally in tallies.items()
    }
    return tuple(uses.get(slot, _UNUSED) for slot in range(max(uses, default=-1) + 1))


def _with_slots(recording: Recording) -> Iterator[tuple[int, Command]]:
    """The commands that name a slot."""
    table = recording.table
    slots = table.places.slots()
    for index in range(len(table)) if slots else ():
        if not slots.isdisjoint(table.words(index)):
            yield index, table[index]


def _count(tally: _Tally, index: int, command: Command, place: SlotRange) -> None:
    kind = type_of(command)
    tally.end = max(tally.end, place.offset + (place.length or 0))
    _note(tally.commands, index)
    tally.alignment = math.lcm(tally.alignment, kind.alignment(command, place))
    if kind.check_bound is not None and (kind.compares_places or place.length is None):
        _note(tally.late, index)


def _count_nested(tally: _Tally, index: int, use: SlotUse, place: SlotRange) -> None:
    """As `_count` for a slot that stands for a slot of a nested recording."""
    tally.end = max(tally.end, place.offset + max(use.end, place.length or 0))
    tally.alignment = math.lcm(tally.alignment, use.alignment)
    _note(tally.commands, index)
    if use.late:
        _note(tally.late, index)


def _note(indices: list[int], index: int) -> None:
    if not indices or indices[-1] != index:
        indices.append(index)


def resolve(
    recording: Recording,
    bindings: Sequence[Any] | None,
    *,
    objects: Mapping[int, object] | None = None,
    owner: object = None,
) -> dict[int, BoundRange]:
    """Check a binding table against a recording.

    Args:
        bindings: a buffer, a view or None per slot. Entries beyond the last used slot are ignored, and so is the
            whole table when no command uses a slot.
        objects: what stands for the resource ids; None takes those the recording was made with.
        owner: the device that the buffers must belong to; None does not ask.

    Returns:
        For every slot that a command uses, what the table holds there.

    Raises:
        InvalidArgumentError: no table, or nothing in a used slot, something that is no memory, a buffer of another
            device, a misaligned binding, a copy whose two ends differ in length or overlap.
        OutOfRangeError: a table that is too short, or a binding smaller than what the commands use.
        FailedPreconditionError: a closed buffer.
    """
    uses = recording.slots
    if not uses:
        return {}
    _check_table(bindings, len(uses))
    table = bindings or ()
    bound = {slot: _bind(recording, slot, use, table[slot], owner) for slot, use in enumerate(uses) if use.commands}
    check_late(recording, bound, recording.resources.bound if objects is None else objects)
    return bound


def check_bound(recording: Recording, bound: Mapping[int, BoundRange], objects: Mapping[int, object]) -> None:
    """Check what is known of a table against a recording; slots that are not in `bound` are left for later.

    Raises what `resolve` raises.
    """
    for slot, use in enumerate(recording.slots):
        if slot in bound:
            try:
                _check_use(slot, use, bound[slot])
            except HipGraphError as error:
                raise error.located(f"slot {slot}, first used by {recording.where(use.commands[0])}") from None
    check_late(recording, bound, objects)


def check_late(recording: Recording, bound: Mapping[int, BoundRange], objects: Mapping[int, object]) -> None:
    """The rules that wait for the bindings, for commands whose slots are all known."""
    if recording._needs_slots_apart:
        check_slots_apart(recording, bound, objects)
    memory = BoundMemory(recording, objects, bound)
    for index in sorted({index for use in recording.slots for index in use.late}):
        command = recording[index]
        if any(isinstance(place, SlotRange) and place.slot not in bound for place in used_places(command)):
            continue
        check = type_of(command).check_bound
        try:
            if check is not None:
                check(command, memory)
        except HipGraphError as error:
            raise error.located(recording.where(index)) from None


def _check_table(bindings: Sequence[Any] | None, used: int) -> None:
    if bindings is not None:
        check_list(bindings, "the binding table", "buffers and views")
    if not bindings:
        raise InvalidArgumentError(
            "the recording uses slots and no binding table was given",
            found="no bindings",
            allowed=f"{used} {'entry' if used == 1 else 'entries'} or more",
            next_step="pass replay(bindings=[...])",
        )
    if len(bindings) < used:
        raise OutOfRangeError(
            "the binding table is too short", found=f"{len(bindings)} entries", allowed=f"{used} entries or more"
        )


def _bind(recording: Recording, slot: int, use: SlotUse, entry: Any, owner: object) -> BoundRange:
    try:
        bound = _as_range(slot, entry, owner)
        _check_use(slot, use, bound)
    except HipGraphError as error:
        raise error.located(f"slot {slot}, first used by {recording.where(use.commands[0])}") from None
    return bound


def _as_range(slot: int, entry: Any, owner: object) -> BoundRange:
    given = entry
    if not hasattr(entry, "buffer"):
        entry = imported(entry, owner)
    try:
        buffer, offset, length = entry.buffer, entry.offset, entry.length
    except AttributeError:
        raise InvalidArgumentError(
            f"slot {slot} of the binding table holds no device memory",
            found="None" if given is None else type(given).__name__,
            allowed="a Buffer or a BufferView",
        ) from None
    name = f"the buffer in slot {slot}"
    check_open("buffer", name, buffer)
    if owner is not None:
        check_owner("buffer", name, getattr(buffer, "device", owner), owner)
    bound = BoundRange(buffer, integer(offset, f"offset of {name}"), integer(length, f"length of {name}"))
    if bound.offset + bound.length > buffer.size:
        raise OutOfRangeError(
            f"the view in slot {slot} reaches past the end of its buffer",
            found=f"offset {bound.offset} + length {bound.length} = {bound.offset + bound.length}",
            allowed=f"offset + length <= {buffer.size}",
        )
    return bound


def _check_use(slot: int, use: SlotUse, bound: BoundRange) -> None:
    if bound.length < use.end:
        raise OutOfRangeError(
            f"the binding in slot {slot} is too small",
            found=f"{bound.length} bytes",
            allowed=f"{use.end} bytes or more, the end of the largest range used",
        )
    if bound.offset % use.alignment:
        raise InvalidArgumentError(
            f"the binding in slot {slot} is misaligned",
            found=f"offset {bound.offset}",
            allowed=f"a multiple of {use.alignment}, for the fills that use it",
        )


class BoundMemory(NamedTuple):
    """Where the bytes of commands are once the table is known."""

    recording: Recording
    objects: Mapping[int, object]
    bound: Mapping[int, BoundRange]

    def at(self, place: Location) -> BoundRange:
        """The bytes that a place stands for."""
        if isinstance(place, Range):
            # Without a live object the id stands for itself: it is the same memory as no bound buffer.
            return BoundRange(self.objects.get(place.resource, place), place.offset, place.length)
        return self.bound[place.slot].part(place)

    def check_apart(self, source: BoundRange, target: BoundRange) -> None:
        """Refuse a copy between bytes that are the same."""
        if source.buffer is target.buffer:
            check_apart(source, target, "one buffer")
        elif is_imported(source.buffer) or is_imported(target.buffer):
            origins = origins_of([source.buffer, target.buffer])
            source, target = (
                each._replace(offset=each.offset + origins[id(each.buffer)][1]) for each in (source, target)
            )
            check_apart(source, target, "one memory")

    def check_nested(self, command: ExecuteCommands) -> None:
        """The same for the commands of a nested recording."""
        nested = self.recording.resources.recordings[command.recording].recording
        bound = {slot: self.at(place) for slot, place in enumerate(command.bindings) if place is not None}
        check_late(nested, bound, self.objects)
