"""Commands as JSON values and back. `FORMS` has one entry for each kind of field that a file can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from hipgraph_cb.capture.blobs import Blobs
from hipgraph_cb.capture.document import boolean, fields, items, number, octets, optional, text, tuple_of
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, UnimplementedError
from hipgraph_cb.recording.commands import (
    Command,
    Constant,
    Location,
    Number,
    Operation,
    Place,
    Range,
    SlotNumber,
    SlotRange,
)
from hipgraph_cb.recording.commands.fields import Field, binding_as_json, place_as_json
from hipgraph_cb.recording.commands.types import TYPES, CommandType
from hipgraph_cb.recording.launch_options import checked_options
from hipgraph_cb.recording.number_types import NUMBER_TYPES, NumberType
from hipgraph_cb.recording.workgroups import LARGEST_GRID

LARGEST_ID = (1 << 32) - 1


class Form(NamedTuple):
    """How one kind of field is read, and how it is written where that is not its `as_json`.

    Blobs hold what is too long for a text.
    """

    read: Callable[[Any, Blobs], Any]
    write: Callable[[Any, Blobs], Any] | None = None


def _plain(read: Callable[[Any], Any]) -> Form:
    """A field that needs no blobs."""
    return Form(lambda value, _: read(value))


def _read_place(value: object) -> Location:
    if isinstance(value, dict) and "slot" in value:
        slot, offset, length = fields(value, "slot", "offset", "length")
        return SlotRange(number(slot, largest=LARGEST_ID), number(offset), optional(number, length))
    buffer, offset, length = fields(value, "buffer", "offset", "length")
    return Range(number(buffer, largest=LARGEST_ID), number(offset), number(length))


def _read_number(value: object) -> Number:
    if isinstance(value, dict) and "bits" in value:
        bits, name = fields(value, "bits", "type")
        row = _type(name)
        return Constant(number(bits, largest=(1 << 8 * row.size) - 1), row.name)
    return _read_slot_number(value)


def _read_slot_number(value: object) -> SlotNumber:
    slot, name = fields(value, "slot", "type")
    return SlotNumber(number(slot, largest=LARGEST_ID), _type(name).name)


def _type(name: object) -> NumberType:
    row = NUMBER_TYPES.get(text(name))
    if row is None:
        raise InvalidArgumentError("no type of a number", found=repr(name)[:80], allowed=", ".join(NUMBER_TYPES))
    return row


def _slot_or(read: Callable[[Any], Any], value: Any) -> Any:
    return _read_slot_number(value) if isinstance(value, dict) else read(value)


def _write_numbers(numbers: Any, _: Blobs) -> list[Any]:
    return [{"at": offset, "number": each._asdict()} for offset, each in numbers]


def _read_numbers(value: object, _: Blobs) -> tuple[tuple[int, Number], ...]:
    rows = (fields(each, "at", "number") for each in items(value))
    return tuple([(number(offset), _read_slot_number(each)) for offset, each in rows])


def _write_bindings(bindings: Any, _: Blobs) -> list[Any]:
    return [each._asdict() if isinstance(each, Constant) else binding_as_json(each) for each in bindings]


def _read_binding(value: object) -> Place | None:
    if isinstance(value, dict) and "type" in value:
        return _read_number(value)
    return optional(_read_place, value)


def _read_counts(value: object) -> tuple[Any, ...]:
    counts = [_slot_or(partial(number, largest=LARGEST_GRID), each) for each in items(value)]
    if len(counts) != 3:
        raise InvalidArgumentError("a size has three dimensions", found=f"{len(counts)} numbers", allowed="x, y and z")
    return tuple(counts)


def _write_pointers(pointers: Any, _: Blobs) -> list[Any]:
    return [{"at": offset, "place": place_as_json(place)} for offset, place in pointers]


def _read_pointers(value: object, _: Blobs) -> tuple[tuple[int, Location], ...]:
    rows = (fields(each, "at", "place") for each in items(value))
    return tuple([(number(offset), _read_place(place)) for offset, place in rows])


def _write_accesses(accesses: Any, _: Blobs) -> list[Any]:
    return [{"place": place_as_json(place), "reads": reads, "writes": writes} for place, reads, writes in accesses]


def _read_accesses(value: object, _: Blobs) -> tuple[tuple[Location, bool, bool], ...]:
    rows = (fields(each, "place", "reads", "writes") for each in items(value))
    return tuple([(_read_place(place), boolean(reads), boolean(writes)) for place, reads, writes in rows])


def _read_dimensions(value: object) -> tuple[int, int, int]:
    numbers = [number(each, largest=LARGEST_GRID) for each in items(value)]
    if len(numbers) != 3:
        raise InvalidArgumentError("a size has three dimensions", found=f"{len(numbers)} numbers", allowed="x, y and z")
    return numbers[0], numbers[1], numbers[2]


def _read_operation(value: object) -> Operation:
    kind, type, elements, reduction, root, source, target = fields(value, *Operation._fields)
    facts = text(kind), text(type), number(elements), text(reduction), number(root, largest=LARGEST_ID)
    return Operation(*facts, optional(_read_place, source), optional(_read_place, target))


_ID = partial(number, largest=LARGEST_ID)


def _read_priority(value: object) -> int:
    return checked_options(False, value).priority


FORMS: Mapping[str, Form] = {
    "number": _plain(number),
    "flag": _plain(boolean),
    "priority": _plain(_read_priority),
    "text": _plain(text),
    "label": _plain(partial(optional, text)),
    "bytes": _plain(octets),
    "data": Form(lambda value, blobs: blobs.get(value), lambda value, blobs: blobs.add(value)),
    "dimensions": _plain(_read_dimensions),
    "counts": _plain(_read_counts),
    "amount": _plain(partial(_slot_or, number)),
    "pattern": _plain(partial(_slot_or, octets)),
    "numbers": Form(_read_numbers, _write_numbers),
    "place": _plain(_read_place),
    "bindings": Form(lambda value, _: tuple_of(_read_binding, value), _write_bindings),
    "pointers": Form(_read_pointers, _write_pointers),
    "accesses": Form(_read_accesses, _write_accesses),
    "executable": _plain(_ID),
    "recording": _plain(_ID),
    "event": _plain(_ID),
    "function": _plain(_ID),
    "channel": _plain(_ID),
    "operations": _plain(partial(tuple_of, _read_operation)),
    "events": _plain(partial(tuple_of, _ID)),
}
"""By the kind of a field. Fields are in the order of the type."""
ADDED = {2: frozenset({"numbers"})}
"""Kinds of fields that came with a version of the format; in older files a command has its default there."""
LATER = 2
"""The version that came with the optional fields of commands, and with these types of commands:"""
LATER_COMMANDS = frozenset({"copy_2d", "fill_2d", "host_call", "collective"})


def _form(kind: CommandType, field: Field) -> Form:
    form = FORMS.get(field.name)
    if form is None:
        raise UnimplementedError(
            f"a capture file cannot hold a command of type {kind.command.__name__}",
            found=f"a field of kind {field.name}",
            allowed=", ".join(FORMS),
        )
    return form


def write_command(command: Command, blobs: Blobs) -> dict[str, Any]:
    """A command as a JSON object.

    Raises:
        UnimplementedError: a type of command that this version of the format cannot hold.
    """
    kind = TYPES.get(type(command))
    if kind is None:
        raise UnimplementedError(
            f"a capture file cannot hold a command of type {type(command).__name__}",
            allowed=", ".join(known.__name__ for known in TYPES),
        )
    row: dict[str, Any] = {}
    for (name, field), value in zip(kind.fields.items(), command, strict=True):
        write = _form(kind, field).write
        if name in kind.later and value == kind.later[name]:
            continue
        row[name] = field.as_json(value) if write is None else write(value, blobs)
    row["kind"] = kind.name
    return row


def read_command(value: object, blobs: Blobs, version: int) -> Command:
    """The command of a JSON object; its ranges are checked elsewhere (`recording.checking`)."""
    name = value.get("kind") if isinstance(value, dict) else None
    known = {kind.name: kind for kind in TYPES.values() if version >= LATER or kind.name not in LATER_COMMANDS}
    kind = known.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidArgumentError(
            "the manifest has a command of another kind", found=repr(name)[:80], allowed=", ".join(known)
        )
    later, added = kind.later, {name for since, names in ADDED.items() if since > version for name in names}
    optional_ones = {each for each in later if version < LATER or each not in value}  # type: ignore[operator]
    known_fields = {
        each: field for each, field in kind.fields.items() if field.name not in added and each not in optional_ones
    }
    _, *values = fields(value, "kind", *known_fields)
    read = dict(later)
    for (field_name, field), each in zip(known_fields.items(), values, strict=True):
        try:
            read[field_name] = _form(kind, field).read(each, blobs)
            if field_name in later and read[field_name] == later[field_name]:
                raise InvalidArgumentError(
                    "a field says what is so without it", found=repr(each), allowed="no such field"
                )
        except HipGraphError as error:
            raise error.located(field_name) from None
    command: Command = kind.command(**read)
    return command
