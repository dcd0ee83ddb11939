"""Dispatches, with workgroup counts that are known or that memory holds when their turn comes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.abi.c_types import C_TYPES
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.categories import CommandCategory
from hipgraph_cb.recording.commands.fields import (
    ACCESSES,
    AMOUNT,
    BYTES,
    COUNTS,
    DIMENSIONS,
    EXECUTABLE,
    FLAG,
    LABEL,
    NUMBERS,
    PLACE,
    POINTERS,
    PRIORITY,
    TEXT,
)
from hipgraph_cb.recording.commands.places import (
    Access,
    Counts,
    Location,
    Number,
    Numbers,
    Pointers,
    SlotNumber,
    same_type_only,
)
from hipgraph_cb.recording.commands.types import CommandType, NumberUse, register
from hipgraph_cb.recording.commands.values import data
from hipgraph_cb.recording.launch_options import LaunchOptions, check_known_shape, checked_options
from hipgraph_cb.recording.number_types import NUMBER_TYPES
from hipgraph_cb.recording.workgroups import Dimensions, check_grid

if TYPE_CHECKING:
    from hipgraph_cb.recording.accesses import AccessReader
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording

COUNTS_SIZE = 12
"""Bytes of the workgroup counts of an indirect dispatch: x, y, z as 32-bit numbers."""
COUNTS_ALIGNMENT = 4
"""Workgroup counts in memory are 32-bit numbers."""


@same_type_only
class Dispatch(NamedTuple):
    """Launch a kernel.

    Attributes:
        executable: id of the executable in the resource table.
        export: the kernel's name in that executable.
        workgroup_count: workgroups in x, y, z; each may be a number in a slot.
        workgroup_size: work-items per workgroup in x, y, z.
        dynamic_lds: bytes of LDS beyond what the kernel declares, or a number in a slot.
        kernarg: the explicit arguments at their offsets; pointers, numbers in slots and everything hidden are zero.
        pointers: `(offset in the kernarg block, what its address is to be)`; null pointers are not listed.
        accesses: what the caller declares: `(place, whether it is read, whether it is written)`.
        numbers: `(offset in the kernarg block, the number in a slot)`, ascending.
        cooperative: whether all workgroups have to be resident at once.
        priority: a hint; lower numbers go first.
        label: the caller's name for this dispatch.
    """

    executable: int
    export: str
    workgroup_count: Counts
    workgroup_size: Dimensions
    dynamic_lds: int | SlotNumber
    kernarg: bytes
    pointers: Pointers
    accesses: tuple[tuple[Location, bool, bool], ...] = ()
    numbers: Numbers = ()
    cooperative: bool = False
    priority: int = 0
    label: str | None = None


@same_type_only
class DispatchIndirect(NamedTuple):
    """Launch a kernel in as many workgroups as memory says when the command runs.

    Attributes:
        workgroup_count: 12 bytes with the workgroups in x, y, z as 32-bit numbers; a zero among them launches nothing.

    The other fields are those of `Dispatch`, but for its options.
    """

    executable: int
    export: str
    workgroup_count: Location
    workgroup_size: Dimensions
    dynamic_lds: int | SlotNumber
    kernarg: bytes
    pointers: Pointers
    accesses: tuple[tuple[Location, bool, bool], ...] = ()
    numbers: Numbers = ()
    label: str | None = None

    def with_count(self, workgroup_count: Dimensions) -> Dispatch:
        """The dispatch that it is once the counts are known."""
        return Dispatch(self.executable, self.export, workgroup_count, *self[3:-1], label=self.label)


KernelLaunch = Dispatch | DispatchIndirect


def _accesses(command: KernelLaunch, reader: AccessReader) -> list[Access]:
    """What is declared, and for other pointers what the metadata states."""
    declared = _merged(command.accesses)
    accesses = [Access(place, reads, writes) for place, (reads, writes) in declared.items()]
    parameters = reader.parameters_of(command)
    for offset, place in command.pointers:
        if place not in declared:
            accesses.append(Access(place, *parameters[offset]))
    return accesses


def _indirect_accesses(command: DispatchIndirect, reader: AccessReader) -> list[Access]:
    return [Access(command.workgroup_count, True, False), *_accesses(command, reader)]


def _merged(accesses: Sequence[tuple[Location, bool, bool]]) -> dict[Location, tuple[bool, bool]]:
    merged: dict[Location, tuple[bool, bool]] = {}
    for place, reads, writes in accesses:
        before = merged.get(place, (False, False))
        merged[place] = (before[0] or reads, before[1] or writes)
    return merged


def _check(command: Dispatch, checker: CommandChecker) -> None:
    count = command.workgroup_count
    if 0 in count:
        raise InvalidArgumentError("a dispatch of no workgroups is not recorded", found=str(count))
    options = checked_options(command.cooperative, command.priority)
    if any(isinstance(each, SlotNumber) for each in (*count, command.dynamic_lds)):
        check_known_shape(options)
    kernel = checker.check_launch(command)
    known = [1 if isinstance(each, SlotNumber) else each for each in count]
    check_grid((known[0], known[1], known[2]), command.workgroup_size, checker.limits)
    kernel.check_block(command)


def _check_indirect(command: DispatchIndirect, checker: CommandChecker) -> None:
    counts = command.workgroup_count
    checker.check_place(counts)
    if counts.length != COUNTS_SIZE or counts.offset % COUNTS_ALIGNMENT:
        raise InvalidArgumentError(
            "the workgroup counts are not three 32-bit numbers",
            found=f"{counts.length} bytes from byte {counts.offset} on",
            allowed=f"{COUNTS_SIZE} bytes from a multiple of {COUNTS_ALIGNMENT} on",
        )
    checker.check_launch(command).check_block(command)


def _number_uses(command: KernelLaunch, recording: Recording) -> list[NumberUse]:
    """In the order of the fields: counts, dynamic LDS, arguments."""
    export = recording.resources.executables[command.executable].verified.exports[command.export]
    uses: list[NumberUse] = []
    if isinstance(command, Dispatch):
        for axis, count, size in zip("xyz", command.workgroup_count, command.workgroup_size, strict=True):
            if isinstance(count, SlotNumber):
                uses.append(NumberUse(f"workgroup_count in {axis}", "grid", size))
    if isinstance(command.dynamic_lds, SlotNumber):
        uses.append(NumberUse("dynamic_lds", "lds", export.group_segment_size, command.export))
    return [*uses, *(NumberUse(f"argument {export.layout.label_at(offset)}") for offset, _ in command.numbers)]


def _details(command: Dispatch, recording: Recording) -> list[str]:
    counts = (
        recording.describe_place(each) if isinstance(each, SlotNumber) else str(each)
        for each in command.workgroup_count
    )
    cooperative = ["cooperative"] if command.cooperative else []
    priority = [f"priority {command.priority}"] if command.priority else []
    shape = f"{' x '.join(counts)} workgroups of {_listed(command.workgroup_size)}"
    return [shape, *cooperative, *priority, *_rest(command, recording)]


def _indirect_details(command: DispatchIndirect, recording: Recording) -> list[str]:
    size, place = _listed(command.workgroup_size), recording.describe_place(command.workgroup_count)
    return [f"as many workgroups of {size} as {place} says", *_rest(command, recording)]


def _rest(command: KernelLaunch, recording: Recording) -> list[str]:
    amount = command.dynamic_lds
    shown = recording.describe_place(amount) if isinstance(amount, SlotNumber) else amount
    lds = [f"{shown} bytes of dynamic LDS"] if amount else []
    origin = recording.resources.executables[command.executable].verified.origins.get(command.export)
    place = [f"from {origin}"] if origin else []
    return [*lds, *place, *arguments(recording, command)]


def arguments(recording: Recording, command: KernelLaunch) -> list[str]:
    """A line per parameter of the kernel: its label and what it is given."""
    layout = recording.resources.executables[command.executable].verified.exports[command.export].layout
    pointers = dict(command.pointers)
    numbers = dict(command.numbers)
    return [
        f"{parameter.label} = {_argument(recording, parameter, command.kernarg, pointers, numbers)}"
        for parameter in layout.parameters
    ]


def _argument(
    recording: Recording, parameter: Any, kernarg: bytes, pointers: dict[int, Location], numbers: dict[int, Number]
) -> str:
    if parameter.offset in pointers:
        return recording.describe_place(pointers[parameter.offset])
    end = parameter.offset + parameter.size
    inside = [(offset, number) for offset, number in numbers.items() if parameter.offset <= offset < end]
    if [offset for offset, _ in inside] == [parameter.offset] and NUMBER_TYPES[
        inside[0][1].type
    ].size == parameter.size:
        return recording.describe_place(inside[0][1])
    raw = kernarg[parameter.offset : end]
    if inside:
        parts = (f"{recording.describe_place(number)} at byte {at - parameter.offset}" for at, number in inside)
        return f"{data(raw)} with {', '.join(parts)}"
    if parameter.kind.name == "POINTER":
        return "null"
    ctype = C_TYPES.get(parameter.type_name or "")
    if ctype is not None and ctype.size == len(raw):
        return str(struct.unpack(f"<{ctype.letter}", raw)[0])
    return data(raw) if len(raw) > 8 else f"0x{int.from_bytes(raw, 'little'):0{2 * len(raw)}x}"


def _listed(values: tuple[int, int, int]) -> str:
    return " x ".join(map(str, values))


_LAUNCH = {
    "workgroup_size": DIMENSIONS,
    "dynamic_lds": AMOUNT,
    "kernarg": BYTES,
    "pointers": POINTERS,
    "accesses": ACCESSES,
    "numbers": NUMBERS,
}
_OPTIONS = {"cooperative": FLAG, "priority": PRIORITY, "label": LABEL}

DISPATCH = register(
    CommandType(
        Dispatch,
        "dispatch",
        "dispatch",
        {
            "executable": EXECUTABLE,
            "export": TEXT,
            "workgroup_count": COUNTS,
            **_LAUNCH,
            **_OPTIONS,
        },
        later=LaunchOptions()._asdict(),
        accesses=_accesses,
        check=_check,
        number_uses=_number_uses,
        details=_details,
        launches_kernel=True,
        category=CommandCategory.DISPATCH,
    )
)
DISPATCH_INDIRECT = register(
    CommandType(
        DispatchIndirect,
        "dispatch_indirect",
        "dispatch_indirect",
        {"executable": EXECUTABLE, "export": TEXT, "workgroup_count": PLACE, **_LAUNCH, "label": LABEL},
        accesses=_indirect_accesses,
        check=_check_indirect,
        alignment=lambda command, place: COUNTS_ALIGNMENT if place == command.workgroup_count else 1,
        number_uses=_number_uses,
        details=_indirect_details,
        launches_kernel=True,
        category=CommandCategory.DISPATCH,
    )
)
