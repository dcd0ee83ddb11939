"""The text of a processor's instructions."""

from __future__ import annotations

from collections.abc import Callable

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.targets.gfx11.decode import DECODER as GFX11
from hipgraph_cb.virtual.isa.targets.gfx12.decode import DECODER as GFX12
from hipgraph_cb.virtual.isa.text import gfx9, gfx11, gfx12

_SPELLINGS: dict[str, Callable[..., str]] = {
    **dict.fromkeys(GFX11.targets, gfx11.text_of),
    **dict.fromkeys(GFX12.targets, gfx12.text_of),
    "gfx90a": gfx9.text_of_gfx90a,
    "gfx950": gfx9.text_of_gfx950,
}


def spelled(instruction: Instruction, processor: str) -> str:
    """The instruction as LLVM spells it for `processor`, in waves of its usual size."""
    return _SPELLINGS[processor](instruction)
