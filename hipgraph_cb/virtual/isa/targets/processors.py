"""Which decoder reads a processor's code."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.decoder import Decoder
from hipgraph_cb.virtual.isa.targets.gfx11.decode import DECODER as GFX11

DECODERS = (GFX11,)


def decoder_of(processor: str) -> Decoder:
    """The decoder of `processor`; a KeyError without one."""
    return {name: decoder for decoder in DECODERS for name in decoder.targets}[processor]
