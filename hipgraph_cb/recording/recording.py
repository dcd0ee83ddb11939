"""The value that a command buffer leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from hipgraph_cb.cached import cached_property
from hipgraph_cb.errors import InvalidArgumentError, NoSuchIndexError, OutOfRangeError
from hipgraph_cb.recording import formats
from hipgraph_cb.recording.aliasing import touched
from hipgraph_cb.recording.categories import CommandCategory
from hipgraph_cb.recording.command_table import CommandTable
from hipgraph_cb.recording.commands import Command, Constant, Place, Range, SlotNumber, SlotRange, content
from hipgraph_cb.recording.dependencies import (
    Dependencies,
    JoinPolicy,
    LayerEdges,
    PlannedNode,
    levels,
    plan,
    plan_dependencies,
)
from hipgraph_cb.recording.events import NO_EVENTS, EventUse, event_use
from hipgraph_cb.recording.groups import Group, paths
from hipgraph_cb.recording.number_types import value_of
from hipgraph_cb.recording.resources import TRANSIENT, ResourceTable
from hipgraph_cb.recording.slot_uses import SlotUse, slot_uses
from hipgraph_cb.recording.validation import integer
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from hipgraph_cb.recording.hazards import Finding
    from hipgraph_cb.recording.memory import Extent, Memory
    from hipgraph_cb.recording.transients import TransientLayout


class Recording(Sequence[Command]):
    """Commands in the order of their calls, with the barriers between them and the resources they name. Immutable.

    Two recordings are equal when they do the same work: the same commands, layers, binding capacity, buffer sizes and
    code. Labels and the live objects behind the resource table do not count.

    Attributes:
        table: the commands as they are kept; one of its own type is made when somebody asks for it.
        layer_starts: the index of each layer's first command: 0, then the first command behind each barrier that
            orders anything. With `dependencies`, every command is a layer of its own: whoever knows only of layers
            keeps the order of the calls.
        dependencies: for each command the commands it waits for, where barriers alone do not say it: they were inferred
            from accesses, or events are in use; else None.
        resources: what the ids in the commands stand for.
        binding_capacity: entries of the binding table that slots may refer to.
        label: the caller's name for it.
        groups: the debug groups, outer before inner; like labels they do not count for equality.
        slot_names: by index, of the slots that have a name; they do not count for equality either.
        one_shot: whether a program of it is replayed once at most.
        categories: what its command buffer took.
    """

    def __init__(
        self,
        commands: Sequence[Command] | CommandTable,
        *,
        layer_starts: Sequence[int] = (),
        resources: ResourceTable | None = None,
        binding_capacity: int = 0,
        label: str | None = None,
        groups: Sequence[Group] = (),
        dependencies: Dependencies | None = None,
        numbers: Sequence[int] | None = None,
        slot_names: Mapping[int, str] | None = None,
        one_shot: bool = False,
        categories: CommandCategory = CommandCategory.ANY,
    ) -> None:
        self.table = commands if isinstance(commands, CommandTable) else CommandTable(commands)
        self.layer_starts = tuple(layer_starts) or ((0,) if len(self.table) else ())
        self.dependencies = dependencies
        self.resources = ResourceTable() if resources is None else resources
        self.binding_capacity = binding_capacity
        self.label = label
        self.groups = tuple(groups)
        self._numbers = numbers
        self.slot_names: Mapping[int, str] = MappingProxyType(dict(slot_names or {}))
        self.one_shot = one_shot
        self.categories = categories
        self._frozen = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_frozen" in self.__dict__:
            raise AttributeError(f"a Recording is immutable: cannot set {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Recording is immutable: cannot delete {name!r}")

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """What was recorded; a command's index is its position. They are kept from when they are first asked for, where
        `recording[index]` makes one each time."""
        return tuple(self.table)

    @cached_property
    def layers(self) -> tuple[tuple[int, ...], ...]:
        """The command indices between barriers. Commands of one layer may run in any order or at once.

        With inferred dependencies, the levels of the graph: each command waits for some of the level before it.
        """
        if self.dependencies is not None:
            return levels(self.dependencies)
        bounds = (*self.layer_starts, len(self))
        return tuple(tuple(range(start, end)) for start, end in pairwise(bounds))

    @cached_property
    def edges(self) -> Sequence[tuple[int, int]]:
        """The command-to-command dependencies (from, to): those inferred, or those that direct edges would draw."""
        if self.dependencies is not None:
            return tuple((wait, index) for index, waits in enumerate(self.dependencies) for wait in waits)
        return LayerEdges(self.layers)

    @property
    def _needs_slots_apart(self) -> bool:
        """Whether the order of the commands was inferred as if every slot held memory of its own."""
        return self.dependencies is not None and not self.resources.events and bool(self.slots)

    @cached_property
    def _touched(self) -> dict[Memory, Extent]:
        """What the commands touch of each slot and buffer. See `recording.aliasing`."""
        return touched(self)

    @cached_property
    def slots(self) -> tuple[SlotUse, ...]:
        """What the commands ask of each slot of the binding table, up to the last one used."""
        return slot_uses(self) if self.binding_capacity else ()

    @cached_property
    def _transients(self) -> TransientLayout:
        """Where its transient buffers are in the arena of a program."""
        from hipgraph_cb.recording.transients import layout

        return layout(self)

    @property
    def peak_transient_bytes(self) -> int:
        """Bytes that a program allocates for the transient buffers, those of nested recordings included. Buffers that
        are never in use at the same time share them."""
        return self._transients.size

    @cached_property
    def kinds(self) -> frozenset[type[Command]]:
        """The types of its commands, those of nested recordings not included."""
        return self.table.kinds

    @cached_property
    def _event_use(self) -> EventUse:
        """Which events it waits for from outside, and how it leaves those that it signals or resets."""
        return event_use(self) if self.resources.events else NO_EVENTS

    @cached_property
    def depth(self) -> int:
        """How deep recordings are nested in it: 0 without any."""
        return max((1 + entry.recording.depth for entry in self.resources.recordings.values()), default=0)

    @cached_property
    def group_paths(self) -> tuple[tuple[str, ...], ...]:
        """For each command the labels of its debug groups, outermost first."""
        return paths(self.groups, len(self))

    @overload
    def __getitem__(self, index: int) -> Command: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Command, ...]: ...
    def __getitem__(self, index: int | slice) -> Command | tuple[Command, ...]:
        rows = self._rows(index, "recording[...]", "a whole number or a slice")
        return self.table[rows] if isinstance(rows, int) else tuple(map(self.table.__getitem__, rows))

    def _rows(self, index: int | slice, caller: str, allowed: str = "a whole number") -> int | range:
        """The index counted from the start, or those of a slice."""
        try:
            return range(len(self.table))[index]
        except TypeError:
            found = type(index).__name__
            raise InvalidArgumentError(f"{caller}: not an index", found=found, allowed=allowed) from None
        except IndexError:
            raise NoSuchIndexError(
                f"{caller}: no such command", found=str(index), allowed=f"0 to {len(self) - 1}"
            ) from None

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Command]:
        return iter(self.table)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recording):
            return NotImplemented
        return self is other or self._content == other._content

    def __hash__(self) -> int:
        return hash((self.layer_starts, len(self), self.binding_capacity))

    @property
    def _content(self) -> tuple[object, ...]:
        """What counts for equality."""
        commands = tuple(content(command) for command in self)
        order = self.layer_starts, self.dependencies
        mode = self.binding_capacity, self.one_shot, self.categories
        return commands, order, mode, self.resources.facts()

    def __repr__(self) -> str:
        counts = [
            (len(self), "command"),
            (len(self.layers), "layer"),
            (len(self.resources.buffers), "buffer"),
            (len(self.resources.executables), "executable"),
            (self.binding_capacity, "slot"),
        ]
        further = (
            (len(self.resources.events), "event"),
            (len(self.resources.recordings), "nested recording"),
            (len(self.resources.functions), "function"),
            (len(self.resources.channels), "channel"),
        )
        counts += [each for each in further if each[0]]
        listing = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
        return f"<Recording{'' if self.label is None else f' {self.label!r}'}: {listing}>"

    def plan(self, join: JoinPolicy = JoinPolicy.AUTO) -> Iterator[PlannedNode]:
        """The nodes to add to a graph, in order; see `dependencies.plan`."""
        return plan(self.layers, join) if self.dependencies is None else plan_dependencies(self.dependencies, join)

    def number(self, index: int) -> int:
        """The index by which messages call a command: of a part of a recording, its index in the whole."""
        return index if self._numbers is None else self._numbers[index]

    def where(self, index: int) -> str:
        """How messages call a command: its index, its label, its debug groups, the recording's label.

        Args:
            index: of the command; negative ones count from the end.

        Raises:
            InvalidArgumentError, OutOfRangeError: not an index, or of no command.
        """
        index = integer(self._rows(index, "where"), "index")
        groups = self.group_paths[index] if self.groups else ()
        return command_place(self.number(index), self.table.labels.get(index), groups, self.label)

    def describe_slot(self, slot: int) -> str:
        """How messages and exports call a slot.

        Raises:
            InvalidArgumentError: not the number of a slot.
        """
        name = self.slot_names.get(integer(slot, "slot"))
        return f"slot {slot}" if name is None else f"slot {slot} `{visible(name)}`"

    def describe_place(self, place: Place) -> str:
        """How messages and exports call a place: its name and `[start:end]`, with no end where a binding sets it; for
        a number its value or slot, and its type.

        Raises:
            InvalidArgumentError: no place, or one in a buffer that the recording does not have.
        """
        if isinstance(place, Constant):
            return f"{value_of(*place)}: {place.type}"
        if isinstance(place, SlotNumber):
            return f"{self.describe_slot(place.slot)}: {place.type}"
        if isinstance(place, SlotRange):
            name = self.describe_slot(place.slot)
        elif isinstance(place, Range) and place.resource in self.resources.buffers:
            name = self.resources.buffers[place.resource].name
        else:
            raise InvalidArgumentError(
                "describe_place: not a place of the recording",
                found=repr(place)[:80],
                allowed="a SlotRange, or a Range in one of its buffers",
            )
        end = "" if place.length is None else place.offset + place.length
        return f"{name}[{place.offset}:{end}]"

    def hazards(self) -> tuple[Finding, ...]:
        """Missing barriers, and barriers that order nothing, in the order of the commands. See `recording.hazards`."""
        from hipgraph_cb.recording.hazards import findings

        return tuple(sorted(findings(self), key=lambda finding: finding.position))

    def to_dot(self, *, join: JoinPolicy = JoinPolicy.AUTO) -> str:
        """The graph in Graphviz's language, with the joins that the policy makes. See `hipgraph_cb.export.dot`."""
        return formats.write("dot", self, join=join)

    def to_mermaid(self, *, join: JoinPolicy = JoinPolicy.AUTO) -> str:
        """The graph as a Mermaid flowchart. See `hipgraph_cb.export.mermaid`."""
        return formats.write("mermaid", self, join=join)

    def to_html(self, *, join: JoinPolicy = JoinPolicy.AUTO) -> str:
        """The graph as one self-contained page for a browser. See `hipgraph_cb.export.html`."""
        return formats.write("html", self, join=join)

    def to_json(self, *, indent: int | None = 2) -> str:
        """All of it as JSON, for tools. See `hipgraph_cb.export.json`."""
        return formats.write("json", self, indent=indent)

    def export(self, format: str, **options: Any) -> str:
        """The recording in a text format by name: those of `hipgraph_cb.export`, and any that a program registered.

        Args:
            options: of the format, such as `join=` of "dot".

        Raises:
            NotFoundError: there is no such format.
        """
        return formats.write(format, self, **options)

    def snapshot(self) -> dict[int, NDArray[Any]]:
        """The bytes of every buffer as they are now, by resource id: what `save(contents=...)` takes. Transient buffers
        have none.

        Raises:
            NotFoundError: the recording is not bound to buffers, as one from a file is not.
        """
        buffers = sorted(id for id, entry in self.resources.buffers.items() if entry.memory != TRANSIENT)
        return {id: self.resources.live_buffer(id).to_host() for id in buffers}

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        contents: Any = None,
        expected: Any = None,
        allow_empty: bool = False,
    ) -> None:
        """Write a capture file, which needs neither this process nor a device to be read. See `hipgraph_cb.capture`.

        Recordings that are equal in everything, labels included, give equal files.

        Args:
            contents: what the buffers hold before the first replay: a mapping from resource ids, labels, buffers or
                slots to arrays, as `snapshot` gives it; or True for what the buffers hold now.
            expected: what they should hold after one replay, likewise; arrays are compared with the tolerances of
                their type, `capture.expected.Expected` sets others, and bytes must be equal, as with True.
            allow_empty: whether a recording without commands may be saved.

        Raises:
            FailedPreconditionError: there are no commands: calls that do nothing record nothing.
            UnimplementedError: something that the format cannot hold.
            InvalidArgumentError, NotFoundError: contents of no buffer, or of another size.
            HipGraphError: a command that breaks a rule, in a recording that was made without validation.
            FileError: the file cannot be written.
        """
        capture = formats.find("hgcb", formats.FileFormat)
        capture.save(self, path, contents=contents, expected=expected, allow_empty=allow_empty)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """The recording of a capture file; no device is needed. It is bound to no buffers.

        Raises:
            MissingFileError: there is no such file.
            IncompatibleError: a file of another version.
            HipGraphError: the file is not what `save` writes; every command is checked as if it were recorded.
        """
        return formats.find("hgcb", formats.FileFormat).load(path).recording

    def part(self, commands: range | slice) -> Recording:
        """A stretch of the commands as a recording of its own, over the same resource table.

        Commands of one layer stay in one layer, and wait for those before them that are in the part too. Messages call
        them by their indices in the whole.

        Args:
            commands: consecutive indices.

        Raises:
            OutOfRangeError: indices that are not consecutive, or no commands of this recording.
        """
        chosen = _stretch(commands, len(self))
        start, stop = chosen.start, chosen.stop
        if chosen.step != 1 or not 0 <= start <= stop <= len(self):
            raise OutOfRangeError(
                "a part of a recording is a stretch of its commands",
                found=repr(commands),
                allowed=f"consecutive indices from 0 to {len(self)}",
            )
        dependencies = self.dependencies
        if dependencies is not None:
            dependencies = tuple(
                tuple(wait - start for wait in waits if wait >= start) for waits in dependencies[start:stop]
            )
        inside = [layer - start for layer in self.layer_starts if start < layer < stop]
        groups = [group._replace(start=max(group.start, start), stop=min(group.stop, stop)) for group in self.groups]
        return _changed(
            self,
            commands=self.table.part(start, stop),
            layer_starts=(0, *inside) if start < stop else (),
            groups=[
                group._replace(start=group.start - start, stop=group.stop - start)
                for group in groups
                if group.start < group.stop
            ],
            dependencies=dependencies,
            numbers=(range(len(self)) if self._numbers is None else self._numbers)[start:stop],
        )


def with_resources(recording: Recording, resources: ResourceTable) -> Recording:
    """The same commands over another resource table."""
    return _changed(recording, resources=resources)


def with_commands(recording: Recording, commands: Sequence[Command]) -> Recording:
    """As many other commands in the same layers, groups and over the same resource table."""
    return _changed(recording, commands=commands)


def with_table(
    recording: Recording, table: CommandTable, resources: ResourceTable, slot_names: Mapping[int, str]
) -> Recording:
    """The recording with other commands and resources, in the same layers and groups."""
    return _changed(recording, commands=table, resources=resources, slot_names=slot_names)


def with_dependencies(recording: Recording, dependencies: Dependencies) -> Recording:
    """The same commands with dependencies of their own instead of layers."""
    return _changed(recording, layer_starts=range(len(recording)), dependencies=dependencies)


def _changed(recording: Recording, **changes: Any) -> Recording:
    """A recording that differs in the named arguments of the constructor."""
    facts = {
        "commands": recording.table,
        "layer_starts": recording.layer_starts,
        "resources": recording.resources,
        "binding_capacity": recording.binding_capacity,
        "label": recording.label,
        "groups": recording.groups,
        "dependencies": recording.dependencies,
        "numbers": recording._numbers,
        "slot_names": recording.slot_names,
        "one_shot": recording.one_shot,
        "categories": recording.categories,
    }
    return Recording(**{**facts, **changes})


def _stretch(commands: object, count: int) -> range:
    """The indices of a slice or a range, not yet checked."""
    try:
        if isinstance(commands, slice):
            return range(count)[commands]
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError("part: not a slice of whole numbers", found=str(error)) from None
    if not isinstance(commands, range):
        raise InvalidArgumentError("part: not a stretch", found=type(commands).__name__, allowed="a range or a slice")
    return commands


def command_place(index: int, label: str | None, groups: Sequence[str], recording: str | None) -> str:
    """`command 3 'label' in 'group' in 'step'`, from the inside out, without what has no name."""
    named = "" if label is None else f" {label!r}"
    around = [*reversed(groups), *([] if recording is None else [recording])]
    return f"command {index}{named}" + "".join(f" in {each!r}" for each in around)
