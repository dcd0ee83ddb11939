"""Updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.categories import CommandCategory
from hipgraph_cb.recording.commands.fields import DATA, LABEL, PLACE
from hipgraph_cb.recording.commands.places import Access, Location, same_type_only
from hipgraph_cb.recording.commands.types import CommandType, register
from hipgraph_cb.recording.commands.values import data

if TYPE_CHECKING:
    from hipgraph_cb.recording.accesses import AccessReader
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording


@same_type_only
class Update(NamedTuple):
    """Write `data`, host bytes that the recording owns, to `target` of the same length."""

    target: Location
    data: bytes
    label: str | None = None


def _accesses(command: Update, _reader: AccessReader) -> list[Access]:
    return [Access(command.target, False, True)]


def _check(command: Update, checker: CommandChecker) -> None:
    checker.check_place(command.target)
    if command.target.length != len(command.data):
        raise InvalidArgumentError(
            "the data of an update has another length than its target",
            found=f"{len(command.data)} bytes",
            allowed=f"{command.target.length} bytes",
        )


def _details(command: Update, recording: Recording) -> list[str]:
    return [recording.describe_place(command.target), f"data {data(command.data)}"]


UPDATE = register(
    CommandType(
        Update,
        "update_buffer",
        "update",
        {"target": PLACE, "data": DATA, "label": LABEL},
        accesses=_accesses,
        check=_check,
        details=_details,
        category=CommandCategory.TRANSFER,
    )
)
