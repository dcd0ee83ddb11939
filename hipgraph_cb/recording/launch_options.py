"""How a kernel is launched beyond its shape: what a runtime may be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

LEAST_PRIORITY, MOST_PRIORITY = -(1 << 31), (1 << 31) - 1
"""Priorities are 32-bit numbers."""


class LaunchOptions(NamedTuple):
    """
    Attributes:
        cooperative: all workgroups are resident at once, so that they may wait for each other.
        priority: a hint; a kernel with a lower number goes first where several are ready.
    """

    cooperative: bool = False
    priority: int = 0


PLAIN = LaunchOptions()


def checked_options(cooperative: object, priority: object) -> LaunchOptions:
    """
    Raises:
        InvalidArgumentError: no bool, or no whole number.
        OutOfRangeError: more than 32 bits.
    """
    if not isinstance(cooperative, bool):
        raise InvalidArgumentError(
            "cooperative is neither True nor False", found=f"{cooperative!r} ({type(cooperative).__name__})"
        )
    if type(priority) is not int:
        raise InvalidArgumentError("priority is not a whole number", found=f"{priority!r} ({type(priority).__name__})")
    if not LEAST_PRIORITY <= priority <= MOST_PRIORITY:
        raise OutOfRangeError(
            "priority is out of range", found=str(priority), allowed=f"{LEAST_PRIORITY} to {MOST_PRIORITY}"
        )
    return LaunchOptions(cooperative, priority)


def check_known_shape(options: LaunchOptions) -> None:
    """Refuse a launch shape in slots where it has to be known when a program is made: whether so many workgroups are
    resident at once is asked then."""
    if options.cooperative:
        raise InvalidArgumentError(
            "a cooperative launch has its shape in slots",
            allowed="a workgroup_count and dynamic_lds that are known",
            next_step="give them to program[index].update where they are to be others",
        )


def options_in(recording: Recording) -> Iterator[LaunchOptions]:
    """Those of its forms of dispatches, nested recordings included, that are not plain."""
    nested = (entry.recording for entry in recording.resources.recordings.values())
    for each in (recording, *nested):
        for form in each.table.forms:
            options = getattr(form, "options", PLAIN)
            if options != PLAIN:
                yield options
