"""Which counters of a wave a wait instruction waits for, and down to which count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipgraph_cb.virtual.isa.core.pending_loads import LOCAL, SCALAR, VECTOR

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Pieces = tuple[tuple[int, int], ...]
"""Lowest bit and width of each piece of a count, the lowest piece first."""

_WHOLE: Pieces = ((0, 6),)
_UPPER: Pieces = ((8, 6),)
# Waits for one or two counters; a store and an export write no register, and no image is sampled.
_OTHER_WAITS: Mapping[str, Mapping[str, Pieces]] = {
    "s_waitcnt_vmcnt": {VECTOR: _WHOLE},
    "s_waitcnt_lgkmcnt": {LOCAL: _WHOLE, SCALAR: _WHOLE},
    "s_wait_loadcnt": {VECTOR: _WHOLE},
    "s_wait_dscnt": {LOCAL: _WHOLE},
    "s_wait_kmcnt": {SCALAR: _WHOLE},
    "s_wait_loadcnt_dscnt": {LOCAL: _WHOLE, VECTOR: _UPPER},
    "s_wait_storecnt_dscnt": {LOCAL: _WHOLE},
}


@dataclass(frozen=True)
class WaitLayout:
    """The immediate of s_waitcnt (no pieces where there is no such instruction), and what counts where.

    Attributes:
        vector: where vmcnt is.
        local: where lgkmcnt is.
        counts_stores_apart: whether what returns nothing (stores, atomics) counts in vscnt, not in vmcnt.
    """

    vector: Pieces
    local: Pieces
    counts_stores_apart: bool

    def counts(self, instruction: Instruction) -> Mapping[str, int] | None:
        """The count down to which each kind of load is waited for; None where it is no such instruction."""
        if instruction.mnemonic == "s_wait_idle":
            return {VECTOR: 0, LOCAL: 0, SCALAR: 0}
        others = _OTHER_WAITS.get(instruction.mnemonic)
        if others is not None:
            return {kind: _joined(instruction.fields["simm16"], pieces) for kind, pieces in others.items()}
        if instruction.mnemonic != "s_waitcnt":
            return None
        immediate = instruction.fields["simm16"]
        local = _joined(immediate, self.local)
        return {VECTOR: _joined(immediate, self.vector), LOCAL: local, SCALAR: local}


def _joined(immediate: int, pieces: Pieces) -> int:
    value = position = 0
    for low, width in pieces:
        value |= (immediate >> low & (1 << width) - 1) << position
        position += width
    return value
