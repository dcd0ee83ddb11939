"""The commands of a recording, as immutable values.

They are named tuples because making one is two to three times cheaper than a frozen dataclass, and a recorder makes
several per call. Unlike plain tuples they are equal only to values of their own type.

A command names memory as `(resource id, offset, length)` or as a slot of the binding table, and a kernel as
`(executable id, export name)`; it holds neither an address nor an object of a backend (R7).
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

Dimensions = tuple[int, int, int]

_Class = TypeVar("_Class", bound=type)


def _same_type_only(cls: _Class) -> _Class:
    """Make `==` of a named tuple hold between values of that very type only."""

    def equal(self: tuple[object, ...], other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)

    def unequal(self: tuple[object, ...], other: object) -> bool:
        return not equal(self, other)

    cls.__eq__ = equal  # type: ignore[method-assign,assignment]
    cls.__ne__ = unequal  # type: ignore[method-assign,assignment]
    cls.__hash__ = tuple.__hash__  # type: ignore[method-assign,assignment]
    return cls


@_same_type_only
class Range(NamedTuple):
    """`length` bytes from byte `offset` on of the buffer that the resource table calls `resource`."""

    resource: int
    offset: int
    length: int


@_same_type_only
class SlotRange(NamedTuple):
    """Bytes of whatever the binding table holds in `slot` at replay; `length` None: all from `offset` on."""

    slot: int
    offset: int
    length: int | None


Location = Range | SlotRange
Pointers = tuple[tuple[int, Location], ...]


@_same_type_only
class Fill(NamedTuple):
    """Write `pattern` (1, 2 or 4 bytes) over and over until `target` is full."""

    target: Location
    pattern: bytes
    label: str | None = None


@_same_type_only
class Update(NamedTuple):
    """Write `data`, host bytes that the recording owns, to `target` of the same length."""

    target: Location
    data: bytes
    label: str | None = None


@_same_type_only
class Copy(NamedTuple):
    """Copy `source` to `target` of the same length; the two never overlap."""

    source: Location
    target: Location
    label: str | None = None


@_same_type_only
class Dispatch(NamedTuple):
    """Launch a kernel.

    Attributes:
        executable: id of the executable in the resource table.
        export: the kernel's name in that executable.
        workgroup_count: workgroups in x, y, z.
        workgroup_size: work-items per workgroup in x, y, z.
        dynamic_lds: bytes of LDS beyond what the kernel declares.
        kernarg: the explicit arguments at their offsets; pointers and everything hidden are zero.
        pointers: `(offset in the kernarg block, what its address is to be)`; null pointers are not listed.
        accesses: what the caller declares: `(place, whether it is read, whether it is written)`.
        label: the caller's name for this dispatch.
    """

    executable: int
    export: str
    workgroup_count: Dimensions
    workgroup_size: Dimensions
    dynamic_lds: int
    kernarg: bytes
    pointers: Pointers
    accesses: tuple[tuple[Location, bool, bool], ...] = ()
    label: str | None = None


@_same_type_only
class DispatchIndirect(NamedTuple):
    """Launch a kernel in as many workgroups as memory says when the command runs.

    Attributes:
        workgroup_count: 12 bytes with the workgroups in x, y, z as 32-bit numbers; a zero among them launches nothing.

    The other fields are those of `Dispatch`.
    """

    executable: int
    export: str
    workgroup_count: Location
    workgroup_size: Dimensions
    dynamic_lds: int
    kernarg: bytes
    pointers: Pointers
    accesses: tuple[tuple[Location, bool, bool], ...] = ()
    label: str | None = None

    def with_count(self, workgroup_count: Dimensions) -> Dispatch:
        """The dispatch that it is once the counts are known."""
        return Dispatch(self.executable, self.export, workgroup_count, *self[3:])


@_same_type_only
class ExecuteCommands(NamedTuple):
    """Run all commands of a nested recording.

    Attributes:
        recording: its id in the resource table.
        bindings: for each slot of the nested recording, up to the last one used, the memory that stands in it; None
            where no command uses the slot.
        label: the caller's name for this run.
    """

    recording: int
    bindings: tuple[Location | None, ...] = ()
    label: str | None = None


@_same_type_only
class SignalEvent(NamedTuple):
    """Signal the event with this resource id once everything recorded before is done."""

    event: int
    label: str | None = None


@_same_type_only
class ResetEvent(NamedTuple):
    """Make the event with this resource id count as not signalled again."""

    event: int
    label: str | None = None


@_same_type_only
class WaitEvents(NamedTuple):
    """Everything recorded after waits until the events with these resource ids are signalled."""

    events: tuple[int, ...]
    label: str | None = None


Command = Fill | Update | Copy | Dispatch | DispatchIndirect | ExecuteCommands | SignalEvent | ResetEvent | WaitEvents

VERBS: dict[type[Command], str] = {
    Fill: "fill_buffer",
    Update: "update_buffer",
    Copy: "copy_buffer",
    Dispatch: "dispatch",
    DispatchIndirect: "dispatch_indirect",
    ExecuteCommands: "execute_commands",
    SignalEvent: "signal_event",
    ResetEvent: "reset_event",
    WaitEvents: "wait_events",
}
"""The call that records each command."""


def content(command: Command) -> tuple[object, ...]:
    """What a command does: its type and fields without the label."""
    return (type(command), *command[:-1])
