"""Debug groups: names for stretches of a recording, nested, shown in every message and export."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hipgraph_cb.errors import FailedPreconditionError


class Group(NamedTuple):
    """The commands from index `start` up to, not including, `stop`; `depth` 0 is outermost."""

    label: str
    start: int
    stop: int
    depth: int


class GroupStack:
    """Groups while they are opened and closed."""

    __slots__ = ("_closed", "_open")

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []
        self._closed: list[Group] = []

    @property
    def path(self) -> tuple[str, ...]:
        """The labels of the open groups, outermost first."""
        return tuple(label for label, _ in self._open)

    def begin(self, label: str, position: int) -> None:
        """Open a group in front of the command that will have the index `position`."""
        self._open.append((label, position))

    def end(self, position: int) -> None:
        """Close the innermost group; FailedPreconditionError when none is open. A group without commands is dropped."""
        if not self._open:
            raise FailedPreconditionError(
                "end_debug_group: no debug group is open", next_step="open one with begin_debug_group(label)"
            )
        label, start = self._open.pop()
        if position > start:
            self._closed.append(Group(label, start, position, len(self._open)))

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
    for label, start, stop, _depth in groups:
        result[start:stop] = [(*result[start], label)] * (stop - start)
    return tuple(result)
