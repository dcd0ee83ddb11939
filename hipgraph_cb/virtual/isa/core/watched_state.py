"""Registers that know which loads have not been waited for. Reading one that such a load writes is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hipgraph_cb.virtual.isa.core.narrow_waves import NarrowState
from hipgraph_cb.virtual.isa.core.pending_loads import Load, PendingLoads, Waves
from hipgraph_cb.virtual.isa.core.scaled_index import ScaledIndex
from hipgraph_cb.virtual.isa.core.state import Bits, MaskOrNumber, Scalar32, State, Vector32, Vector64

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.registry import Step
    from hipgraph_cb.virtual.isa.execution.placement import Placement
    from hipgraph_cb.virtual.memory import Memory

SCALARS = 1 << 10  # scalar register n is number SCALARS + n here; vector registers keep theirs


class UnwaitedRead(Exception):  # noqa: N818
    """A register was read that a load writes which no wait covers; `waves` is bool [waves, 1] of those that did."""

    def __init__(self, register: int, load: Load, waves: Waves) -> None:
        super().__init__(register)
        self.register = register
        self.load = load
        self.waves = waves


@dataclass(frozen=True)
class Access:
    """A memory instruction.

    Attributes:
        kinds: the counters that it is in, see pending_loads.py.
        keeps: a vector register that it writes in part and so reads, which is no use of what is in it; else -1.
    """

    instruction: Instruction
    kinds: tuple[str, ...]
    keeps: int = -1


class WatchedState(State):
    """A `State` that refuses reading a register before its load is waited for."""

    def __init__(self, memory: Memory, placement: Placement, **sizes: int) -> None:
        self._is_watching = False  # while the constructor and `initial_state` write registers
        super().__init__(memory, placement, **sizes)
        self.loads = PendingLoads(self.waves)
        self._written: set[int] = set()
        self._keeps = -1
        self._is_watching = True

    def perform(self, access: Access, step: Step) -> None:
        """Execute a memory instruction; what it writes is pending from now on."""
        self._written = set()
        self._keeps = access.keeps
        try:
            step(self)
        finally:
            self._keeps = -1
        self.loads.issue(access.instruction, access.kinds, self._written, self.running)

    def _check(self, register: int) -> None:
        if not self._is_watching or register == self._keeps:
            return
        found = self.loads.of(register, self.running)
        if found is not None:
            raise UnwaitedRead(register, *found)

    def _quietly(self, write: Callable[..., None], *args: Any) -> None:
        """A write, which may look at the old value to keep lanes that are off."""
        before, self._is_watching = self._is_watching, False
        try:
            write(*args)
        finally:
            self._is_watching = before

    def read_vgpr(self, register: int) -> Vector32:
        self._check(register)
        return super().read_vgpr(register)

    def read_vgpr64(self, register: int) -> Vector64:
        self._check(register)
        self._check(register + 1)
        return super().read_vgpr64(register)

    def read_scaled(self, register: int) -> ScaledIndex | None:
        self._check(register)
        self._check(register + 1)
        return super().read_scaled(register)

    def read_moved(self, register: int) -> tuple[Vector32, int]:
        self._check(register)
        return super().read_moved(register)

    def write_vgpr(self, register: int, value: Vector32) -> None:
        self._quietly(super().write_vgpr, register, value)

    def write_vgpr64(self, register: int, value: Vector64) -> None:
        self._quietly(super().write_vgpr64, register, value)

    def write_vgpr_all_lanes(self, register: int, value: Vector32) -> None:
        self._quietly(super().write_vgpr_all_lanes, register, value)

    def write_vgpr_where(self, register: int, value: Vector32, lanes: Bits) -> None:
        self._quietly(super().write_vgpr_where, register, value, lanes)

    def _store32(self, register: int, value: Vector32) -> None:
        self._written.add(register)
        super()._store32(register, value)

    def _store64(self, register: int, value: Vector64 | ScaledIndex) -> None:
        self._written.update((register, register + 1))
        super()._store64(register, value)

    def read_sgpr(self, register: int) -> Scalar32:
        self._check(SCALARS + register)
        return super().read_sgpr(register)

    def read_pair(self, register: int) -> Any:
        self._check(SCALARS + register)
        self._check(SCALARS + register + 1)
        return super().read_pair(register)

    def read_mask_or_number(self, register: int) -> MaskOrNumber:
        self._check(SCALARS + register)
        return super().read_mask_or_number(register)

    def write_sgpr(self, register: int, value: Scalar32) -> None:
        self._written.add(SCALARS + register)
        self._quietly(super().write_sgpr, register, value)

    def write_sgprs(self, register: int, values: list[int]) -> None:
        self._written.update(range(SCALARS + register, SCALARS + register + len(values)))
        self._quietly(super().write_sgprs, register, values)

    def write_mask(self, register: int, bits: Bits) -> None:
        self._quietly(super().write_mask, register, bits)


class WatchedNarrowState(WatchedState, NarrowState):
    """The same for waves of 32 lanes."""


def watched_state_of(memory: Memory, placement: Placement, **sizes: int) -> State:
    """As `state_of`, with registers that are watched."""
    return (WatchedNarrowState if placement.lanes == 32 else WatchedState)(memory, placement, **sizes)
