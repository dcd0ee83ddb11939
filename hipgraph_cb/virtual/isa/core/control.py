"""What ends a basic block. Targets are byte offsets from the start of the code segment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.virtual.isa.core.state import Scalar32, Scalar64, State


class ControlFlow:
    """Base of everything a compiler may return to end a basic block."""


@dataclass(frozen=True)
class Branch(ControlFlow):
    """Every wave of the group goes to `target`."""

    target: int


@dataclass(frozen=True)
class ConditionalBranch(ControlFlow):
    """Go to `target` where `taken` says so: one bool for all waves, or bool [waves, 1]."""

    target: int
    taken: Callable[[State], bool | NDArray[Any]]


@dataclass(frozen=True)
class Jump(ControlFlow):
    """Go to the address that `destination` reads; `link`, if there is one, first stores the address of what follows."""

    destination: Callable[[State], Scalar64]
    link: Callable[[State, int], None] | None = None


@dataclass(frozen=True)
class Barrier(ControlFlow):
    """Wait until every wave of the workgroup that has not ended is here."""


@dataclass(frozen=True)
class EndProgram(ControlFlow):
    """The waves end."""


@dataclass(frozen=True)
class SetMode(ControlFlow):
    """Change the MODE register to what `value` makes of its old bits, one for all waves or uint32 [waves, 1]."""

    value: Callable[[State, int], Scalar32]
