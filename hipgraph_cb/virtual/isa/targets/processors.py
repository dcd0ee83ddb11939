"""Which decoder reads a processor's code."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.decoder import Decoder
from hipgraph_cb.virtual.isa.targets.gfx11.decode import DECODER as GFX11
from hipgraph_cb.virtual.isa.targets.gfx12.decode import DECODER as GFX12
from hipgraph_cb.virtual.isa.targets.gfx90a.decode import DECODER as GFX90A
from hipgraph_cb.virtual.isa.targets.gfx950.decode import DECODER as GFX950

DECODERS = (GFX11, GFX12, GFX90A, GFX950)


def decoder_of(processor: str) -> Decoder:
    """The decoder of `processor`; a KeyError without one."""
    return {name: decoder for decoder in DECODERS for name in decoder.targets}[processor]
