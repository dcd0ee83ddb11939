"""Machine code of gfx90a -> Instruction."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.decoder import Decoder
from hipgraph_cb.virtual.isa.targets.gfx9.formats import CONTROLS, REGISTERS
from hipgraph_cb.virtual.isa.targets.gfx90a.formats import FORMATS
from hipgraph_cb.virtual.isa.targets.gfx90a.tables_generated import FORMS

TARGETS = frozenset({"gfx90a"})
DECODER = Decoder(TARGETS, FORMATS, FORMS, registers=REGISTERS, controls=CONTROLS, eights=False)
decode = DECODER.decode
