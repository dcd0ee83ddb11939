"""The loads of each wave that its wait instructions do not cover yet.

Loads of one kind arrive in the order in which they were issued, but for scalar loads, which arrive in any order: only
a wait for all of them covers one. A wait for `vmcnt(n)` covers every vector memory access but the last n; one for
`lgkmcnt(n)` every LDS access but the last n, however many scalar loads there are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

VECTOR, LOCAL, SCALAR = "vmcnt", "lgkmcnt (LDS)", "lgkmcnt (scalar)"
KINDS = (VECTOR, LOCAL, SCALAR)

Counts = NDArray[np.int64]
Waves = NDArray[np.bool_]


@dataclass(frozen=True)
class Load:
    """One executed load of some waves.

    Attributes:
        registers: what it writes.
        numbers: kind -> int64 [waves, 1], which access of that kind it is in each wave, counted from 1; 0 in others. A
            load of two kinds (a flat one) has arrived when a wait for one of them says so.
    """

    instruction: Instruction
    registers: frozenset[int]
    numbers: Mapping[str, Counts]


class PendingLoads:
    """Of a chunk of waves. Waves are given as bool [waves, 1], or None for all."""

    def __init__(self, waves: int) -> None:
        self._issued: dict[str, Counts] = {kind: np.zeros((waves, 1), np.int64) for kind in KINDS}
        self._arrived: dict[str, Counts] = dict(self._issued)
        self._loads: list[Load] = []
        self._registers: frozenset[int] = frozenset()

    def issue(
        self, instruction: Instruction, kinds: tuple[str, ...], registers: Collection[int], waves: Waves | None
    ) -> None:
        """Count an access that writes `registers` when it arrives."""
        numbers = {}
        for kind in kinds:
            issued = self._issued[kind] + (1 if waves is None else waves)
            self._issued[kind] = issued
            numbers[kind] = issued if waves is None else issued * waves
        if registers and kinds:
            self._loads.append(Load(instruction, frozenset(registers), numbers))
            self._registers |= self._loads[-1].registers

    def wait(self, counts: Mapping[str, int], waves: Waves | None) -> None:
        """Let those arrive that a wait instruction covers."""
        for kind, count in counts.items():
            if kind == SCALAR and count:
                continue
            arrived, covered = self._arrived[kind], self._issued[kind] - count
            self._arrived[kind] = np.where(True if waves is None else waves, np.maximum(arrived, covered), arrived)
        self._loads = [load for load in self._loads if self._missing(load).any()]
        self._registers = frozenset().union(*(load.registers for load in self._loads))

    def of(self, register: int, waves: Waves | None) -> tuple[Load, Waves] | None:
        """A load that writes `register` and is not covered in some of `waves`, and in which."""
        if register not in self._registers:
            return None
        for load in self._loads:
            if register in load.registers:
                missing = self._missing(load)
                missing = missing if waves is None else missing & waves
                if missing.any():
                    return load, missing
        return None

    def _missing(self, load: Load) -> Waves:
        missing = [numbers > self._arrived[kind] for kind, numbers in load.numbers.items()]
        waves: Waves = np.logical_and.reduce(missing)
        return waves
