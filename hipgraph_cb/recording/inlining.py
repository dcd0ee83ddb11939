"""The commands of a nested recording as those of a recording of their own, over the memory that they are run with."""

from __future__ import annotations

from hipgraph_cb.recording.commands import ExecuteCommands, Place
from hipgraph_cb.recording.commands.execute import substitute_any
from hipgraph_cb.recording.recording import Recording


def inlined(recording: Recording, command: ExecuteCommands) -> Recording:
    """What `command` of `recording` runs, with what is bound to the slots in their place."""
    nested = recording.resources.recordings[command.recording].recording

    def at(place: Place) -> Place:
        return substitute_any(command, place)

    return Recording(
        nested.table.with_places(nested.table.places.replaced(at)),
        layer_starts=nested.layer_starts,
        resources=recording.resources,
        binding_capacity=recording.binding_capacity,
        label=nested.label,
        groups=nested.groups,
        dependencies=nested.dependencies,
        slot_names=recording.slot_names,
    )
