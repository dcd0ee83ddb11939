"""What the commands of a recording ask of each slot, read once: a replay then costs what its table costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.commands import Command, ExecuteCommands, SlotNumber, SlotRange
from hipgraph_cb.recording.commands.types import NumberUse, numbers, type_of, used_places

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
        type: of the number in it; None for memory.
        role: what the number is in the first of the commands.
        limits: what the device limits, the narrowest use of each kind, with the command.
    """

    end: int = 0
    alignment: int = 1
    commands: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    type: str | None = None
    role: str = ""
    limits: tuple[tuple[NumberUse, int], ...] = ()


UNUSED = SlotUse()


@dataclass
class _Tally:
    end: int = 0
    alignment: int = 1
    commands: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    type: str | None = None
    role: str = ""
    limits: dict[str, tuple[NumberUse, int]] = field(default_factory=dict)

    def use(self) -> SlotUse:
        """As a value."""
        lists = tuple(self.commands), tuple(self.late), self.type, self.role, tuple(self.limits.values())
        return SlotUse(self.end, self.alignment, *lists)

    def count_number(self, index: int, type: str, role: str, uses: Iterable[NumberUse]) -> None:
        """A use of a number by a command."""
        if not self.commands:
            self.type, self.role = type, role
        if type != self.type:
            raise InvalidArgumentError(
                "a slot is for numbers of two types", where=f"command {index}", found=f"{type}, and before {self.type}"
            )
        _note(self.commands, index)
        for use in uses:
            known = self.limits.get(use.limit)
            if use.limit and (known is None or use.weight > known[0].weight):
                self.limits[use.limit] = use, index


def slot_uses(recording: Recording) -> tuple[SlotUse, ...]:
    """What the commands ask of each slot, up to the last one that is used."""
    tallies: dict[int, _Tally] = {}
    for index, command in _with_slots(recording):
        if isinstance(command, ExecuteCommands):
            nested = recording.resources.recordings[command.recording].recording
            for inner, place in enumerate(command.bindings):
                if isinstance(place, SlotRange):
                    _count_nested(tallies.setdefault(place.slot, _Tally()), index, nested.slots[inner], place)
                elif isinstance(place, SlotNumber):
                    use, role = nested.slots[inner], f"{nested.describe_slot(inner)} of a nested recording"
                    limits = (limit for limit, _ in use.limits)
                    tallies.setdefault(place.slot, _Tally()).count_number(index, place.type, role, limits)
            continue
        for place in used_places(command):
            if isinstance(place, SlotRange):
                _count(tallies.setdefault(place.slot, _Tally()), index, command, place)
        _count_numbers(tallies, index, command, recording)
    uses = {slot: tally.use() for slot, tally in tallies.items()}
    return tuple(uses.get(slot, UNUSED) for slot in range(max(uses, default=-1) + 1))


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


def _count_numbers(tallies: dict[int, _Tally], index: int, command: Command, recording: Recording) -> None:
    found = list(numbers(command))
    for number, use in zip(found, type_of(command).number_uses(command, recording) if found else (), strict=True):
        if isinstance(number, SlotNumber):
            tallies.setdefault(number.slot, _Tally()).count_number(index, number.type, use.role, [use])


def _count_nested(tally: _Tally, index: int, use: SlotUse, place: SlotRange) -> None:
    """As `_count` for a slot that is a slot of a nested recording."""
    tally.end = max(tally.end, place.offset + max(use.end, place.length or 0))
    tally.alignment = math.lcm(tally.alignment, use.alignment)
    _note(tally.commands, index)
    if use.late:
        _note(tally.late, index)


def _note(indices: list[int], index: int) -> None:
    if not indices or indices[-1] != index:
        indices.append(index)
