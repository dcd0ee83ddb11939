"""Kinds of fields. What is the same for all commands - renaming resources, putting other memory in the place of slots,
saving, comparing, drawing, JSON - is written against these, so that a command has only to say which fields it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hipgraph_cb.recording.commands.places import Location, Range, SlotRange

At = Callable[[Location], Location]
"""Gives the place that stands for another one."""
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


class _OptionalPlaces(Field):
    def places(self, value: Any) -> tuple[Location, ...]:
        return tuple([place for place in value if place is not None])

    def with_places(self, value: Any, at: At) -> Any:
        return tuple([None if place is None else at(place) for place in value])

    def as_json(self, value: Any) -> Any:
        return [None if place is None else place_as_json(place) for place in value]


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


class _Resource(Field):
    def with_ids(self, value: Any, ids: Ids) -> Any:
        return ids[value]


class _Resources(Field):
    def with_ids(self, value: Any, ids: Ids) -> Any:
        return tuple([ids[each] for each in value])

    def as_json(self, value: Any) -> Any:
        return list(value)


NUMBER = Field("number")
TEXT = Field("text")
LABEL = Field("label")
BYTES = _Bytes("bytes")
"""A few bytes."""
DATA = _Bytes("data")
"""Host bytes, of any number."""
DIMENSIONS = _List("dimensions")
"""Three numbers."""
PLACE = _Place("place")
PLACES = _OptionalPlaces("places")
"""Places in order, None where there is none."""
POINTERS = _Pointers("pointers")
"""Pairs of an offset in a kernarg block and a place."""
ACCESSES = _Accesses("accesses")
"""Declared accesses: (place, whether it is read, whether it is written)."""
EXECUTABLE = _Resource("executable")
RECORDING = _Resource("recording")
EVENT = _Resource("event")
EVENTS = _Resources("events")


def renamed_place(place: Location, ids: Ids) -> Location:
    """The place in the buffer with the new id."""
    return place._replace(resource=ids[place.resource]) if isinstance(place, Range) else place
