"""Machine code of gfx12 -> Instruction."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.decoder import Decoder
from hipgraph_cb.virtual.isa.targets.gfx11.decode import CONTROLS, REGISTERS
from hipgraph_cb.virtual.isa.targets.gfx12.formats import FORMATS
from hipgraph_cb.virtual.isa.targets.gfx12.tables_generated import FORMS

TARGETS = frozenset({"gfx1200", "gfx1201", "gfx12-generic"})
DECODER = Decoder(TARGETS, FORMATS, FORMS, registers=REGISTERS, controls=CONTROLS)
decode = DECODER.decode
