"""Machine code of gfx11 -> Instruction."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.decoder import Decoder
from hipgraph_cb.virtual.isa.targets.form import Registers
from hipgraph_cb.virtual.isa.targets.gfx11.formats import FORMATS
from hipgraph_cb.virtual.isa.targets.gfx11.tables_generated import FORMS

TARGETS = frozenset({"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx11-generic"})
REGISTERS = Registers(
    general=106,
    in_fours=106,
    pairs=frozenset({106, 124, 126}),
    no_base=124,
    m0=125,
    # the bases of flat scratch, shared and private memory, the exiting wave, the bits of VCC, EXEC and SCC, and LDS
    constants=frozenset({230, 231, 235, 236, 237, 238, 239, 251, 252, 253, 254}),
    no_pairs=frozenset({231, 254}),
)
CONTROLS = (
    *range(0x100),
    *range(0x101, 0x110),
    *range(0x111, 0x120),
    *range(0x121, 0x130),
    *(0x140, 0x141),
    *range(0x150, 0x170),
)
DECODER = Decoder(TARGETS, FORMATS, FORMS, registers=REGISTERS, controls=CONTROLS)
decode = DECODER.decode
