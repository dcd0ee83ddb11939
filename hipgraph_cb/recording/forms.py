"""What commands that are alike have in common, apart from their blocks.

A block holds what differs: numbers as they are, and for each place its number in the place table, a 64-bit word. Its
size is a multiple of 8. Most dispatches of a recording share a handful of forms.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.commands import Command, Copy, Dispatch, Fill, Update
from hipgraph_cb.recording.commands.places import Location
from hipgraph_cb.recording.commands.types import places, type_of, with_places
from hipgraph_cb.recording.place_table import PlaceTable

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands.fields import Ids

WORD = 8
"""Bytes of a relocation."""
read_word = struct.Struct("<Q").unpack_from
write_word = struct.Struct("<Q").pack_into


class Form(Protocol):
    """What is common to commands.

    Attributes:
        kind: their type.
        size: bytes of their blocks.
        relocations: where in a block the words of places stand.
    """

    @property
    def kind(self) -> type[Command]: ...
    @property
    def size(self) -> int: ...
    @property
    def relocations(self) -> tuple[int, ...]: ...

    def command(self, block: bytes, table: PlaceTable, payloads: Sequence[bytes], label: str | None) -> Command:
        """The command with this block."""

    def with_ids(self, ids: Ids) -> Form:
        """The form with other ids of resources; the places in blocks are others by themselves."""


SHAPE = struct.Struct("<6IQ")
"""Workgroup count, workgroup size and bytes of dynamic LDS of a dispatch."""


class LaunchForm:
    """Of dispatches of one kernel. A block is the kernarg block, the shape, and words for declared accesses.

    Attributes:
        executable, export: as in `Dispatch`.
        kernarg_size: bytes of a whole kernarg block.
        extent: bytes of it that stand in a block: up to the end of the last argument, in whole words.
        pointers: where in the kernarg block pointers stand.
        accesses: for each declared access whether it reads and whether it writes.
    """

    __slots__ = (
        "accesses",
        "executable",
        "export",
        "extent",
        "kernarg_size",
        "kind",
        "pointers",
        "relocations",
        "size",
    )

    def __init__(
        self,
        executable: int,
        export: str,
        kernarg_size: int,
        extent: int,
        pointers: tuple[int, ...],
        accesses: tuple[tuple[bool, bool], ...] = (),
    ) -> None:
        self.kind = Dispatch
        self.executable = executable
        self.export = export
        self.kernarg_size = kernarg_size
        self.extent = extent
        self.pointers = pointers
        self.accesses = accesses
        declared = extent + SHAPE.size
        self.size = declared + WORD * len(accesses)
        self.relocations = (*pointers, *range(declared, self.size, WORD))

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others."""
        return self.executable, self.export, self.kernarg_size, self.extent, self.pointers, self.accesses

    def command(self, block: bytes, table: PlaceTable, _payloads: Sequence[bytes], label: str | None) -> Any:
        kernarg = bytearray(block[: self.extent])
        pointers = []
        for offset in self.pointers:
            (number,) = read_word(block, offset)
            kernarg[offset : offset + WORD] = bytes(WORD)
            if number:
                pointers.append((offset, table[number]))
        declared = self.relocations[len(self.pointers) :]
        accesses = [
            (table[read_word(block, offset)[0]], *how) for offset, how in zip(declared, self.accesses, strict=True)
        ]
        *sizes, lds = SHAPE.unpack_from(block, self.extent)
        whole = bytes(kernarg[: self.kernarg_size]).ljust(self.kernarg_size, b"\0")
        shape = tuple(sizes[:3]), tuple(sizes[3:]), lds
        return self.kind(self.executable, self.export, *shape, whole, tuple(pointers), tuple(accesses), label)

    def with_ids(self, ids: Ids) -> LaunchForm:
        facts = self.export, self.kernarg_size, self.extent, self.pointers, self.accesses
        return LaunchForm(ids[self.executable], *facts)

    def with_accesses(self, accesses: tuple[tuple[bool, bool], ...]) -> LaunchForm:
        """The same with declared accesses."""
        facts = self.executable, self.export, self.kernarg_size, self.extent, self.pointers
        return LaunchForm(*facts, accesses)


class FillForm:
    """Of fills with patterns of one length. A block is the target and the pattern."""

    __slots__ = ("kind", "length")
    size = 16
    relocations = (0,)

    def __init__(self, length: int) -> None:
        self.kind = Fill
        self.length = length

    def command(self, block: bytes, table: PlaceTable, _payloads: Sequence[bytes], label: str | None) -> Any:
        return self.kind(table[read_word(block)[0]], bytes(block[WORD : WORD + self.length]), label)

    @property
    def key(self) -> tuple[object, ...]:
        return self.kind, self.length

    def with_ids(self, _ids: Ids) -> FillForm:
        return self


class UpdateForm:
    """Of all updates. A block is the target and the number of the host bytes."""

    __slots__ = ("kind",)
    size = 16
    relocations = (0,)

    def __init__(self) -> None:
        self.kind = Update

    def command(self, block: bytes, table: PlaceTable, payloads: Sequence[bytes], label: str | None) -> Any:
        return self.kind(table[read_word(block)[0]], payloads[read_word(block, WORD)[0]], label)

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

    def __init__(self) -> None:
        self.kind = Copy

    def command(self, block: bytes, table: PlaceTable, _payloads: Sequence[bytes], label: str | None) -> Any:
        return self.kind(table[read_word(block)[0]], table[read_word(block, WORD)[0]], label)

    @property
    def key(self) -> tuple[object, ...]:
        return (self.kind,)

    def with_ids(self, _ids: Ids) -> CopyForm:
        return self


class GenericForm:
    """Of one command of any type: all but its places and its label. A block is the words of its places, in order."""

    __slots__ = ("_command", "kind", "relocations", "size")

    def __init__(self, command: Any) -> None:
        self._command = command._replace(label=None)
        self.kind = type(command)
        self.size = WORD * sum(1 for _ in places(command))
        self.relocations = tuple(range(0, self.size, WORD))

    def command(self, block: bytes, table: PlaceTable, _payloads: Sequence[bytes], label: str | None) -> Any:
        words = iter(struct.unpack(f"<{self.size // WORD}Q", block))
        placed = with_places(self._command, lambda _place: table[next(words)])
        return placed if label is None else placed._replace(label=label)

    def with_ids(self, ids: Ids) -> GenericForm:
        fields = type_of(self._command).fields.values()
        values = [field.with_ids(value, ids) for field, value in zip(fields, self._command, strict=True)]
        return GenericForm(self.kind(*values))


FILL_FORMS = {length: FillForm(length) for length in (1, 2, 4)}
UPDATE_FORM = UpdateForm()
COPY_FORM = CopyForm()


def launch_form_of(command: Any) -> tuple[LaunchForm, bytes] | None:
    """The form of a dispatch, and its block with zeros for all words; None where its pointers could not be told from
    its other bytes, or its numbers are none of a launch."""
    offsets = [offset for offset, _ in command.pointers]
    kernarg: bytes = command.kernarg
    end = 0
    for offset in offsets:
        if offset < end or kernarg[offset : offset + WORD] != bytes(WORD):
            return None
        end = offset + WORD
    extent = -(-max(len(kernarg.rstrip(b"\0")), end) // WORD) * WORD
    try:
        shape = SHAPE.pack(*command.workgroup_count, *command.workgroup_size, command.dynamic_lds)
    except struct.error:
        return None
    flags = tuple([(reads, writes) for _, reads, writes in command.accesses])
    form = LaunchForm(command.executable, command.export, len(kernarg), extent, tuple(offsets), flags)
    return form, (kernarg[:extent].ljust(extent, b"\0") + shape).ljust(form.size, b"\0")


def words_into(block: bytearray, form: Form, named: Sequence[Location], table: PlaceTable) -> None:
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
