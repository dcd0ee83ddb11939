"""The rules of recording, for a recording that no command buffer made: one that was read from a file or put together.

A command buffer checks every call. Whoever builds commands another way has them checked here, by the same rules, so
that no backend meets a range outside its buffer or a pointer outside its kernarg block.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from hipgraph_cb.code_object.kernel_args import POINTER_SIZE, ParameterKind
from hipgraph_cb.errors import (
    HipGraphError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    ResourceExhaustedError,
)
from hipgraph_cb.recording.categories import check_category, check_once
from hipgraph_cb.recording.commands import (
    Command,
    ExecuteCommands,
    HostCall,
    KernelLaunch,
    Location,
    Range,
    ResetEvent,
    SignalEvent,
    SlotNumber,
    SlotRange,
    WaitEvents,
    type_of,
)
from hipgraph_cb.recording.commands.types import categories_of, places
from hipgraph_cb.recording.events import EventStates, refuse_unsignalled
from hipgraph_cb.recording.groups import Group
from hipgraph_cb.recording.nesting import DEEPEST_NESTING, check_places
from hipgraph_cb.recording.number_types import NUMBER_TYPES
from hipgraph_cb.recording.open_numbers import INTEGERS
from hipgraph_cb.recording.validation import LARGEST, check_slot, check_within
from hipgraph_cb.recording.workgroups import check_lds, check_size, workgroup_size

if TYPE_CHECKING:
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.code_object.verify import VerifiedExport
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.recording.resources import ChannelEntry, ResourceTable

MOST_COMMANDS = 1 << 22
"""Commands that a recording may run, nested ones counted as often as they run: a backend makes a node for each."""


def check_recording(
    recording: Recording, limits: DeviceLimits | None = None, *, most_steps: int = MOST_COMMANDS
) -> None:
    """Refuse a recording that no command buffer would have made.

    Args:
        limits: what the device can run; None checks against the kernels only.
        most_steps: the commands that it may run, and the slots that all its recordings may have together, up to the
            last one that each uses: what a file of a few bytes may make of itself.

    Raises:
        InvalidArgumentError, OutOfRangeError, NotFoundError, FailedPreconditionError, ResourceExhaustedError: the first
            rule that is broken, with the command.
    """
    resources = recording.resources
    totals: dict[int, int] = {}
    slots = most_steps
    for key in sorted(resources.recordings):
        entry = resources.recordings[key]
        try:
            totals[key], slots = _check_one(entry.recording, resources, limits, totals, most_steps, slots)
        except HipGraphError as error:
            raise error.located(f"nested recording {entry.name}") from None
    _check_one(recording, resources, limits, totals, most_steps, slots)


def _check_one(
    recording: Recording,
    resources: ResourceTable,
    limits: DeviceLimits | None,
    totals: Mapping[int, int],
    most_steps: int,
    slots: int,
) -> tuple[int, int]:
    """Check a recording whose nested ones were checked, with their `totals`.

    Returns:
        How many commands it runs, and how many of the `slots` it leaves to others.
    """
    if recording.depth > DEEPEST_NESTING:
        raise ResourceExhaustedError(
            "recordings are nested too deep", found=f"{recording.depth} levels", allowed=f"{DEEPEST_NESTING} levels"
        )
    _check_groups(recording.groups, len(recording))  # first, for messages name a command by its groups
    _check_order(recording)
    checker = CommandChecker(recording, resources, limits, slots)
    total = 0
    for index, command in enumerate(recording):
        try:
            checker.check(command)
            total += _steps(command, totals)
            if total > most_steps:
                raise ResourceExhaustedError(
                    "nested recordings run too many commands", found=f"{total} so far", allowed=str(most_steps)
                )
        except HipGraphError as error:
            raise error.located(recording.where(index)) from None
    return total, slots - checker.used_slots


def _steps(command: Command, totals: Mapping[int, int]) -> int:
    """What a command counts: a wait as much as it has events, for whoever runs it looks at each."""
    if isinstance(command, ExecuteCommands):
        return totals[command.recording]
    return len(command.events) if isinstance(command, WaitEvents) else 1


class CommandChecker:
    """Checks the commands of one recording in order; what all dispatches of a kernel share is worked out once.

    Args:
        resources: of the outermost recording, whose executables count.
        most_slots: the slots that it may have, up to the last one that is used.

    Attributes:
        used_slots: those that it has so far.
    """

    def __init__(
        self, recording: Recording, resources: ResourceTable, limits: DeviceLimits | None, most_slots: int
    ) -> None:
        self.limits = limits
        self.used_slots = 0
        self._most_slots = most_slots
        self._resources = recording.resources
        self._executables = resources.executables
        self._capacity = recording.binding_capacity
        self._categories = recording.categories
        self._one_shot = recording.one_shot
        self._kernels: dict[tuple[int, str], KernelRules] = {}
        self._events = EventStates()

    def check(self, command: Command) -> None:
        """Refuse a command that breaks a rule."""
        kind = type_of(command)
        check_category(kind.verb, kind.category, self._categories)
        kind.check(command, self)

    def name(self, resource: int) -> str:
        """How messages call an event."""
        return self._resources.events[resource].name

    def buffer_name(self, resource: int) -> str:
        """How messages call a buffer."""
        return self._resources.buffers[resource].name

    def check_place(self, place: Location, *, empty: bool = False) -> None:
        """Refuse bytes that are not there; `empty`: none at all are accepted, as behind a kernel's pointer."""
        if isinstance(place, SlotRange):
            self._slot(place.slot)
            check_within(place.offset, place.length or 0, LARGEST, f"slot {place.slot}")
        else:
            entry = self._resources.buffers.get(place.resource)
            if entry is None:
                raise _unknown("buffer", place.resource)
            check_within(place.offset, place.length, entry.size, entry.name)
        if place.length == 0 and not empty:
            raise InvalidArgumentError("a transfer of no bytes is not recorded", found="length 0", allowed="1 or more")

    def _slot(self, slot: int) -> None:
        check_slot(slot, self._capacity)
        if slot >= self._most_slots:
            raise ResourceExhaustedError(
                "a command uses a slot that is too far up", found=f"slot {slot}", allowed=f"below {self._most_slots}"
            )
        self.used_slots = max(self.used_slots, slot + 1)

    def check_numbers(self, command: Command) -> None:
        """Refuse slots of numbers that are not in the table, and numbers that are not what they are used as."""
        fields = zip(type_of(command).fields.values(), command, strict=True)
        for field, value in fields:
            for number in field.numbers(value):
                if number.type not in NUMBER_TYPES:
                    raise InvalidArgumentError(
                        "a number of no type", found=number.type, allowed=", ".join(NUMBER_TYPES)
                    )
                if isinstance(number, SlotNumber):
                    self._slot(number.slot)
                if field.name in ("counts", "amount") and number.type not in INTEGERS:
                    raise InvalidArgumentError(
                        "a launch shape of no whole numbers", found=number.type, allowed=", ".join(INTEGERS)
                    )

    def check_launch(self, command: KernelLaunch) -> KernelRules:
        """What all dispatches have: size, LDS and the places of pointers; returns the rules for the kernarg block."""
        kernel = self._kernel(command)
        workgroup_size(kernel.export, command.workgroup_size)
        check_size(kernel.export, command.workgroup_size, self.limits)
        amount = command.dynamic_lds
        check_lds(kernel.export, 0 if isinstance(amount, SlotNumber) else amount, self.limits)
        self.check_numbers(command)
        for _, place in command.pointers:
            self.check_place(place, empty=True)
        for place, _reads, _writes in command.accesses:
            self.check_place(place, empty=True)
        return kernel

    def _kernel(self, command: KernelLaunch) -> KernelRules:
        key = command.executable, command.export
        kernel = self._kernels.get(key)
        if kernel is None:
            entry = self._executables.get(command.executable)
            if entry is None or command.executable not in self._resources.executables:
                raise _unknown("executable", command.executable)
            kernel = self._kernels[key] = KernelRules(entry.verified.export(command.export))
        return kernel

    def check_nested(self, command: ExecuteCommands) -> None:
        """Refuse bindings that a nested recording cannot use."""
        entry = self._resources.recordings.get(command.recording)
        if entry is None:
            raise _unknown("recording", command.recording)
        nested = entry.recording
        if not len(nested):
            raise InvalidArgumentError("a nested recording without commands is not recorded", found=entry.name)
        used = [bool(use.commands) for use in nested.slots]
        if [place is not None for place in command.bindings] != used:
            raise InvalidArgumentError(
                "the bindings are not those of the slots that the nested recording uses",
                found=f"{len(command.bindings)} bindings",
                allowed=f"{len(used)}, of which {sum(used)} are used",
            )
        for place in places(command):
            self.check_place(place, empty=True)
        for use, bound in zip(nested.slots, command.bindings, strict=True):
            if use.commands and (use.type is None) != isinstance(bound, (Range, SlotRange)):
                raise InvalidArgumentError(
                    "a binding is not what the slot of the nested recording holds",
                    found=str(bound),
                    allowed=use.type or "memory",
                )
        self.check_numbers(command)
        check_places(nested, command.bindings, self._resources.buffers, self.limits)
        check_category(type_of(command).verb, categories_of(nested), self._categories)
        check_once(nested, self._one_shot, type_of(command).verb)
        refuse_unsignalled(self, self._events.unsignalled(command, nested), type_of(command).verb)
        self._events.enter(command, nested)

    def check_function(self, command: HostCall) -> None:
        """Refuse what is no function."""
        if command.function not in self._resources.functions:
            raise _unknown("function", command.function)

    def channel(self, resource: int) -> ChannelEntry:
        """The rank with an id; refuses what is none."""
        entry = self._resources.channels.get(resource)
        if entry is None:
            raise _unknown("channel", resource)
        return entry

    def check_event(self, command: SignalEvent | ResetEvent) -> None:
        """Refuse what is no event; note what becomes of it."""
        if command.event not in self._resources.events:
            raise _unknown("event", command.event)
        self._events.enter(command)

    def check_wait(self, command: WaitEvents) -> None:
        """Refuse a wait in vain."""
        for event in command.events:
            if event not in self._resources.events:
                raise _unknown("event", event)
        if not command.events or len(set(command.events)) != len(command.events):
            raise InvalidArgumentError("a wait names no event, or one twice", found=str(command.events[:16]))
        refuse_unsignalled(self, self._events.unsignalled(command), type_of(command).verb)
        self._events.enter(command)


def _unknown(kind: str, id: int) -> NotFoundError:
    return NotFoundError(f"a command names a resource that is no {kind} of the recording", found=f"id {id}")


class KernelRules:
    """What a kernarg block of one kernel may look like: where values are and where pointers may stand."""

    def __init__(self, export: VerifiedExport) -> None:
        layout = export.layout
        self.export = export
        self.size = layout.size
        values = bytearray(layout.size)
        pointers = []
        for parameter in layout.parameters:
            if parameter.may_be_pointer:
                pointers.append(parameter.offset)
            if parameter.kind is not ParameterKind.POINTER:
                values[parameter.offset : parameter.offset + parameter.size] = b"\xff" * parameter.size
        self.offsets = frozenset(pointers)
        self._values = [
            (row.offset, row.offset + row.size) for row in layout.parameters if row.kind is ParameterKind.VALUE
        ]
        self._reserved = ~int.from_bytes(values, "little")

    def check_block(self, command: KernelLaunch) -> None:
        """Refuse a block of another size, bytes outside the values, and pointers that are no parameters."""
        block = command.kernarg
        if len(block) != self.size:
            raise InvalidArgumentError(
                f"the kernarg block does not fit kernel `{command.export}`",
                found=f"{len(block)} bytes",
                allowed=f"{self.size} bytes",
                detail=self.export.layout.signature(),
            )
        if int.from_bytes(block, "little") & self._reserved:
            raise InvalidArgumentError(
                f"the kernarg block of kernel `{command.export}` has bytes outside its values",
                allowed="zeros where pointers, hidden arguments and padding are",
                detail=self.export.layout.signature(),
            )
        self._check_numbers(command)
        offsets = [offset for offset, _ in command.pointers]
        strange = [offset for offset in offsets if offset not in self.offsets]
        if strange or any(first >= second for first, second in pairwise(offsets)):
            raise InvalidArgumentError(
                f"the pointers of a dispatch are not those of kernel `{command.export}`",
                found=f"offsets {', '.join(map(str, offsets[:16]))}",
                allowed=f"ascending ones of {', '.join(map(str, sorted(self.offsets))) or 'none'}, "
                f"{POINTER_SIZE} bytes each",
                detail=self.export.layout.signature(),
            )

    def _check_numbers(self, command: KernelLaunch) -> None:
        """Numbers in slots are within values, which are zero there, and apart from each other and from pointers."""
        taken = [(offset, offset + POINTER_SIZE) for offset, _ in command.pointers]
        spans = [(offset, offset + NUMBER_TYPES[number.type].size) for offset, number in command.numbers]
        for start, end in spans:
            is_inside = any(first <= start and end <= last for first, last in self._values)
            if not is_inside or any(command.kernarg[start:end]):
                raise InvalidArgumentError(
                    f"a number in a slot is not within a value of kernel `{command.export}`",
                    found=f"bytes {start} to {end}",
                    allowed="bytes of one argument, zeros in the kernarg block",
                    detail=self.export.layout.signature(),
                )
        if any(first[1] > second[0] for first, second in pairwise(sorted([*taken, *spans]))) or spans != sorted(spans):
            raise InvalidArgumentError(
                f"the numbers in slots of kernel `{command.export}` overlap, or are not in order",
                found=f"offsets {', '.join(str(start) for start, _ in spans[:16])}",
            )


def _check_order(recording: Recording) -> None:
    """Layers are stretches of commands, none empty; dependencies lead backwards."""
    count, starts, dependencies = len(recording), recording.layer_starts, recording.dependencies
    if (starts[:1] != (0,) if count else starts) or any(a >= b for a, b in pairwise((*starts, count))):
        raise OutOfRangeError(
            "the layers do not divide the commands",
            found=f"layers that start at {', '.join(map(str, starts[:16])) or 'nothing'}",
            allowed=f"0, then ascending indices below {count}" if count else "none, for there are no commands",
        )
    if dependencies is None:
        return
    if starts != tuple(range(count)):
        raise InvalidArgumentError(
            "dependencies stand beside layers",
            found=f"{len(starts)} layers of {count} commands",
            allowed="a layer for each command",
        )
    if len(dependencies) != count:
        raise InvalidArgumentError(
            "there are not as many dependencies as commands", found=str(len(dependencies)), allowed=str(count)
        )
    for index, waits in enumerate(dependencies):
        if any(first >= second for first, second in pairwise((-1, *waits, index))):
            raise OutOfRangeError(
                "a command waits for what does not come before it",
                where=recording.where(index),
                found=", ".join(map(str, waits[:16])),
                allowed=f"ascending indices below {index}",
            )


def _check_groups(groups: tuple[Group, ...], count: int) -> None:
    """Groups are stretches of commands, in order, and each is within the one of the next lower depth."""
    ends = [count]
    previous = (-1, 0)
    for number, group in enumerate(groups):
        while len(ends) > 1 and group.start >= ends[-1]:
            ends.pop()
        position = group.start, group.depth
        if not (previous < position and group.start < group.stop <= ends[-1] and group.depth == len(ends) - 1):
            raise OutOfRangeError(
                "the debug groups are not nested in each other",
                where=f"group {number}",
                found=f"commands {group.start} to {group.stop} at depth {group.depth}",
                allowed=f"commands within 0 to {count}, within the group around it and one deeper",
            )
        previous = position
        ends.append(group.stop)
