"""Fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.categories import CommandCategory
from hipgraph_cb.recording.commands.fields import LABEL, PATTERN, PLACE
from hipgraph_cb.recording.commands.places import Access, Location, SlotNumber, same_type_only
from hipgraph_cb.recording.commands.types import CommandType, NumberUse, register
from hipgraph_cb.recording.commands.values import data
from hipgraph_cb.recording.number_types import NUMBER_TYPES
from hipgraph_cb.recording.validation import check_pattern_fit

if TYPE_CHECKING:
    from hipgraph_cb.recording.accesses import AccessReader
    from hipgraph_cb.recording.bindings import BoundMemory
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording

LONGEST_FILL = 4
"""Bytes of the longest pattern that a fill command holds: HIP's memset nodes take elements of 1, 2 and 4 bytes."""


@same_type_only
class Fill(NamedTuple):
    """Write `pattern` (1, 2 or 4 bytes, or a number in a slot) over and over until `target` is full."""

    target: Location
    pattern: bytes | SlotNumber
    label: str | None = None

    @property
    def pattern_length(self) -> int:
        """Bytes of the pattern."""
        pattern = self.pattern
        return NUMBER_TYPES[pattern.type].size if isinstance(pattern, SlotNumber) else len(pattern)


def _accesses(command: Fill, _reader: AccessReader) -> list[Access]:
    return [Access(command.target, False, True)]


def _number_uses(command: Fill, _recording: Recording) -> list[NumberUse]:
    return [NumberUse("the pattern")] if isinstance(command.pattern, SlotNumber) else []


def _check(command: Fill, checker: CommandChecker) -> None:
    checker.check_place(command.target)
    checker.check_numbers(command)
    check_pattern_length(command.pattern_length)
    check_pattern_fit(command.target.offset, command.target.length or 0, command.pattern_length)


def check_pattern_length(length: int) -> None:
    """Refuse a pattern that no fill command holds."""
    if length not in (1, 2, LONGEST_FILL):
        raise InvalidArgumentError(
            "the pattern has the wrong length", found=f"{length} bytes", allowed="1, 2 or 4 bytes"
        )


def _check_bound(command: Fill, memory: BoundMemory) -> None:
    target = memory.at(command.target)
    check_pattern_fit(target.offset, target.length, command.pattern_length)
    check_some(target.length)


def check_some(length: int) -> None:
    """Refuse a binding of which nothing is left."""
    if length == 0:
        raise OutOfRangeError(
            "the binding leaves nothing to write", found="0 bytes", next_step="bind more memory, or record without it"
        )


def _details(command: Fill, recording: Recording) -> list[str]:
    pattern = command.pattern
    shown = recording.describe_place(pattern) if isinstance(pattern, SlotNumber) else data(pattern)
    return [recording.describe_place(command.target), f"pattern {shown}"]


FILL = register(
    CommandType(
        Fill,
        "fill_buffer",
        "fill",
        {"target": PLACE, "pattern": PATTERN, "label": LABEL},
        accesses=_accesses,
        check=_check,
        alignment=lambda command, _place: command.pattern_length,
        check_bound=_check_bound,
        number_uses=_number_uses,
        details=_details,
        category=CommandCategory.TRANSFER,
    )
)
