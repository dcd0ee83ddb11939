"""One command of a recording given other arguments: the recorder's own verbs make it, by the recorder's own rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, UnimplementedError
from hipgraph_cb.recording.commands import (
    Copy,
    Dispatch,
    DispatchIndirect,
    Fill,
    Location,
    Range,
    SlotNumber,
    SlotRange,
    Update,
    type_of,
)
from hipgraph_cb.recording.commands.types import TYPES
from hipgraph_cb.recording.dispatches import DispatchMaker
from hipgraph_cb.recording.number_types import NUMBER_TYPES
from hipgraph_cb.recording.recording import with_table
from hipgraph_cb.recording.resource_builder import ResourceBuilder
from hipgraph_cb.recording.resources import Slot
from hipgraph_cb.recording.transfers import Made, TransferMaker

if TYPE_CHECKING:
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.recording.recording import Recording

Changes = Mapping[str, Any]
"""What is other than before, by the names of the verb's arguments."""


def rewritten(
    recording: Recording,
    index: int,
    changes: Changes,
    objects: Mapping[int, Any],
    owner: object,
    limits: DeviceLimits | None,
) -> Recording:
    """The recording with one command that has other arguments.

    Args:
        objects: the live objects of its resources.
        owner: the device that everything must belong to.

    Raises:
        InvalidArgumentError: an argument that the command does not have, or what the verb refuses.
        UnimplementedError: a command of a type that cannot be given others.
        HipGraphError: as the verb.
    """
    try:
        return _Rewriter(recording, objects, owner, limits).rewritten(index, changes)
    except HipGraphError as error:
        raise error.located(recording.where(index)) from None


class _Rewriter:
    def __init__(
        self, recording: Recording, objects: Mapping[int, Any], owner: object, limits: DeviceLimits | None
    ) -> None:
        self._recording = recording
        self._objects = objects
        self._table = recording.table.copy()
        self._resources = ResourceBuilder.resumed(self._table, recording, objects, owner, limits)
        self._limits = limits

    def rewritten(self, index: int, changes: Changes) -> Recording:
        command: Any = self._recording[index]
        make, names = _MAKERS.get(type(command), (None, ()))
        verb = type_of(command).verb
        if make is None:
            raise UnimplementedError(
                f"update: {verb} cannot be given other arguments", next_step="record again, and call program.update"
            )
        unknown = [name for name in changes if name not in names]
        if unknown:
            raise InvalidArgumentError(
                f"update: {verb} has no such argument", found=", ".join(unknown), allowed=", ".join(names)
            )
        made = make(self, command, changes)
        if made is None:
            raise InvalidArgumentError(
                "update: the command would do nothing",
                found="no workgroups, or no bytes",
                next_step="switch it off: program[index].enabled = False",
            )
        kind = self._table.forms[made[0]].kind
        if kind is not type(command):
            raise InvalidArgumentError(
                "update: the command would be of another type", found=TYPES[kind].verb, allowed=verb
            )
        table = self._table.replaced_command(index, *made)
        return with_table(self._recording, table, self._resources.table(), self._resources.slots.names)

    def _dispatch(self, command: Any, changes: Changes) -> Made | None:
        maker = DispatchMaker(self._resources, self._table, self._limits)
        made = maker.make(*self._launch(command, changes))
        return made and maker.with_options(made, command.cooperative, command.priority)

    def _indirect(self, command: Any, changes: Changes) -> Made | None:
        maker = DispatchMaker(self._resources, self._table, self._limits)
        return self._table.split(maker.make_indirect(*self._launch(command, changes)))

    def _launch(self, command: Any, changes: Changes) -> tuple[Any, ...]:
        """What the verbs of dispatches take."""
        export = self._objects[command.executable][command.export]
        is_hal = "bindings" in changes or "constants" in changes
        if is_hal and "args" in changes:
            raise InvalidArgumentError("update: the arguments were given twice", found="args= and bindings=")
        args = None if is_hal else self._arguments(command, export.layout.parameters, changes.get("args", {}))
        count = command.workgroup_count
        present = self._object(count) if isinstance(count, (Range, SlotRange)) else tuple(map(_slot_or, count))
        reads = [self._object(place) for place, reads, _ in command.accesses if reads]
        writes = [self._object(place) for place, _, writes in command.accesses if writes]
        return (
            export,
            changes.get("workgroup_count", present),
            changes.get("workgroup_size", command.workgroup_size),
            args,
            changes.get("bindings"),
            changes.get("constants"),
            changes.get("dynamic_lds", _slot_or(command.dynamic_lds)),
            changes.get("reads", reads or None),
            changes.get("writes", writes or None),
            command.label,
        )

    def _arguments(self, command: Any, parameters: Any, given: Any) -> Any:
        """All arguments: those that are given by index or name, and the present ones."""
        if not isinstance(given, Mapping):
            return given
        pointers, numbers = dict(command.pointers), dict(command.numbers)
        values: list[Any] = []
        for parameter in parameters:
            start, end = parameter.offset, parameter.offset + parameter.size
            if start in pointers:
                values.append(self._object(pointers[start]))
            elif start in numbers and NUMBER_TYPES[numbers[start].type].size == parameter.size:
                values.append(_slot_or(numbers[start]))
            else:
                value = command.kernarg[start:end]
                values.append(None if parameter.kind.name == "POINTER" else value)
        names = {parameter.name: parameter.index for parameter in parameters if parameter.name}
        for key, value in given.items():
            position = names.get(key, key)
            if not isinstance(position, int) or not 0 <= position < len(values):
                raise InvalidArgumentError(
                    "update: the kernel has no such argument",
                    found=repr(key),
                    allowed=", ".join(parameter.label for parameter in parameters),
                )
            values[position] = value
        return values

    def _object(self, place: Location) -> Any:
        """What a caller would give for a place."""
        if isinstance(place, SlotRange):
            return Slot(*place)
        return self._objects[place.resource].view(place.offset, place.length)

    def _fill(self, command: Fill, changes: Changes) -> Made | None:
        pattern = changes.get("pattern", _slot_or(command.pattern))
        length = changes.get("pattern_length", 4 if "pattern" in changes else command.pattern_length)
        target = changes.get("target", self._object(command.target))
        return self._transfers.fill(target, pattern, length, 0, None, command.label)

    def _update(self, command: Update, changes: Changes) -> Made | None:
        target, data = changes.get("target", self._object(command.target)), changes.get("data", command.data)
        return self._transfers.update(target, data, 0, command.label)

    def _copy(self, command: Copy, changes: Changes) -> Made | None:
        source = changes.get("source", self._object(command.source))
        target = changes.get("target", self._object(command.target))
        return self._transfers.copy(source, target, 0, 0, None, command.label)

    @property
    def _transfers(self) -> TransferMaker:
        return TransferMaker(self._resources, self._table)


def _slot_or(value: Any) -> Any:
    """A number, or the slot that it is in as a caller gives it."""
    return Slot(value.slot, type=value.type) if isinstance(value, SlotNumber) else value


_SHAPE = ("workgroup_count", "workgroup_size", "args", "bindings", "constants", "dynamic_lds", "reads", "writes")
_MAKERS: dict[type[Any], tuple[Callable[[_Rewriter, Any, Changes], Made | None], tuple[str, ...]]] = {
    Dispatch: (_Rewriter._dispatch, _SHAPE),
    DispatchIndirect: (_Rewriter._indirect, _SHAPE),
    Fill: (_Rewriter._fill, ("target", "pattern", "pattern_length")),
    Update: (_Rewriter._update, ("target", "data")),
    Copy: (_Rewriter._copy, ("source", "target")),
}
