"""Text of gfx12's instructions."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.targets.gfx12.tables_generated import HALVES, NAMES
from hipgraph_cb.virtual.isa.text import forms
from hipgraph_cb.virtual.isa.text.gfx11 import PAIRS, SPECIAL
from hipgraph_cb.virtual.isa.text.names import Names, by_mnemonic

_NAMES = Names(
    special=SPECIAL,
    pairs=PAIRS,
    first_trap=108,
    null=124,
    tables=NAMES,
    halves=by_mnemonic(HALVES),
    returns="th",
    names_bytes=True,
    counters={"vmcnt": ((10, 6),), "expcnt": ((0, 3),), "lgkmcnt": ((4, 6),)},
)


def text_of(instruction: Instruction, wave_size: int = 32) -> str:
    """The instruction as text, such as "v_add_f32 v0, s2, v1"."""
    return forms.text_of(instruction, _NAMES, wave_size)
