"""Copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.recording.categories import CommandCategory
from hipgraph_cb.recording.commands.fields import LABEL, PLACE
from hipgraph_cb.recording.commands.fill import check_some
from hipgraph_cb.recording.commands.places import Access, Location, Range, same_type_only
from hipgraph_cb.recording.commands.types import CommandType, register
from hipgraph_cb.recording.validation import check_apart, check_same_length

if TYPE_CHECKING:
    from hipgraph_cb.recording.accesses import AccessReader
    from hipgraph_cb.recording.bindings import BoundMemory
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording


@same_type_only
class Copy(NamedTuple):
    """Copy `source` to `target` of the same length; the two never overlap."""

    source: Location
    target: Location
    label: str | None = None


def _accesses(command: Copy, _reader: AccessReader) -> list[Access]:
    return [Access(command.source, True, False), Access(command.target, False, True)]


def _check(command: Copy, checker: CommandChecker) -> None:
    source, target = command.source, command.target
    checker.check_place(source)
    checker.check_place(target)
    check_same_length(source.length, target.length)
    if isinstance(source, Range) and isinstance(target, Range) and source.resource == target.resource:
        check_apart(source, target, checker.buffer_name(source.resource))


def _check_bound(command: Copy, memory: BoundMemory) -> None:
    source, target = memory.at(command.source), memory.at(command.target)
    check_same_length(source.length, target.length)
    check_some(target.length)
    memory.check_apart(source, target)


def _details(command: Copy, recording: Recording) -> list[str]:
    return [f"from {recording.describe_place(command.source)}", f"to {recording.describe_place(command.target)}"]


COPY = register(
    CommandType(
        Copy,
        "copy_buffer",
        "copy",
        {"source": PLACE, "target": PLACE, "label": LABEL},
        accesses=_accesses,
        check=_check,
        check_bound=_check_bound,
        compares_places=True,
        details=_details,
        category=CommandCategory.TRANSFER,
    )
)
