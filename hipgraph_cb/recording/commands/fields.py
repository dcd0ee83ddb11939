"""Kinds of fields. What is the same for all commands - renaming resources, putting other memory in the place of slots,
saving, comparing, drawing, JSON - is written against these, so that a command has only to say which fields it has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from hipgraph_cb.recording.commands.places import Constant, Location, Number, Place, Range, SlotNumber, SlotRange
from hipgraph_cb.recording.number_types import NUMBER_TYPES, value_of

At = Callable[[Any], Any]
"""Gives the place that is in the stead of another one; for numbers, another slot or a number that is known."""
Ids = Mapping[int, int]
"""The new ids of resources."""


class Field:
    """A value that names neither memory nor a resource.

    Attributes:
        name: which kind it is, for whoever writes a table by kinds.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def places(self, value: Any) -> tuple[Location, ...]:
        """The memory that a value names, in order."""
        return ()

    def with_places(self, value: Any, at: At) -> Any:
        """The value with other memory."""
        return value

    def numbers(self, value: Any) -> tuple[Number, ...]:
        """The numbers in slots that a value names, in order."""
        return ()

    def with_numbers(self, value: Any, at: At) -> Any:
        """The value with other numbers for these; what is known then is an ordinary part of it, where it can be."""
        return value

    def with_ids(self, value: Any, ids: Ids) -> Any:
        """The value with other ids of resources; places not included."""
        return value

    def as_json(self, value: Any) -> Any:
        """The value as JSON has it."""
        return value


def place_as_json(place: Location) -> dict[str, int | None]:
    """`{"buffer": id, "offset", "length"}` or `{"slot": index, "offset", "length"}`, in captures as in exports."""
    memory = "slot" if isinstance(place, SlotRange) else "buffer"
    return {memory: place[0], "offset": place.offset, "length": place.length}


def binding_as_json(place: Place | None) -> dict[str, Any] | None:
    """A place as JSON, or a number: `{"slot": index, "type"}` or `{"value", "type"}`."""
    if isinstance(place, Constant):
        value = value_of(*place)
        return {"value": value if math.isfinite(value) else repr(value), "type": place.type}
    if isinstance(place, SlotNumber):
        return place._asdict()
    return None if place is None else place_as_json(place)


class _Bytes(Field):
    def as_json(self, value: Any) -> Any:
        return value.hex()


class _List(Field):
    def as_json(self, value: Any) -> Any:
        return list(value)


class _Place(Field):
    def places(self, value: Any) -> tuple[Location, ...]:
        return (value,)

    def as_json(self, value: Any) -> Any:
        return place_as_json(value)

    def with_places(self, value: Any, at: At) -> Any:
        return at(value)


class _Bindings(Field):
    def places(self, value: Any) -> tuple[Location, ...]:
        return tuple([place for place in value if isinstance(place, (Range, SlotRange))])

    def with_places(self, value: Any, at: At) -> Any:
        return tuple([at(place) if isinstance(place, (Range, SlotRange)) else place for place in value])

    def numbers(self, value: Any) -> tuple[Number, ...]:
        return tuple([place for place in value if isinstance(place, (SlotNumber, Constant))])

    def with_numbers(self, value: Any, at: At) -> Any:
        return tuple([at(place) if isinstance(place, (SlotNumber, Constant)) else place for place in value])

    def as_json(self, value: Any) -> Any:
        return list(map(binding_as_json, value))


class _Counts(Field):
    def numbers(self, value: Any) -> tuple[Number, ...]:
        return tuple([each for each in value if isinstance(each, SlotNumber)])

    def with_numbers(self, value: Any, at: At) -> Any:
        return tuple([_known(at(each)) if isinstance(each, SlotNumber) else each for each in value])

    def as_json(self, value: Any) -> Any:
        return [each._asdict() if isinstance(each, SlotNumber) else each for each in value]


class _Amount(Field):
    def numbers(self, value: Any) -> tuple[Number, ...]:
        return (value,) if isinstance(value, SlotNumber) else ()

    def with_numbers(self, value: Any, at: At) -> Any:
        return _known(at(value)) if isinstance(value, SlotNumber) else value

    def as_json(self, value: Any) -> Any:
        return value._asdict() if isinstance(value, SlotNumber) else value


class _Pattern(_Amount):
    def with_numbers(self, value: Any, at: At) -> Any:
        number = at(value) if isinstance(value, SlotNumber) else value
        return constant_bytes(number) if isinstance(number, Constant) else number

    def as_json(self, value: Any) -> Any:
        return value._asdict() if isinstance(value, SlotNumber) else value.hex()


class _Numbers(Field):
    def numbers(self, value: Any) -> tuple[Number, ...]:
        return tuple([number for _, number in value])

    def with_numbers(self, value: Any, at: At) -> Any:
        return tuple([(offset, at(number)) for offset, number in value])

    def as_json(self, value: Any) -> Any:
        return [{"at": offset, **number._asdict()} for offset, number in value]


def _known(number: Number) -> Any:
    return value_of(*number) if isinstance(number, Constant) else number


def constant_bytes(number: Constant) -> bytes:
    """A number that is known as it is in memory."""
    return number.bits.to_bytes(NUMBER_TYPES[number.type].size, "little")


class _Pointers(Field):
    def places(self, value: Any) -> tuple[Location, ...]:
        return tuple([place for _, place in value])

    def with_places(self, value: Any, at: At) -> Any:
        return tuple([(offset, at(place)) for offset, place in value])

    def as_json(self, value: Any) -> Any:
        return [{"at": offset, **place_as_json(place)} for offset, place in value]


class _Accesses(Field):
    def places(self, value: Any) -> tuple[Location, ...]:
        return tuple([place for place, _reads, _writes in value])

    def with_places(self, value: Any, at: At) -> Any:
        return tuple([(at(place), reads, writes) for place, reads, writes in value])

    def as_json(self, value: Any) -> Any:
        return [{**place_as_json(place), "reads": reads, "writes": writes} for place, reads, writes in value]


class _Operations(Field):
    """Named tuples, of which `source` and `target` are places or None."""

    def places(self, value: Any) -> tuple[Location, ...]:
        return tuple([place for each in value for place in (each.source, each.target) if place is not None])

    def with_places(self, value: Any, at: At) -> Any:
        return tuple(
            [
                each._replace(
                    source=None if each.source is None else at(each.source),
                    target=None if each.target is None else at(each.target),
                )
                for each in value
            ]
        )

    def as_json(self, value: Any) -> Any:
        return [
            {**each._asdict(), "source": binding_as_json(each.source), "target": binding_as_json(each.target)}
            for each in value
        ]


class _Resource(Field):
    def with_ids(self, value: Any, ids: Ids) -> Any:
        return ids[value]


class _Resources(Field):
    def with_ids(self, value: Any, ids: Ids) -> Any:
        return tuple([ids[each] for each in value])

    def as_json(self, value: Any) -> Any:
        return list(value)


NUMBER = Field("number")
FLAG = Field("flag")
"""True or False."""
PRIORITY = Field("priority")
"""A number of 32 bits, which may be negative."""
TEXT = Field("text")
LABEL = Field("label")
BYTES = _Bytes("bytes")
"""A few bytes."""
DATA = _Bytes("data")
"""Host bytes, of any number."""
DIMENSIONS = _List("dimensions")
"""Three numbers."""
PLACE = _Place("place")
BINDINGS = _Bindings("bindings")
"""Places and numbers in order, None where there is none."""
COUNTS = _Counts("counts")
"""Three numbers, each known or in a slot."""
AMOUNT = _Amount("amount")
"""A number that is known or in a slot."""
PATTERN = _Pattern("pattern")
"""A few bytes, or a number in a slot."""
NUMBERS = _Numbers("numbers")
"""Pairs of an offset in a kernarg block and a number in a slot."""
POINTERS = _Pointers("pointers")
"""Pairs of an offset in a kernarg block and a place."""
ACCESSES = _Accesses("accesses")
"""Declared accesses: (place, whether it is read, whether it is written)."""
EXECUTABLE = _Resource("executable")
RECORDING = _Resource("recording")
EVENT = _Resource("event")
EVENTS = _Resources("events")
FUNCTION = _Resource("function")
"""A function of the host."""
CHANNEL = _Resource("channel")
"""A rank of a channel."""
OPERATIONS = _Operations("operations")
"""What a rank does of operations between several."""


def renamed_place(place: Place, ids: Ids) -> Place:
    """The place in the buffer with the new id."""
    return place._replace(resource=ids[place.resource]) if isinstance(place, Range) else place
