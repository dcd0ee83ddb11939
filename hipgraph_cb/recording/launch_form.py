"""What dispatches of one kernel have in common, and their blocks."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.commands import Dispatch
from hipgraph_cb.recording.commands.fields import constant_bytes
from hipgraph_cb.recording.commands.places import Constant, Number, SlotNumber
from hipgraph_cb.recording.forms import WORD, Targets, read_word
from hipgraph_cb.recording.launch_options import PLAIN, LaunchOptions
from hipgraph_cb.recording.number_types import NUMBER_TYPES, value_of

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands.fields import Ids
    from hipgraph_cb.recording.place_table import PlaceTable

SHAPE = struct.Struct("<6IQ")
"""Workgroup count, workgroup size and bytes of dynamic LDS of a dispatch."""
COUNT_WIDTH, LDS_AT, LDS_WIDTH = 4, 24, 8
"""Bytes of a count in it, and where its dynamic LDS is."""


class LaunchForm:
    """Of dispatches of one kernel. A block is the kernarg block, the shape, and words of declared accesses and numbers.

    Attributes:
        executable, export: as in `Dispatch`.
        kernarg_size: bytes of a whole kernarg block.
        extent: bytes of it that stand in a block: up to the end of the last argument, in whole words.
        pointers: where in the kernarg block pointers stand.
        accesses: for each declared access whether it reads and whether it writes.
        numbers: see `Form`; in the order of the fields of a dispatch.
        options: beyond the shape.
    """

    __slots__ = (
        "accesses",
        "executable",
        "export",
        "extent",
        "kernarg_size",
        "kind",
        "numbers",
        "options",
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
        numbers: Targets = (),
        options: LaunchOptions = PLAIN,
    ) -> None:
        self.kind = Dispatch
        self.executable = executable
        self.export = export
        self.kernarg_size = kernarg_size
        self.extent = extent
        self.pointers = pointers
        self.accesses = accesses
        self.numbers = numbers
        self.options = options
        declared = extent + SHAPE.size
        self.size = declared + WORD * (len(accesses) + len(numbers))
        self.relocations = (*pointers, *range(declared, self.size, WORD))

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others."""
        facts = self.executable, self.export, self.kernarg_size, self.extent, self.pointers, self.accesses
        return (*facts, self.numbers, self.options)

    @property
    def has_open_shape(self) -> bool:
        """Whether a number decides how many workgroups or how much LDS there is."""
        return any(at >= self.extent for at, _ in self.numbers)

    def command(self, block: bytes, table: PlaceTable, _payloads: Sequence[bytes], label: str | None) -> Any:
        kernarg = bytearray(block[: self.extent])
        pointers = []
        for offset in self.pointers:
            (number,) = read_word(block, offset)
            kernarg[offset : offset + WORD] = bytes(WORD)
            if number:
                pointers.append((offset, table.location(number)))
        declared = self.relocations[len(self.pointers) : len(self.pointers) + len(self.accesses)]
        accesses = [
            (table.location(read_word(block, offset)[0]), *how)
            for offset, how in zip(declared, self.accesses, strict=True)
        ]
        *shape, lds = SHAPE.unpack_from(block, self.extent)
        numbers: list[tuple[int, Number]] = []
        for (at, width), place in zip(self.numbers, self._numbers_of(block, table), strict=True):
            if at >= self.extent:
                value = value_of(*place) if isinstance(place, Constant) else place
                if at == self.extent + LDS_AT:
                    lds = value
                else:
                    shape[(at - self.extent) // COUNT_WIDTH] = value
            elif isinstance(place, Constant):
                kernarg[at : at + width] = constant_bytes(place)
            else:
                numbers.append((at, place))
        whole = bytes(kernarg[: self.kernarg_size]).ljust(self.kernarg_size, b"\0")
        head = self.executable, self.export, tuple(shape[:3]), tuple(shape[3:]), lds, whole
        return self.kind(*head, tuple(pointers), tuple(accesses), tuple(numbers), *self.options, label)

    def _numbers_of(self, block: bytes, table: PlaceTable) -> list[Any]:
        words = self.relocations[len(self.relocations) - len(self.numbers) :]
        return [table[read_word(block, word)[0]] for word in words]

    def with_ids(self, ids: Ids) -> LaunchForm:
        facts = self.export, self.kernarg_size, self.extent, self.pointers, self.accesses, self.numbers, self.options
        return LaunchForm(ids[self.executable], *facts)

    def with_accesses(self, accesses: tuple[tuple[bool, bool], ...]) -> LaunchForm:
        """The same with declared accesses."""
        facts = self.executable, self.export, self.kernarg_size, self.extent, self.pointers
        return LaunchForm(*facts, accesses, self.numbers, self.options)

    def with_numbers(self, numbers: Targets) -> LaunchForm:
        """The same with numbers in slots."""
        facts = self.executable, self.export, self.kernarg_size, self.extent, self.pointers, self.accesses
        return LaunchForm(*facts, numbers, self.options)

    def with_options(self, options: LaunchOptions) -> LaunchForm:
        """The same with other options."""
        facts = self.executable, self.export, self.kernarg_size, self.extent, self.pointers, self.accesses
        return LaunchForm(*facts, self.numbers, options)


def launch_form_of(command: Any) -> tuple[LaunchForm, bytes] | None:
    """The form of a dispatch, and its block with zeros for all words; None where its pointers could not be told from
    its other bytes, or its numbers are none of a launch."""
    offsets = [offset for offset, _ in command.pointers]
    inside = [(offset, NUMBER_TYPES[number.type].size) for offset, number in command.numbers]
    kernarg: bytes = command.kernarg
    end = 0
    for offset, size in sorted([*((offset, WORD) for offset in offsets), *inside]):
        if offset < end or kernarg[offset : offset + size] != bytes(size):
            return None
        end = offset + size
    if any(first > second for first, second in pairwise(offsets)):
        return None
    extent = -(-max(len(kernarg.rstrip(b"\0")), end) // WORD) * WORD
    counts, lds = command.workgroup_count, command.dynamic_lds
    known = [0 if isinstance(each, SlotNumber) else each for each in (*counts, *command.workgroup_size, lds)]
    try:
        shape = SHAPE.pack(*known)
    except struct.error:
        return None
    flags = tuple([(reads, writes) for _, reads, writes in command.accesses])
    targets = (*shape_targets(extent, counts, lds), *inside)
    options = LaunchOptions(command.cooperative, command.priority)
    form = LaunchForm(command.executable, command.export, len(kernarg), extent, tuple(offsets), flags, targets, options)
    return form, (kernarg[:extent].ljust(extent, b"\0") + shape).ljust(form.size, b"\0")


def shape_targets(extent: int, counts: Sequence[object], lds: object) -> Targets:
    """Where in a block the numbers in slots of a launch shape go."""
    axes = [
        (extent + COUNT_WIDTH * axis, COUNT_WIDTH) for axis, each in enumerate(counts) if isinstance(each, SlotNumber)
    ]
    return (*axes, *([(extent + LDS_AT, LDS_WIDTH)] if isinstance(lds, SlotNumber) else []))
