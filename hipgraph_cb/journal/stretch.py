"""Which commands of a program are noted."""

from __future__ import annotations

from typing import NamedTuple


class Stretch(NamedTuple):
    """Some commands of a program: of all, or of those that were enqueued within a range of ROCTX.

    Attributes:
        first: the number of the first one, from 0.
        length: how many; None is all that follow.
        within: the label of a range; None takes every command.
    """

    first: int = 0
    length: int | None = None
    within: str | None = None

    @classmethod
    def of(cls, text: str) -> Stretch:
        """What `str` has made of one."""
        first, length, *within = text.split(":", 2)
        return cls(int(first), int(length) if length else None, within[0] if within else None)

    def __str__(self) -> str:
        within = "" if self.within is None else f":{self.within}"
        return f"{self.first}:{'' if self.length is None else self.length}{within}"
