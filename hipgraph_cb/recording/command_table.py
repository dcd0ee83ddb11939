"""The commands of a recording as columns: which form each has, and one arena with their blocks.

A recording is a relocatable object, as an object file is one. The arena holds numbers as kernels read them, and where
an address belongs the number of a place (`place_table`), which a backend replaces in one pass. A command of its own
type is made when somebody asks for it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from hipgraph_cb.recording.commands import Command, Copy, Dispatch, Fill, SlotNumber, Update
from hipgraph_cb.recording.commands.fields import Ids, renamed_place
from hipgraph_cb.recording.forms import (
    COPY_FORM,
    FILL_FORMS,
    OPEN_FILL_FORMS,
    UPDATE_FORM,
    Form,
    GenericForm,
    read_word,
    relocated,
    words_into,
    write_word,
)
from hipgraph_cb.recording.launch_form import launch_form_of
from hipgraph_cb.recording.place_table import PlaceTable


class CommandTable:
    """The commands in order. A recording that holds a table relies on nobody changing it any more.

    Attributes:
        forms: what commands have in common, by number.
        rows: for each command the number of its form.
        arena: the blocks of all commands, one behind the other.
        places: what the words in the blocks stand for.
        payloads: the host bytes of updates.
        labels: by index, of the commands that have one.
        known: numbers of forms by what tells them from others.
    """

    __slots__ = ("_starts", "arena", "forms", "known", "labels", "payloads", "places", "rows")

    def __init__(self, commands: Iterable[Command] = ()) -> None:
        self.forms: list[Form] = []
        self.rows = array("I")
        self.arena = bytearray()
        self.places = PlaceTable()
        self.payloads: list[bytes] = []
        self.labels: dict[int, str] = {}
        self.known: dict[object, int] = {}
        self._starts: array[int] | None = None
        for command in commands:
            self.append(command)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Command:
        form = self.forms[self.rows[index]]
        start = self.starts[index]
        block = bytes(self.arena[start : start + form.size])
        return form.command(block, self.places, self.payloads, self.labels.get(index))

    def __iter__(self) -> Iterator[Command]:
        return map(self.__getitem__, range(len(self)))

    @property
    def starts(self) -> array[int]:
        """Where each block begins in the arena."""
        starts = self._starts
        if starts is None or len(starts) != len(self.rows):
            sizes = [form.size for form in self.forms]
            starts = array("Q", accumulate((sizes[row] for row in self.rows), initial=0))
            starts.pop()
            self._starts = starts
        return starts

    @property
    def kinds(self) -> frozenset[type[Command]]:
        """The types of the commands."""
        return frozenset(self.forms[row].kind for row in set(self.rows))

    def words(self, index: int) -> list[int]:
        """The numbers of the places that a command names, 0 for null pointers."""
        form, start = self.forms[self.rows[index]], self.starts[index]
        arena = self.arena
        return [int.from_bytes(arena[start + offset : start + offset + 8], "little") for offset in form.relocations]

    def form(self, key: object, form: Form) -> int:
        """The number of the form with a key, which is this one where there was none."""
        number = self.known.get(key)
        if number is None:
            number = self.known[key] = len(self.forms)
            self.forms.append(form)
        return number

    def add(self, form: int, block: bytes, label: str | None = None) -> None:
        """Add a command by its form and block."""
        if label is not None:
            self.labels[len(self.rows)] = label
        self.rows.append(form)
        self.arena += block

    def append(self, command: Any) -> None:
        """Add a command."""
        self.add(*self.split(command), command.label)

    def split(self, command: Any) -> tuple[int, bytes]:
        """A command as the number of its form and its block; its places are entered."""
        form, key, content = self._split(command)
        block = bytearray(content)
        words_into(block, form, relocated(command), self.places)
        return self.form(key, form), bytes(block)

    def _split(self, command: Any) -> tuple[Form, object, bytes]:
        """The form of a command, what tells it from others, and the block with zeros for words."""
        if type(command) is Dispatch:
            launch = launch_form_of(command)
            if launch is not None:
                form, block = launch
                return form, form.key, block
        elif type(command) is Fill and command.pattern_length in FILL_FORMS:
            if isinstance(command.pattern, SlotNumber):
                fill, pattern = OPEN_FILL_FORMS[command.pattern_length], b""
            else:
                fill, pattern = FILL_FORMS[command.pattern_length], command.pattern.ljust(8, b"\0")
            return fill, fill.key, (bytes(8) + pattern).ljust(fill.size, b"\0")
        elif type(command) is Update:
            self.payloads.append(command.data)
            return UPDATE_FORM, UPDATE_FORM.key, bytes(8) + (len(self.payloads) - 1).to_bytes(8, "little")
        elif type(command) is Copy:
            return COPY_FORM, COPY_FORM.key, bytes(16)
        generic = GenericForm(command)
        return generic, len(self.rows), bytes(generic.size)

    def copy(self) -> CommandTable:
        """A table of its own with the same commands, to be added to."""
        table = CommandTable()
        table.forms, table.payloads = list(self.forms), list(self.payloads)
        table.rows, table.arena, table.labels = self.rows[:], self.arena[:], dict(self.labels)
        table.places = self.places.copy()
        return table

    def replaced_command(self, index: int, form: int, block: bytes) -> CommandTable:
        """The same with another form and block of a command."""
        table = self._over(self.places)
        start, size = self.starts[index], self.forms[self.rows[index]].size
        table.rows, table._starts = self.rows[:], None
        table.rows[index] = form
        table.arena = self.arena[:start] + block + self.arena[start + size :]
        return table

    def with_ids(self, ids: Ids) -> CommandTable:
        """The same commands with other ids of resources."""
        table = self._over(self.places.replaced(lambda place: renamed_place(place, ids)))
        table.forms = [form.with_ids(ids) for form in self.forms]
        return table

    def with_places(self, places: PlaceTable) -> CommandTable:
        """The same commands with other memory; places keep their numbers."""
        return self._over(places)

    def part(self, start: int, stop: int) -> CommandTable:
        """The commands from `start` up to `stop`."""
        table = self._over(self.places)
        starts = (*self.starts[start : start + 1], len(self.arena))
        end = self.starts[stop] if stop < len(self) else len(self.arena)
        table.rows, table.arena = self.rows[start:stop], self.arena[starts[0] : end]
        labels = self.labels
        table.labels = {index - start: labels[index] for index in range(start, stop) if index in labels}
        table._starts = None
        return table

    def chosen(self, commands: Iterable[int | Command]) -> CommandTable:
        """Some of the commands by index, and others between them, with the forms and places that they use alone."""
        table = CommandTable()
        table.payloads = self.payloads
        forms: dict[int, int] = {}
        words = {0: 0}
        for index in commands:
            if not isinstance(index, int):
                table.append(index)
                continue
            row, start = self.rows[index], self.starts[index]
            form = self.forms[row]
            if row not in forms:
                forms[row] = len(table.forms)
                table.forms.append(form)
            block = self.arena[start : start + form.size]
            for offset in form.relocations:
                (word,) = read_word(block, offset)
                if word not in words:
                    words[word] = table.places.add(self.places[word])
                write_word(block, offset, words[word])
            table.add(forms[row], bytes(block), self.labels.get(index))
        return table

    def _over(self, places: PlaceTable) -> CommandTable:
        table = CommandTable()
        table.forms, table.rows, table.arena = self.forms, self.rows, self.arena
        table.places, table.payloads, table.labels = places, self.payloads, self.labels
        table._starts = self._starts
        return table
