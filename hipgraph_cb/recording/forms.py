"""What commands of one kind have in common, apart from their blocks.

A block holds what differs: numbers as they are, and for each place its number in the place table, a 64-bit word. Its
size is a multiple of 8. Most dispatches of a recording share a handful of forms.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.commands import Command, Copy, Dispatch, Fill, Update
from hipgraph_cb.recording.commands.fields import constant_bytes
from hipgraph_cb.recording.commands.places import Constant, Place
from hipgraph_cb.recording.commands.types import numbers, places, type_of, with_numbers, with_places
from hipgraph_cb.recording.place_table import PlaceTable

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands.fields import Ids

WORD = 8
"""Bytes of a relocation."""
read_word = struct.Struct("<Q").unpack_from
write_word = struct.Struct("<Q").pack_into


Targets = tuple[tuple[int, int], ...]


class Form(Protocol):
    """What is common to commands.

    Attributes:
        kind: their type.
        size: bytes of their blocks.
        relocations: where in a block the words of places are; those of numbers come last.
        numbers: for each of the last relocations where in the block its number goes, and in how many bytes.
    """

    @property
    def kind(self) -> type[Command]: ...
    @property
    def size(self) -> int: ...
    @property
    def relocations(self) -> tuple[int, ...]: ...
    @property
    def numbers(self) -> Targets: ...

    def command(self, block: bytes, table: PlaceTable, payloads: Sequence[bytes], label: str | None) -> Command:
        """The command with this block."""

    def with_ids(self, ids: Ids) -> Form:
        """The form with other ids of resources; the places in blocks are others by themselves."""


class FillForm:
    """Of fills with patterns of one length. A block is the target and the pattern, and the word of a pattern in a slot.

    Args:
        is_open: whether the pattern is in a slot.
    """

    __slots__ = ("kind", "length", "numbers", "relocations", "size")

    def __init__(self, length: int, is_open: bool = False) -> None:
        self.kind = Fill
        self.length = length
        self.numbers: Targets = ((WORD, length),) if is_open else ()
        self.relocations = (0, 2 * WORD) if is_open else (0,)
        self.size = (3 if is_open else 2) * WORD

    def command(self, block: bytes, table: PlaceTable, _payloads: Sequence[bytes], label: str | None) -> Any:
        pattern: Any = bytes(block[WORD : WORD + self.length])
        if self.numbers:
            pattern = table[read_word(block, 2 * WORD)[0]]
            if isinstance(pattern, Constant):
                pattern = constant_bytes(pattern)
        return self.kind(table.location(read_word(block)[0]), pattern, label)

    @property
    def key(self) -> tuple[object, ...]:
        return self.kind, self.length, self.numbers

    def with_ids(self, _ids: Ids) -> FillForm:
        return self


class UpdateForm:
    """Of all updates. A block is the target and the number of the host bytes."""

    __slots__ = ("kind",)
    size = 16
    relocations = (0,)
    numbers: Targets = ()

    def __init__(self) -> None:
        self.kind = Update

    def command(self, block: bytes, table: PlaceTable, payloads: Sequence[bytes], label: str | None) -> Any:
        return self.kind(table.location(read_word(block)[0]), payloads[read_word(block, WORD)[0]], label)

    @property
    def key(self) -> tuple[object, ...]:
        return (self.kind,)

    def with_ids(self, _ids: Ids) -> UpdateForm:
        return self


class CopyForm:
    """Of all copies. A block is source and target."""

    __slots__ = ("kind",)
    size = 16
    relocations = (0, 8)
    numbers: Targets = ()

    def __init__(self) -> None:
        self.kind = Copy

    def command(self, block: bytes, table: PlaceTable, _payloads: Sequence[bytes], label: str | None) -> Any:
        return self.kind(table.location(read_word(block)[0]), table.location(read_word(block, WORD)[0]), label)

    @property
    def key(self) -> tuple[object, ...]:
        return (self.kind,)

    def with_ids(self, _ids: Ids) -> CopyForm:
        return self


class GenericForm:
    """Of one command of any type: all but its places, its numbers in slots and its label.

    A block is the words of these, in order; the numbers are written nowhere.
    """

    __slots__ = ("_command", "kind", "relocations", "size")
    numbers: Targets = ()

    def __init__(self, command: Any) -> None:
        self._command = command._replace(label=None)
        self.kind = type(command)
        self.size = WORD * len(relocated(command))
        self.relocations = tuple(range(0, self.size, WORD))

    def command(self, block: bytes, table: PlaceTable, _payloads: Sequence[bytes], label: str | None) -> Any:
        words = iter(struct.unpack(f"<{self.size // WORD}Q", block))

        def at(_place: Place) -> Place:
            return table[next(words)]

        placed = with_numbers(with_places(self._command, at), at)
        return placed if label is None else placed._replace(label=label)

    def with_ids(self, ids: Ids) -> GenericForm:
        fields = type_of(self._command).fields.values()
        values = [field.with_ids(value, ids) for field, value in zip(fields, self._command, strict=True)]
        return GenericForm(self.kind(*values))


FILL_FORMS = {length: FillForm(length) for length in (1, 2, 4)}
OPEN_FILL_FORMS = {length: FillForm(length, is_open=True) for length in FILL_FORMS}
"""With the pattern in a slot."""
UPDATE_FORM = UpdateForm()
COPY_FORM = CopyForm()


def relocated(command: Any) -> list[Place]:
    """What the words in a command's block lead to, in order."""
    return [*places(command), *numbers(command)]


def words_into(block: bytearray, form: Form, named: Sequence[Place], table: PlaceTable) -> None:
    """Write the words of places into a block, which are entered into the table."""
    for offset, place in zip(form.relocations, named, strict=True):
        write_word(block, offset, table.add(place))


def check_form(form: Form) -> None:
    """Refuse commands of the usual types that no command buffer would have made, before a backend reads their blocks.

    Raises:
        InvalidArgumentError: pointers that overlap or hold values, numbers that are too large, or a strange pattern.
    """
    if isinstance(form, GenericForm) and form.kind in (Dispatch, Fill, Update, Copy):
        raise InvalidArgumentError(
            f"a command of type {form.kind.__name__} is not as a command buffer records it",
            found="pointers that overlap or hold values, a number that is too large, or a pattern of another length",
            next_step="check it with recording.checking.check_recording",
        )
