"""Whether two recordings have the same structure: as many commands of the same types, in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.commands.types import TYPES

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import Command
    from hipgraph_cb.recording.recording import Recording


def check_same_structure(before: Recording, after: Recording) -> None:
    """Refuse a recording that cannot take the place of another one.

    Raises:
        InvalidArgumentError: it says where the two part.
    """
    if len(after) != len(before):
        raise _other(None, f"{len(after)} commands", f"{len(before)} commands")
    for index, (row, previous) in enumerate(zip(after.table.rows, before.table.rows, strict=True)):
        kind, wanted = after.table.forms[row].kind, before.table.forms[previous].kind
        if kind is not wanted:
            raise _other(after.where(index), _verb(kind), _verb(wanted))
    if after.one_shot is not before.one_shot:
        raise _other(None, f"one_shot={after.one_shot}", f"one_shot={before.one_shot}")
    if after.layer_starts != before.layer_starts:
        raise _other(None, f"layers that start at {_listed(after.layer_starts)}", _listed(before.layer_starts))
    if after.dependencies != before.dependencies:
        raise _other(None, "other dependencies", "those of before")


def _other(where: str | None, found: str, allowed: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "update: the recording has another structure",
        where=where,
        found=found,
        allowed=allowed,
        next_step="make another program of it: device.program(recording)",
    )


def _verb(kind: type[Command]) -> str:
    known = TYPES.get(kind)
    return kind.__name__ if known is None else known.verb


def _listed(starts: tuple[int, ...]) -> str:
    return ", ".join(map(str, starts[:16])) + (", ..." if len(starts) > 16 else "")
