"""gfx12 as a target: its code is read, not executed."""

from __future__ import annotations

from types import MappingProxyType

from hipgraph_cb.abi.kernel_descriptor import WAVEFRONT_SIZE_32
from hipgraph_cb.virtual.isa.core.target import Target
from hipgraph_cb.virtual.isa.targets.gfx12.decode import DECODER, TARGETS, decode
from hipgraph_cb.virtual.isa.text.gfx12 import text_of

_NARROW, _WIDE = 32, 64

TARGET = Target(
    family="gfx12",
    processors=TARGETS,
    decode=decode,
    text=text_of,
    opcodes=DECODER.opcodes,
    source="every opcode of gfx1201 that LLVM 22's disassembler knows",
    exclusions=MappingProxyType({}),
    wave_size=lambda properties: _NARROW if properties & WAVEFRONT_SIZE_32 else _WIDE,
    vector_granule=MappingProxyType({_NARROW: 8, _WIDE: 4}),
    hardware_registers=MappingProxyType({}),
    executes=False,
)
