"""Programs of a group: a recording made ready for several devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, UnimplementedError
from hipgraph_cb.group.parts import Part, Parts
from hipgraph_cb.recording.binding_table import BoundRange
from hipgraph_cb.recording.bindings import entries_by_index, resolve
from hipgraph_cb.recording.rewriting import rewritten
from hipgraph_cb.recording.structure import check_same_structure
from hipgraph_cb.recording.validation import check_owner
from hipgraph_cb.runtime.event import check_signalled
from hipgraph_cb.runtime.program import Program

if TYPE_CHECKING:
    from hipgraph_cb.group.device_group import DeviceGroup
    from hipgraph_cb.recording.binding_table import Bindings, Table
    from hipgraph_cb.recording.outputs import Check
    from hipgraph_cb.recording.profile import Span
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.device import Device
    from hipgraph_cb.runtime.options import ProgramOptions


class GroupProgram(Program):
    """A recording whose commands run on several devices, each on that of its code or its memory.

    A device runs stretches of the recording as programs of its own; where it needs what another one does, it waits for
    an event. So a replay makes a few launches for each device.
    """

    def __init__(
        self,
        group: DeviceGroup,
        recording: Recording,
        substitutes: Mapping[int | str, Any] | None,
        options: ProgramOptions,
    ) -> None:
        super().__init__(recording)
        self._group = group
        self._options = options
        self._objects: dict[int, Any] = dict(recording.resources.complete(substitutes))
        self._check_members(recording)
        self._parts = Parts(group, recording, self._objects, options)
        self._disabled: set[int] = set()
        self._table: Table = {}
        self._given: dict[int, Any] = {}

    @property
    def group(self) -> DeviceGroup:
        """The group that it was made for."""
        return self._group

    @property
    def device(self) -> Device:
        """The first device that takes part."""
        first: Device = self._group[self._parts.members[0] if self._parts.members else 0]
        return first

    def replay(
        self, stream: Any = None, bindings: Bindings | None = None, mode: str = "graph", check: Check | None = None
    ) -> None:
        """As `Program.replay`; `stream` is a stream of the group, or None for each device's own."""
        self._check_open("replay")
        if check is not None:
            raise self._only_of_one("replay: check=")
        lanes = self._group._lanes(stream)
        with self._group._replaying("replay"):
            self._check_events()
            self._bind(bindings)
            members = self._parts.members
            is_joined = lanes.are_joined(members)
            lanes.note_failure(members)
            for part in () if is_joined else self._parts.forks:
                part.program.replay(lanes.on(part.member), mode=mode)
            for part in self._parts.parts:
                part.program.replay(lanes.on(part.member), self._bindings_of(part), mode)
            lanes.note_join(members)

    def update(self, recording: Recording) -> None:
        from hipgraph_cb.recording.recording import Recording

        self._check_open("update")
        if not isinstance(recording, Recording):
            raise InvalidArgumentError("update: not a recording", found=type(recording).__name__, allowed="a Recording")
        check_same_structure(self._recording, recording)
        self._take_over(recording)

    def _update_command(self, index: int, changes: Mapping[str, Any]) -> None:
        self._check_open("update")
        self._take_over(rewritten(self._recording, index, changes, self._objects, self._group, None))

    def _take_over(self, recording: Recording) -> None:
        """Run another recording from now on: other memory may have to be waited for in other ways."""
        with self._group._replaying("update"):
            before = self._recording, self._objects, self._parts
            objects = dict(recording.resources.complete())
            parts = Parts(self._group, recording, objects, self._options)
            try:
                self._recording, self._objects, self._parts = recording, objects, parts
                self._check_members(recording)
                for index in self._disabled:
                    self._switch(index, False)
            except BaseException:
                self._recording, self._objects, self._parts = before
                parts.close()
                raise
            before[2].close()
            used = {slot for slot, use in enumerate(recording.slots) if use.commands}
            self._given = {slot: entry for slot, entry in self._given.items() if slot in used}
            self._table = {}

    def _is_enabled(self, index: int) -> bool:
        return index not in self._disabled

    def _set_enabled(self, index: int, value: bool) -> None:
        if not isinstance(value, bool):
            raise InvalidArgumentError("enabled: not a truth value", found=repr(value)[:60], allowed="True or False")
        self._check_open("enabled")
        with self._group._replaying("enabled"):
            self._switch(index, value)
        (self._disabled.discard if value else self._disabled.add)(index)

    def _switch(self, index: int, value: bool) -> None:
        for part, position in self._parts.positions[index]:
            self._parts.parts[part].program._set_enabled(position, value)

    def _time_commands(self, bindings: Bindings | None) -> list[Span]:
        raise self._only_of_one("profile")

    def runtime_dot(self) -> str:
        raise self._only_of_one("runtime_dot")

    def _check_members(self, recording: Recording) -> None:
        """Refuse resources that are of no device of the group, or of another one than they were recorded on."""
        resources = recording.resources
        for kind, entries in (
            ("buffer", resources.buffers),
            ("executable", resources.executables),
            ("event", resources.events),
        ):
            for entry in entries.values():
                value = self._objects.get(entry.id)
                if value is None:
                    continue  # a transient buffer
                check_owner(kind, entry.name, value, self._group)
                number = self._group.number_of(value.device)
                if number != entry.device:
                    raise InvalidArgumentError(
                        "program: a resource is of another member than the one that it was recorded on",
                        where=f"{kind} {entry.name}",
                        found=f"member {number}",
                        allowed=f"member {entry.device}",
                    )

    def _check_events(self) -> None:
        """Refuse a wait for what nothing signalled, before anything is launched."""
        work = "a program without a label" if self.label is None else self.describe()
        check_signalled(self._recording._event_use.awaited, self._objects, work)

    def _bind(self, bindings: Bindings | None) -> None:
        """Check what a replay puts into the slots, for all devices, before anything is launched."""
        if not self._recording.slots or (bindings is None and self._table):
            return
        given = self._entries(bindings)
        table = resolve(self._recording, given, objects=self._objects, owner=self._group, before=self._table)
        for part in self._parts.parts:
            for slot, use in enumerate(part.program.recording.slots):
                bound = table.get(slot)
                if use.commands and isinstance(bound, BoundRange):
                    try:
                        check_owner("buffer", f"the buffer in slot {slot}", bound.buffer, self._group[part.member])
                    except HipGraphError as error:
                        raise error.located(part.program.recording.where(use.commands[0])) from None
        self._table = table
        if isinstance(given, Mapping):
            self._given.update(entries_by_index(self._recording, given))
        else:
            self._given = dict(enumerate(given or ()))

    def _entries(self, bindings: Bindings | None) -> Any:
        """What a replay gives; after an update, with what stays in the slots."""
        if bindings is None:
            return self._given or None
        if isinstance(bindings, Mapping) and not self._table:
            return {**self._given, **entries_by_index(self._recording, bindings)}
        return bindings

    def _bindings_of(self, part: Part) -> dict[int | str, Any] | None:
        """What the slots that a program uses hold."""
        uses = part.program.recording.slots
        return {slot: self._given[slot] for slot, use in enumerate(uses) if use.commands} if uses else None

    def _only_of_one(self, action: str) -> UnimplementedError:
        return UnimplementedError(
            f"{action}: a program of several devices cannot do this",
            where=self.describe(),
            next_step="load the recording on one device, or record what is of interest for that device alone",
        )

    def _release(self) -> None:
        self._parts.close()
