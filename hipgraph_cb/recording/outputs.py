"""What a watched replay shows of each command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Output:
    """Memory that a command wrote, or may have written where its access is not known.

    Attributes:
        command: the index of the command.
        where: how messages call the command.
        name: the kernel's parameter, or "target".
        place: the bytes, as messages call them.
        dtype: the element type that the parameter states, or None.
        data: the bytes as elements of that type, else as uint8; one-dimensional.
    """

    command: int
    where: str
    name: str
    place: str
    dtype: str | None
    data: NDArray[Any]


Check = str | Callable[[Output], Any]
"""`"nan"`, `"stream"`, or what looks at one output and returns None or True for good, False or a text for bad."""
