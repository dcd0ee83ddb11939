"""gfx950 as a target: its code is read, not executed."""

from __future__ import annotations

from types import MappingProxyType

from hipgraph_cb.virtual.isa.core.target import Target
from hipgraph_cb.virtual.isa.targets.gfx950.decode import DECODER, TARGETS, decode
from hipgraph_cb.virtual.isa.text.gfx9 import text_of_gfx950

_WAVE = 64

TARGET = Target(
    family="gfx950",
    processors=TARGETS,
    decode=decode,
    text=text_of_gfx950,
    opcodes=DECODER.opcodes,
    source="every opcode of gfx950 that LLVM 22's disassembler knows",
    exclusions=MappingProxyType({}),
    wave_size=lambda properties: _WAVE,
    vector_granule=MappingProxyType({_WAVE: 8}),
    hardware_registers=MappingProxyType({}),
    executes=False,
)
