"""Debug groups: names for stretches of a recording, nested, shown in every message and export."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError


class Group(NamedTuple):
    """The commands from index `start` up to, not including, `stop`; `depth` 0 is outermost.

    Attributes:
        color: as `#rrggbb`, for drawings; None leaves it to them.
        location: the place in a source that it is for, as `layers.py:12`, or None.
    """

    label: str
    start: int
    stop: int
    depth: int
    color: str | None = None
    location: str | None = None

    def as_row(self) -> dict[str, Any]:
        """Its fields, without those that say nothing."""
        return {name: value for name, value in self._asdict().items() if value is not None}


_COLOR = re.compile("#[0-9a-fA-F]{6}")


def check_color(value: object) -> None:
    """Refuse what is no colour. Raises InvalidArgumentError."""
    if value is not None and not (isinstance(value, str) and _COLOR.fullmatch(value)):
        raise InvalidArgumentError(
            "the colour of a debug group is none", found=repr(value)[:80], allowed="#rrggbb, as in HTML"
        )


class GroupStack:
    """Groups while they are opened and closed."""

    __slots__ = ("_closed", "_open")

    def __init__(self) -> None:
        self._open: list[Group] = []
        self._closed: list[Group] = []

    @property
    def path(self) -> tuple[str, ...]:
        """The labels of the open groups, outermost first."""
        return tuple(group.label for group in self._open)

    def begin(self, label: str, position: int, color: str | None = None, location: str | None = None) -> None:
        """Open a group in front of the command that will have the index `position`."""
        self._open.append(Group(label, position, position, len(self._open), color, location))

    def end(self, position: int) -> None:
        """Close the innermost group; FailedPreconditionError when none is open. A group without commands is dropped."""
        if not self._open:
            raise FailedPreconditionError(
                "end_debug_group: no debug group is open", next_step="open one with begin_debug_group(label)"
            )
        group = self._open.pop()
        if position > group.start:
            self._closed.append(group._replace(stop=position))

    def finish(self) -> tuple[Group, ...]:
        """All groups, outer before inner; FailedPreconditionError when one is open."""
        if self._open:
            raise FailedPreconditionError(
                "end: a debug group is still open",
                found=" > ".join(repr(label) for label in self.path),
                next_step="close it with end_debug_group(), or use `with command_buffer.debug_group(label)`",
            )
        return tuple(sorted(self._closed, key=lambda group: (group.start, group.depth)))


def paths(groups: Iterable[Group], count: int) -> tuple[tuple[str, ...], ...]:
    """For each of `count` commands the labels of its groups, outermost first; `groups` outer before inner."""
    result: list[tuple[str, ...]] = [()] * count
    for group in groups:
        result[group.start : group.stop] = [(*result[group.start], group.label)] * (group.stop - group.start)
    return tuple(result)
