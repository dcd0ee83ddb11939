"""Nested recordings: one command runs all commands of another recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.recording.commands.fields import BINDINGS, LABEL, RECORDING
from hipgraph_cb.recording.commands.places import (
    Access,
    Constant,
    Location,
    Place,
    Range,
    SlotNumber,
    SlotRange,
    same_type_only,
)
from hipgraph_cb.recording.commands.types import CommandType, register

if TYPE_CHECKING:
    from hipgraph_cb.recording.accesses import AccessReader
    from hipgraph_cb.recording.bindings import BoundMemory
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording


@same_type_only
class ExecuteCommands(NamedTuple):
    """Run all commands of a nested recording.

    Attributes:
        recording: its id in the resource table.
        bindings: for each slot of the nested recording, up to the last one used, the memory or the number in it; None
            where no command uses the slot.
        label: the caller's name for this run.
    """

    recording: int
    bindings: tuple[Place | None, ...] = ()
    label: str | None = None


def substitute(command: ExecuteCommands, place: Location) -> Location | None:
    """Where a place of a nested recording is in the outer one; None for a slot with nothing in it."""
    if isinstance(place, Range):
        return place
    base = command.bindings[place.slot] if place.slot < len(command.bindings) else None
    if not isinstance(base, (Range, SlotRange)):
        return None
    length = place.length
    if length is None and base.length is not None:
        length = max(base.length - place.offset, 0)
    return base._replace(offset=base.offset + place.offset, length=length)  # type: ignore[arg-type]


def substitute_any(command: ExecuteCommands, place: Place) -> Place:
    """As `substitute` for memory and numbers; a slot with nothing in it, which no command uses, stays."""
    if isinstance(place, Constant):
        return place
    if isinstance(place, SlotNumber):
        base = command.bindings[place.slot] if place.slot < len(command.bindings) else None
        return base if isinstance(base, (SlotNumber, Constant)) else place
    return substitute(command, place) or place


def _accesses(command: ExecuteCommands, reader: AccessReader) -> list[Access]:
    """What the commands of the nested recording do, in places of this one."""
    placed = ((substitute(command, access.place), access) for access in reader.nested(command.recording))
    return list(dict.fromkeys(access._replace(place=place) for place, access in placed if place is not None))


def _check(command: ExecuteCommands, checker: CommandChecker) -> None:
    checker.check_nested(command)


def _check_bound(command: ExecuteCommands, memory: BoundMemory) -> None:
    memory.check_nested(command)


def _details(command: ExecuteCommands, recording: Recording) -> list[str]:
    entry = recording.resources.recordings[command.recording]
    bound = [
        f"{entry.recording.describe_slot(slot)} = {recording.describe_place(place)}"
        for slot, place in enumerate(command.bindings)
        if place is not None
    ]
    return [entry.name, *bound]


EXECUTE = register(
    CommandType(
        ExecuteCommands,
        "execute_commands",
        "execute",
        {"recording": RECORDING, "bindings": BINDINGS, "label": LABEL},
        accesses=_accesses,
        check=_check,
        check_bound=_check_bound,
        details=_details,
    )
)
