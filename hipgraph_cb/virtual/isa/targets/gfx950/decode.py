"""Machine code of gfx950 -> Instruction."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.decoder import Decoder
from hipgraph_cb.virtual.isa.targets.gfx9.formats import CONTROLS, REGISTERS
from hipgraph_cb.virtual.isa.targets.gfx950.formats import FORMATS
from hipgraph_cb.virtual.isa.targets.gfx950.tables_generated import FORMS

TARGETS = frozenset({"gfx950"})
DECODER = Decoder(TARGETS, FORMATS, FORMS, registers=REGISTERS, controls=CONTROLS, eights=False)
decode = DECODER.decode
