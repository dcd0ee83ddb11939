"""gfx90a as a target: its code is read, not executed."""

from __future__ import annotations

from types import MappingProxyType

from hipgraph_cb.virtual.isa.core.target import Target
from hipgraph_cb.virtual.isa.targets.gfx90a.decode import DECODER, TARGETS, decode
from hipgraph_cb.virtual.isa.text.gfx9 import text_of_gfx90a

_WAVE = 64

TARGET = Target(
    family="gfx90a",
    processors=TARGETS,
    decode=decode,
    text=text_of_gfx90a,
    opcodes=DECODER.opcodes,
    source="every opcode of gfx90a that LLVM 22's disassembler knows",
    exclusions=MappingProxyType({}),
    wave_size=lambda properties: _WAVE,
    vector_granule=MappingProxyType({_WAVE: 8}),
    hardware_registers=MappingProxyType({}),
    executes=False,
)
