"""What the rest of the library has to know of a type of command. Each type says it in its own file, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.errors import UnimplementedError
from hipgraph_cb.recording.categories import NO_CATEGORY, CommandCategory
from hipgraph_cb.recording.commands.fields import At, Field, Ids, renamed_place
from hipgraph_cb.recording.commands.places import Access, Location, Number

if TYPE_CHECKING:
    from hipgraph_cb.recording.accesses import AccessReader
    from hipgraph_cb.recording.bindings import BoundMemory
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording


def no_accesses(_command: Any, _reader: AccessReader) -> list[Access]:
    """Of a command that touches no memory."""
    return []


def check_all_places(command: Any, checker: CommandChecker) -> None:
    """The rule that holds for every command: its memory is there."""
    for place in places(command):
        checker.check_place(place)


def field_lines(command: Any, recording: Recording) -> list[str]:
    """A line for each field that is no label."""
    rows = type_of(command).fields
    lines: list[str] = []
    for name, field in rows.items():
        value = getattr(command, name)
        named = (*field.places(value), *field.numbers(value))
        if named:
            lines.extend(f"{name} {recording.describe_place(place)}" for place in named)
        elif field.name != "label":
            lines.append(f"{name} {value.hex(' ') if isinstance(value, bytes) else value}")
    return lines


class NumberUse(NamedTuple):
    """What a command does with a number in a slot.

    Attributes:
        role: what it is in the command, for messages.
        limit: "grid" or "lds" where the device limits it, else "".
        weight: work-items of a workgroup in that dimension, or bytes of LDS that the kernel declares.
        kernel: the name of the kernel that is limited.
    """

    role: str
    limit: str = ""
    weight: int = 0
    kernel: str = ""


def number_uses(command: Any, _recording: Recording) -> list[NumberUse]:
    """Of a command whose numbers nothing limits: each by the name of its field."""
    rows = zip(type_of(command).fields.items(), command, strict=True)
    return [NumberUse(name) for (name, field), value in rows for _ in field.numbers(value)]


def no_alignment(_command: Any, _place: Location) -> int:
    """Of a command that takes any address."""
    return 1


@dataclass(frozen=True)
class CommandType:
    """A type of command.

    Attributes:
        command: the named tuple; its last field is the label.
        verb: the call that records it.
        name: what files call it.
        fields: the kind of each field, in order.
        accesses: what a command does to memory.
        check: refuses a command that no command buffer would have made.
        alignment: the number of bytes of which a place's offset must be a multiple.
        check_bound: refuses what only the binding table shows; None where there is nothing to refuse.
        compares_places: whether that is so for any slot, and not only for one up to its binding's end.
        number_uses: what each of its `numbers` is for.
        details: the lines of a drawing behind its title.
        later: fields that the format of files did not have at first, with the values that files leave out.
        launches_kernel: whether it has the fields of a dispatch.
        is_order: whether it is about events.
        category: what a command buffer must take for it; none for what every one takes.
    """

    command: type[Any]
    verb: str
    name: str
    fields: Mapping[str, Field]
    accesses: Callable[[Any, AccessReader], list[Access]] = no_accesses
    check: Callable[[Any, CommandChecker], None] = check_all_places
    alignment: Callable[[Any, Location], int] = no_alignment
    check_bound: Callable[[Any, BoundMemory], None] | None = None
    compares_places: bool = False
    number_uses: Callable[[Any, Recording], list[NumberUse]] = number_uses
    details: Callable[[Any, Recording], list[str]] = field_lines
    later: Mapping[str, object] = dataclass_field(default_factory=dict)
    launches_kernel: bool = False
    is_order: bool = False
    category: CommandCategory = NO_CATEGORY


TYPES: dict[type[Any], CommandType] = {}
"""All types of commands; who adds one from outside registers it."""


def register(kind: CommandType) -> CommandType:
    """Make a type of command known to recordings, files, comparisons and drawings."""
    TYPES[kind.command] = kind
    return kind


def category_of(verb: str) -> CommandCategory:
    """The category of what a verb records."""
    return next((kind.category for kind in TYPES.values() if kind.verb == verb), NO_CATEGORY)


def categories_of(recording: Recording) -> CommandCategory:
    """What the commands of a recording need, those of nested recordings included."""
    found = NO_CATEGORY
    for kind in recording.kinds:
        found |= NO_CATEGORY if kind not in TYPES else TYPES[kind].category
    for entry in recording.resources.recordings.values():
        found |= categories_of(entry.recording)
    return found


def type_of(command: object) -> CommandType:
    """What is known of a command's type.

    Raises:
        UnimplementedError: nobody registered it.
    """
    kind = TYPES.get(type(command))
    if kind is None:
        raise UnimplementedError(
            "a command of a type that is not known",
            found=type(command).__name__,
            allowed=", ".join(known.__name__ for known in TYPES),
            next_step="register it (recording.commands.types)",
        )
    return kind


def places(command: Any) -> Iterator[Location]:
    """All places that a command names, declared accesses included; none where its type is not known."""
    kind = TYPES.get(type(command))
    for field, value in zip(kind.fields.values(), command, strict=True) if kind is not None else ():
        yield from field.places(value)


def used_places(command: Any) -> Iterator[Location]:
    """All places whose addresses a command needs; of a nested recording, those that stand for its slots."""
    for field, value in zip(type_of(command).fields.values(), command, strict=True):
        if field.name != "accesses":
            yield from field.places(value)


def numbers(command: Any) -> Iterator[Number]:
    """All numbers in slots that a command names; none where its type is not known."""
    kind = TYPES.get(type(command))
    for field, value in zip(kind.fields.values(), command, strict=True) if kind is not None else ():
        yield from field.numbers(value)


def with_places(command: Any, at: At) -> Any:
    """The command with other memory; the same where its type is not known."""
    kind = TYPES.get(type(command))
    if kind is None:
        return command
    fields = kind.fields.values()
    return type(command)(*[field.with_places(value, at) for field, value in zip(fields, command, strict=True)])


def with_numbers(command: Any, at: At) -> Any:
    """The command with other numbers in the stead of those in slots."""
    kind = TYPES.get(type(command))
    if kind is None:
        return command
    fields = kind.fields.values()
    return type(command)(*[field.with_numbers(value, at) for field, value in zip(fields, command, strict=True)])


def with_ids(command: Any, ids: Ids) -> Any:
    """The command with other ids of resources."""
    fields = type_of(command).fields.values()
    renamed = type(command)(*[field.with_ids(value, ids) for field, value in zip(fields, command, strict=True)])
    return with_places(renamed, lambda place: renamed_place(place, ids))
