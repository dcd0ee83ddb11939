"""The commands of a nested recording as those of a recording of their own, over the memory that they are run with."""

from __future__ import annotations

from hipgraph_cb.recording.bindings import substitute
from hipgraph_cb.recording.commands import (
    Command,
    Copy,
    Dispatch,
    DispatchIndirect,
    ExecuteCommands,
    Fill,
    Location,
    Update,
)
from hipgraph_cb.recording.recording import Recording


def inlined(recording: Recording, command: ExecuteCommands) -> Recording:
    """What `command` of `recording` runs, with everything that stands for the slots in their place."""
    nested = recording.resources.recordings[command.recording].recording
    return Recording(
        [_placed(each, command) for each in nested],
        layer_starts=nested.layer_starts,
        resources=recording.resources,
        binding_capacity=recording.binding_capacity,
        label=nested.label,
        groups=nested.groups,
        dependencies=nested.dependencies,
    )


def _placed(command: Command, outer: ExecuteCommands) -> Command:
    def at(place: Location) -> Location:
        # Every slot that a command uses is bound; only those that nobody uses are not.
        return substitute(outer, place) or place

    if isinstance(command, (Fill, Update)):
        return command._replace(target=at(command.target))
    if isinstance(command, Copy):
        return command._replace(source=at(command.source), target=at(command.target))
    if isinstance(command, ExecuteCommands):
        return command._replace(bindings=tuple(None if place is None else at(place) for place in command.bindings))
    if isinstance(command, (Dispatch, DispatchIndirect)):
        changed = command._replace(
            pointers=tuple((offset, at(place)) for offset, place in command.pointers),
            accesses=tuple((at(place), reads, writes) for place, reads, writes in command.accesses),
        )
        if isinstance(changed, DispatchIndirect):
            changed = changed._replace(workgroup_count=at(changed.workgroup_count))
        return changed
    return command
