"""The text of a processor's instructions."""

from __future__ import annotations

from collections.abc import Callable

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.targets.gfx11.decode import DECODER as GFX11
from hipgraph_cb.virtual.isa.text import gfx11

_SPELLINGS: dict[str, Callable[[Instruction, int], str]] = dict.fromkeys(GFX11.targets, gfx11.text_of)


def spelled(instruction: Instruction, processor: str, wave_size: int = 32) -> str:
    """The instruction as LLVM spells it for `processor`; lane masks have the names that they have in such waves."""
    return _SPELLINGS[processor](instruction, wave_size)
