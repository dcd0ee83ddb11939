"""Where in device memory the commands of a program write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.accesses import AccessReader
from hipgraph_cb.recording.binding_table import BoundRange, Table, part_of
from hipgraph_cb.recording.commands import Location, Range

if TYPE_CHECKING:
    from hipgraph_cb.backend.resources import BoundResources
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.options import ProgramOptions
    from hipgraph_cb.runtime.program import Program


@dataclass(frozen=True)
class Watched:
    """A program whose replay is checked.

    Attributes:
        resources, options: what it was made with.
        table: what is bound to its slots so far; empty before the first replay.
        changes_nodes: whether a rebind changes nodes of the existing graph.
        disabled: the commands that are switched off.
    """

    program: Program
    resources: BoundResources[Any]
    options: ProgramOptions
    table: Table
    changes_nodes: bool = False
    disabled: frozenset[int] = frozenset()

    @property
    def objects(self) -> Mapping[int, object]:
        """The live object of each resource id of its recording."""
        return self.resources.objects

    def program_of(self, recording: Recording, first: int = 0) -> Program:
        """A program of a part of the recording, from command `first` on, over the same resources, made in the same
        way."""
        program = self.program.device._make_program(recording, self.resources.of(recording), self.options)
        for index in self.disabled:
            if first <= index < first + len(recording):
                program[index - first].enabled = False
        return program


class WriteSet:
    """What each command writes, or may write where its access is not known.

    Args:
        table: what is bound to the slots.
    """

    def __init__(self, recording: Recording, objects: Mapping[int, object], table: Table) -> None:
        self._objects = objects
        self._table = table
        self._accesses = AccessReader(recording)

    def places(self, index: int) -> Iterator[Location]:
        """Of the command `index`."""
        return (access.place for access in self._accesses.of(index) if access.writes)

    def at(self, place: Location) -> BoundRange:
        """The memory of a place."""
        if isinstance(place, Range):
            return BoundRange(self._objects[place.resource], place.offset, place.length)
        return part_of(self._table, place)
