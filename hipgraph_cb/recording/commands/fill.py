"""Fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.commands.fields import BYTES, LABEL, PLACE
from hipgraph_cb.recording.commands.places import Access, Location, same_type_only
from hipgraph_cb.recording.commands.types import CommandType, register
from hipgraph_cb.recording.commands.values import data
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
    """Write `pattern` (1, 2 or 4 bytes) over and over until `target` is full."""

    target: Location
    pattern: bytes
    label: str | None = None


def _accesses(command: Fill, _reader: AccessReader) -> list[Access]:
    return [Access(command.target, False, True)]


def _check(command: Fill, checker: CommandChecker) -> None:
    checker.check_place(command.target)
    if len(command.pattern) not in (1, 2, LONGEST_FILL):
        raise InvalidArgumentError(
            "the pattern has the wrong length", found=f"{len(command.pattern)} bytes", allowed="1, 2 or 4 bytes"
        )
    check_pattern_fit(command.target.offset, command.target.length or 0, len(command.pattern))


def _check_bound(command: Fill, memory: BoundMemory) -> None:
    target = memory.at(command.target)
    check_pattern_fit(target.offset, target.length, len(command.pattern))
    check_some(target.length)


def check_some(length: int) -> None:
    """Refuse a binding of which nothing is left."""
    if length == 0:
        raise OutOfRangeError(
            "the binding leaves nothing to write", found="0 bytes", next_step="bind more memory, or record without it"
        )


def _details(command: Fill, recording: Recording) -> list[str]:
    return [recording.describe_place(command.target), f"pattern {data(command.pattern)}"]


FILL = register(
    CommandType(
        Fill,
        "fill_buffer",
        "fill",
        {"target": PLACE, "pattern": BYTES, "label": LABEL},
        accesses=_accesses,
        check=_check,
        alignment=lambda command, _place: len(command.pattern),
        check_bound=_check_bound,
        details=_details,
    )
)
